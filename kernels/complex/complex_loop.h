// Complex numbers: a pair is one complex number, and its rotation one multiplication by e^(i m
// theta) (RoFormer eq. 12 and 13), as in Llama's own code.
#pragma once
#include <complex>

#include "kernels/common/support.h"

namespace ropewalk {
namespace {  // as if the loop stood in the file that includes it

template <class Real>
void rotate_as_complex(const rope_problem& p, const rope_operands& o) {
  rotate_each_head<Real>(p, o,
                         [&](const Head<Real>& head, std::int64_t half, Real scale, Real sign) {
                           for (std::int64_t i = 0; i < half; ++i) {
                             const auto [re, im] = pair_index(p.pairing, i, half);
                             const std::complex<Real> x(head.in[re], head.in[im]);
                             const std::complex<Real> y =
                                 scale * (x * std::complex<Real>(head.cos[i], sign * head.sin[i]));
                             head.out[re] = y.real();
                             head.out[im] = y.imag();
                           }
                         });
}

}  // namespace
}  // namespace ropewalk
