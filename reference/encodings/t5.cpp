// t5: a learned number for each bucket of distances is added to the score.
//
// Source: T5 (arXiv:1910.10683), section 2.1; the buckets are those of its code. T5 does not divide
// by sqrt(d). Its decoder has buckets for one direction; those of the encoder are taken.
#include "reference/encodings/pieces.h"

namespace ropewalk {
namespace {

const RegisteredEncoding t5({
    .name = "t5",
    .title = "T5: a number for each bucket of distances",
    .source = "Raffel et al. 2020, arXiv:1910.10683, section 2.1, and its code",
    .formula = "q.k + b[bucket(n - m)], b learned",
    .note = "Released models have 32 buckets up to distance 128; here 8 up to 8, so buckets 0 to 3 "
            "are n - m = 0, -1, -2 and -3, -4 and less; 5 to 7 the same ahead.",
    .has_parameters = true,
    .factor = 0,
    .score = [](const Learned& l, const Vector& q, const Vector& k, Position m, Position n)
        -> Real { return dot(q, k) + l.number("b", t5_bucket(n - m, l.buckets, l.last_bucket)); },
});

}  // namespace
}  // namespace ropewalk
