// The baselines: the loops of `plain` and `complex` as a compiler makes them for users of this
// machine. The processor that loads the plugin may lack what -march=native takes, so nothing here
// runs before a kernel is called: there is only constant data (docs/decisions/0050).
#include "kernels/complex/complex_loop.h"
#include "kernels/plain/plain_loop.h"

extern const rope_kernel_list ropewalk_baselines;  // for entry.cpp

namespace ropewalk {
namespace {

std::int32_t supports_plain(const rope_problem* p, const char** reason) {
  return supports_data(*p, ROPE_ANGLES_TABLE, p->tensor[0].in_dtype, reason);
}

std::int32_t apply_plain(const rope_problem* p, const rope_operands* o, void*) {
  with_data_type(*p, [&](auto data) { rotate_plainly<decltype(data)>(*p, *o); });
  return ROPE_OK;
}

// The macros come from kernels/CMakeLists.txt. Two forms of a loop may fuse another of the products
// into the sum, so no kernel promises equal bits.
constexpr rope_kernel baseline(const char* name, const char* summary, const char* source,
                               decltype(rope_kernel::supports) supports,
                               decltype(rope_kernel::apply) apply) {
  rope_kernel k{};
  k.struct_size = sizeof k;
  k.abi_version = ROPE_ABI_VERSION;
  k.name = name;
  k.summary = summary;
  k.source = source;
  k.cpu_features = BASELINE_CPU_FEATURES;
  k.flags = ROPE_IN_PLACE | ROPE_OUT_OF_PLACE | ROPE_THREAD_SAFE;
  k.supports = supports;
  k.apply = apply;
  return k;
}

constexpr rope_kernel plain =
    baseline(BASELINE_COMPILER "_plain", "the five-line loop, " BASELINE_BUILT,
             "RoFormer, arXiv:2104.09864, section 3.4.2", supports_plain, apply_plain);
constexpr rope_kernel complex_product =
    baseline(BASELINE_COMPILER "_complex",
             "std::complex multiplication, " BASELINE_BUILT " " BASELINE_COMPLEX,
             "RoFormer, arXiv:2104.09864, eq. 12 and 13", supports_table,
             apply_to_floats<rotate_as_complex<float>, rotate_as_complex<double>>);
constexpr const rope_kernel* kernels[] = {&plain, &complex_product};

}  // namespace
}  // namespace ropewalk

// Without a flag for it, the complex product is that of the kernel `complex`, and is left out.
constinit const rope_kernel_list ropewalk_baselines = {sizeof(rope_kernel_list), ROPE_ABI_VERSION,
                                                       sizeof BASELINE_COMPLEX > 1 ? 2 : 1,
                                                       ropewalk::kernels};
