// learned: a learned vector for each position is added to x before the projections.
//
// Source: Gehring et al. 2017 (arXiv:1705.03122), section 3.1; BERT (arXiv:1810.04805), section 3.
// BERT's segment embeddings and its normalization behind the sum are left out.
#include "reference/encodings/pieces.h"

namespace ropewalk {
namespace {

Vector placed(const Learned& learned, std::string_view matrix, const Vector& x, std::int64_t at) {
  return learned.times(matrix, sum(x, learned.of_position("p", at)));
}

Vector query(const Learned& learned, const Vector& x, std::int64_t m) {
  return placed(learned, "W_q", x, m);
}

Vector key(const Learned& learned, const Vector& x, std::int64_t n, std::int64_t) {
  return placed(learned, "W_k", x, n);
}

Vector value(const Learned& learned, const Vector& x, std::int64_t n, std::int64_t) {
  return placed(learned, "W_v", x, n);
}

const RegisteredEncoding learned({
    .name = "learned",
    .title = "Learned, added to x",
    .source = "Gehring et al. 2017, arXiv:1705.03122, section 3.1; BERT, arXiv:1810.04805",
    .f_q = "W_q (x_m + p_m), p a learned table with a row for each trained position",
    .f_k = "W_k (x_n + p_n)",
    .f_v = "W_v (x_n + p_n)",
    .note = "BERT normalizes the sum and adds segments; both are left out.",
    .has_parameters = true,
    .query = query,
    .key = key,
    .value = value,
});

}  // namespace
}  // namespace ropewalk
