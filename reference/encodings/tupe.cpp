// tupe: positions have projections of their own, and T5's number is added.
//
// Source: TUPE (arXiv:2006.15595), equations 7 and 8 (TUPE-R). Its separate scores for the token
// [CLS] and its normalization of p are left out.
#include "reference/encodings/pieces.h"

namespace ropewalk {
namespace {

constexpr int terms = 2;

Real score(const Learned& learned, const Vector& q, const Vector& k, Position m, Position n) {
  const Real places = dot(learned.times("U_q", learned.of_position("p", m)),
                          learned.times("U_k", learned.of_position("p", n)));
  return scaled(dot(q, k) + places, terms, learned.dim) +
         learned.number("b", t5_bucket(n - m, learned.buckets, learned.last_bucket));
}

const RegisteredEncoding tupe({
    .name = "tupe",
    .title = "TUPE: positions with projections of their own",
    .source = "Ke et al. 2021, arXiv:2006.15595, equations 7 and 8",
    .formula = "(q.k + (U_q p_m).(U_k p_n)) / sqrt(2d) + b[bucket(n - m)], p and b learned",
    .note = "The separate scores of the token [CLS] are left out. Buckets as in t5.",
    .has_parameters = true,
    .factor = terms,
    .score = score,
});

}  // namespace
}  // namespace ropewalk
