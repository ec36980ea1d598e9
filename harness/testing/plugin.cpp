// A plugin for worker_test.cpp: right, or with the one fault that PLUGIN_FAULT names when it is
// compiled. Its kernels misbehave in one way each.
#include <cstdlib>
#include <stdexcept>

#include "kernels/api/kernel.h"

namespace ropewalk {
namespace {

enum class Fault {
  none,
  no_entry,  ///< CMake renames the entry
  no_list,
  small_list,
  wrong_abi,
  no_kernels,
  null_kernel,
  old_kernel,
  other_abi_kernel,
  bad_name,
  no_apply,
  unknown_flags,
  no_form,
  large_bound,
  taken_name,
  crash_on_load,
  exit_on_load
};
constexpr Fault fault = Fault::PLUGIN_FAULT;

const float* input_of(const rope_operands* o) {
  return static_cast<const float*>(o->tensor[0].in);
}
float* output_of(const rope_operands* o) {
  return static_cast<float*>(o->tensor[0].out);
}

std::int32_t always(const rope_problem*, const char**) {
  return ROPE_OK;
}
std::int32_t never(const rope_problem*, const char** reason) {
  if (reason != nullptr) *reason = "only on Sundays";
  return ROPE_UNSUPPORTED;
}

std::int32_t rotate(const rope_problem* p, const rope_operands* o, void*) {
  const std::int64_t half = p->rotary_dim / 2;
  for_each_token(*p, *o, [&](const Token& token) {
    for_each_head<float>(*p, *o, token, [&](const Head<float>& head) {
      if (head.cos == nullptr || head.sin == nullptr) return;  // the tests give it a table
      for (std::int64_t i = 0; i < half; ++i) {
        const auto [a, b] = pair_index(p->pairing, i, half);
        const float x1 = head.in[a], x2 = head.in[b];
        head.out[a] = x1 * head.cos[i] - x2 * head.sin[i];
        head.out[b] = x2 * head.cos[i] + x1 * head.sin[i];
      }
    });
  });
  return ROPE_OK;
}
std::int32_t do_nothing(const rope_problem*, const rope_operands*, void*) {
  return ROPE_OK;
}
std::int32_t read_past(const rope_problem* p, const rope_operands* o, void*) {
  output_of(o)[0] = static_cast<const volatile float*>(input_of(o))[p->tensor[0].head_dim];
  return ROPE_OK;
}
std::int32_t write_before(const rope_problem* p, const rope_operands* o, void*) {
  for (std::int64_t i = -1; i < p->tensor[0].head_dim; ++i)
    static_cast<volatile float*>(output_of(o))[i] = 1;
  return ROPE_OK;
}
std::int32_t write_input(const rope_problem*, const rope_operands* o, void*) {
  const_cast<volatile float*>(input_of(o))[1] = 0;
  return ROPE_OK;
}
std::int32_t fail(const rope_problem*, const rope_operands*, void*) {
  return ROPE_FAILED;
}
std::int32_t leave_by_exception(const rope_problem*, const rope_operands*, void*) {
  throw std::runtime_error("out of rope");
}
std::int32_t leave_by_exit(const rope_problem*, const rope_operands*, void*) {
  std::_Exit(7);
}
std::size_t two_gib(const rope_problem*) {
  return std::size_t{2} << 30;
}

constexpr KernelInfo right{
    .name = "test_right", .summary = "the plain loop", .supports = always, .apply = rotate};

KernelInfo with_fault() {
  KernelInfo k = right;
  if (fault == Fault::bad_name) k.name = "Test Right";
  if (fault == Fault::no_apply) k.apply = nullptr;
  if (fault == Fault::unknown_flags) k.flags |= 1u << 30;
  if (fault == Fault::no_form) k.flags = ROPE_THREAD_SAFE;
  if (fault == Fault::large_bound) k.error_bound = 17;
  if (fault == Fault::taken_name) k.name = "plain";
  if (fault == Fault::crash_on_load) std::abort();
  if (fault == Fault::exit_on_load) std::_Exit(3);
  return k;
}

const RegisteredKernel first{with_fault()};
const RegisteredKernel others[] = {
    RegisteredKernel{{.name = "test_refuses", .supports = never, .apply = rotate}},
    RegisteredKernel{{.name = "test_does_nothing", .supports = always, .apply = do_nothing}},
    RegisteredKernel{{.name = "test_reads_past", .supports = always, .apply = read_past}},
    RegisteredKernel{{.name = "test_writes_before", .supports = always, .apply = write_before}},
    RegisteredKernel{{.name = "test_writes_input", .supports = always, .apply = write_input}},
    RegisteredKernel{{.name = "test_fails", .supports = always, .apply = fail}},
    RegisteredKernel{{.name = "test_throws", .supports = always, .apply = leave_by_exception}},
    RegisteredKernel{{.name = "test_exits", .supports = always, .apply = leave_by_exit}},
    RegisteredKernel{{.name = "test_wants_2_gib",
                      .supports = always,
                      .workspace_bytes = two_gib,
                      .apply = rotate}},
    RegisteredKernel{{.name = "test_needs_avx1024",
                      .cpu_features = "avx1024",
                      .supports = always,
                      .apply = rotate}},
};

}  // namespace
}  // namespace ropewalk

extern "C" [[gnu::visibility("default")]] const rope_kernel_list* rope_kernels_v1(void) {
  using namespace ropewalk;
  static rope_kernel odd = *registered_kernels()[0];
  static const rope_kernel* kernels[16] = {};
  static rope_kernel_list list{sizeof list, ROPE_ABI_VERSION, registered_kernels().size(), kernels};
  for (std::size_t i = 0; i < registered_kernels().size(); ++i)
    kernels[i] = registered_kernels()[i];
  kernels[0] = fault == Fault::null_kernel ? nullptr : &odd;
  if (fault == Fault::old_kernel) odd.struct_size -= 8;
  if (fault == Fault::other_abi_kernel) odd.abi_version = 2;
  if (fault == Fault::small_list) list.struct_size -= 8;
  if (fault == Fault::wrong_abi) list.abi_version = 2;
  if (fault == Fault::no_kernels) list.count = 0;
  return fault == Fault::no_list ? nullptr : &list;
}
