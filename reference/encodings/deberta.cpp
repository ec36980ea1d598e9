// deberta: the content meets a learned vector of the clipped distance, from both sides.
//
// Source: DeBERTa (arXiv:2006.03654), equations 2 to 4. The absolute positions that its decoder
// adds are left out. RoFormer's equation 10 has p_{m-n} in both terms and no projections for it.
#include <algorithm>

#include "reference/encodings/pieces.h"

namespace ropewalk {
namespace {

constexpr int terms = 3;

/// W P[delta(a, b)], delta from 0 to 2k - 1.
Vector place(const Learned& learned, std::string_view matrix, Position a, Position b) {
  const std::int64_t k = learned.clip;
  return learned.times(matrix, learned.vector("P", std::clamp(a - b, -k, k - 1) + k));
}

Real score(const Learned& learned, const Vector& q, const Vector& k, Position m, Position n) {
  return scaled(
      dot(q, k) + dot(q, place(learned, "W_kr", m, n)) + dot(k, place(learned, "W_qr", n, m)),
      terms, learned.dim);
}

const RegisteredEncoding deberta({
    .name = "deberta",
    .title = "DeBERTa: content meets distance, from both sides",
    .source = "He et al. 2021, arXiv:2006.03654, equations 2 to 4",
    .formula = "(q.k + q.(W_kr P[delta(m, n)]) + k.(W_qr P[delta(n, m)])) / sqrt(3d), "
               "delta(a, b) = clip(a - b, -r, r - 1) + r, P learned",
    .note =
        "The limit r is 2 here. The absolute positions of its decoder are left out. Law 7 depends "
        "on the draw and on the code: it holds where W_kr and W_qr differ, and with delta(m, n) "
        "in both terms, as the released code has it.",
    .has_parameters = true,
    .factor = terms,
    .score = score,
});

}  // namespace
}  // namespace ropewalk
