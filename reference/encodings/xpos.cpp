// xpos: RoPE, with each pair of a query scaled by zeta^m and of a key by zeta^-n.
//
// Source: "A Length-Extrapolatable Transformer" (arXiv:2212.10554), section 3 and algorithm 1, with
// gamma = 0.4. The released code (torchscale) has zeta^(m / 512), and counts positions from the
// middle of the text, which changes no score. Its attention in blocks is left out.
#include "reference/encodings/pieces.h"

namespace ropewalk {
namespace {

Vector scaled_pairs(Vector x, std::int64_t exponent) {
  const std::size_t pairs = x.size() / 2;
  for (std::size_t i = 0; i < pairs; ++i) {
    // zeta_i = (i / (d/2) + 0.4) / 1.4
    const Real zeta = Real(5 * i + 2 * pairs) / Real(7 * pairs);
    const Real factor = pow(zeta, exponent);
    x[2 * i] *= factor;
    x[2 * i + 1] *= factor;
  }
  return x;
}

const RegisteredEncoding xpos({
    .name = "xpos",
    .title = "xPos: RoPE with a scale that falls with the distance",
    .source = "Sun et al. 2022, arXiv:2212.10554, section 3",
    .f_q = "Z^m R_m W_q x_m, Z scales pair i by zeta_i = (i / (d/2) + 0.4) / 1.4",
    .f_k = "Z^-n R_n W_k x_n",
    .note = "The released code has zeta^(1/512) in place of zeta: it falls 512 times slower.",
    .query = [](const Learned& l, const Vector& x,
                Position m) { return scaled_pairs(turned(l.times("W_q", x), m), m); },
    .key = [](const Learned& l, const Vector& x, Position n,
              Position) { return scaled_pairs(turned(l.times("W_k", x), n), -n); },
});

}  // namespace
}  // namespace ropewalk
