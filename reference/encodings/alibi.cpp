// alibi: the score falls by a fixed slope with the distance.
//
// Source: ALiBi (arXiv:2108.12409), section 3. The slopes are those of a number of heads that is a
// power of two; the paper interleaves two such rows for other numbers. It is causal.
#include "reference/encodings/pieces.h"

namespace ropewalk {
namespace {

const RegisteredEncoding alibi({
    .name = "alibi",
    .title = "ALiBi: a slope on the distance",
    .source = "Press et al. 2022, arXiv:2108.12409, section 3",
    .formula = "q.k / sqrt(d) - 2^(-8h/H) (m - n) for n <= m, head h = 1 .. H",
    .note =
        "Head 1 of 8 here: its slope is 1/2. Law 8 is of the formula without the mask: at fixed "
        "contents exp(s) is a constant times exp(-slope m) exp(slope n).",
    .causal = true,
    .score = [](const Learned& l, const Vector& q, const Vector& k, Position m,
                Position n) -> Real {
      return scaled(dot(q, k), 1, l.dim) - pow(Real(2), Real(-8 * l.head) / l.heads) * (m - n);
    },
});

}  // namespace
}  // namespace ropewalk
