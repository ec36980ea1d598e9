// Complex numbers: a pair is one complex number, and its rotation one multiplication by e^(i m
// theta) (RoFormer eq. 12 and 13), as in Llama's own code. C++'s complex product also handles
// values that are not finite (C Annex G), so an infinite pair stays infinite.
#include <complex>

#include "kernels/api/kernel.h"
#include "kernels/common/support.h"

namespace ropewalk {
namespace {

template <class Real>
void rotate(const rope_problem& p, const rope_operands& o) {
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

const RegisteredKernel registered{{
    .name = "complex",
    .summary = "std::complex multiplication",
    .source = "RoFormer, arXiv:2104.09864, eq. 12 and 13",
    .flags = ROPE_IN_PLACE | ROPE_OUT_OF_PLACE | ROPE_THREAD_SAFE | ROPE_BITWISE_INVARIANT,
    .supports = supports_table,
    .apply = apply_to_floats<rotate<float>, rotate<double>>,
}};

}  // namespace
}  // namespace ropewalk
