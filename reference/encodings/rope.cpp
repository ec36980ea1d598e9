// rope: queries and keys are turned by angles that grow with their own position.
//
// Source: RoFormer (arXiv:2104.09864), equations 14 to 16, with pairs (2i, 2i + 1) and i from 0.
#include "reference/encodings/pieces.h"

namespace ropewalk {
namespace {

const RegisteredEncoding rope({
    .name = "rope",
    .title = "RoPE: queries and keys turned",
    .source = "Su et al. 2021, arXiv:2104.09864, equations 14 to 16",
    .f_q = "R_m W_q x_m, R_m turns pair i = 0 .. d/2 - 1 by the angle m 10000^(-2i/d)",
    .f_k = "R_n W_k x_n",
    .formula = "q.k / sqrt(d) = (W_q x_m).(R_(n-m) W_k x_n) / sqrt(d)",
    .query = [](const Learned& l, const Vector& x,
                Position m) { return turned(l.times("W_q", x), m); },
    .key = [](const Learned& l, const Vector& x, Position n,
              Position) { return turned(l.times("W_k", x), n); },
});

}  // namespace
}  // namespace ropewalk
