// C++'s complex product also handles values that are not finite (C Annex G), so an infinite pair
// stays infinite.
#include "kernels/api/kernel.h"
#include "kernels/complex/complex_loop.h"

namespace ropewalk {
namespace {

const RegisteredKernel registered{{
    .name = "complex",
    .summary = "std::complex multiplication",
    .source = "RoFormer, arXiv:2104.09864, eq. 12 and 13",
    .flags = ROPE_IN_PLACE | ROPE_OUT_OF_PLACE | ROPE_THREAD_SAFE | ROPE_BITWISE_INVARIANT,
    .supports = supports_table,
    .apply = apply_to_floats<rotate_as_complex<float>, rotate_as_complex<double>>,
}};

}  // namespace
}  // namespace ropewalk
