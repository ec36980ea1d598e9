// transformer_xl: the position term of the key becomes a sinusoid of the distance, that of the
// query two learned vectors.
//
// Source: Transformer-XL (arXiv:1901.02860), section 3.3. The factor 1 / sqrt(d) is that of its
// code. Its memory of earlier segments is left out; it looks back only, and this formula goes on
// for n > m as XLNet's does.
#include "reference/encodings/pieces.h"

namespace ropewalk {
namespace {

Real score(const Learned& learned, const Vector& q, const Vector& k, Position m, Position n) {
  const Vector place = learned.times("W_kR", sinusoid(learned.dim, m - n));
  return scaled(dot(q, k) + dot(q, place) + dot(learned.vector("u", 0), k) +
                    dot(learned.vector("v", 0), place),
                1, learned.dim);
}

const RegisteredEncoding transformer_xl({
    .name = "transformer_xl",
    .title = "Transformer-XL: a sinusoid of the distance",
    .source = "Dai et al. 2019, arXiv:1901.02860, section 3.3",
    .f_k = "W_kE x_n",
    .formula = "(q.k + q.(W_kR R[m-n]) + u.k + v.(W_kR R[m-n])) / sqrt(d), R[j] the sinusoidal "
               "vector of j; u, v learned",
    .note = "The factor is that of its code. The paper looks back only (n <= m); here the formula "
            "goes on. u and v are u[0] and v[0] below, W_kE is W_k.",
    .has_parameters = true,
    .score = score,
});

}  // namespace
}  // namespace ropewalk
