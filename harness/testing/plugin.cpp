// A plugin for tests. It is correct, or has the one fault that TEST_PLUGIN_FAULT in the environment
// names. Each of its kernels misbehaves in one way.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <stdexcept>

#include "kernels/api/kernel.h"

namespace ropewalk {
namespace {

bool fault(const char* name) {
  const char* asked = std::getenv("TEST_PLUGIN_FAULT");
  return asked != nullptr && std::strcmp(asked, name) == 0;
}

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
std::int32_t read_far_past(const rope_problem*, const rope_operands* o, void*) {
  constexpr std::int64_t elements = 1 << 21;
  output_of(o)[0] = static_cast<const volatile float*>(input_of(o))[elements];
  return ROPE_OK;
}
std::int32_t unmap_output(const rope_problem* p, const rope_operands* o, void* state) {
  rotate(p, o, state);
  const auto page = static_cast<std::uintptr_t>(getpagesize());
  const auto at = reinterpret_cast<std::uintptr_t>(output_of(o)) / page * page;
  // NOLINTNEXTLINE: the page's address is computed
  return munmap(reinterpret_cast<void*>(at), page) == 0 ? ROPE_OK : ROPE_FAILED;
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
std::int32_t illegal_instruction(const rope_problem*, const rope_operands*, void*) {
#ifdef __x86_64__
  asm volatile("ud2");
#else
  std::raise(SIGILL);
#endif
  return ROPE_OK;
}
std::int32_t stop_itself(const rope_problem*, const rope_operands*, void*) {
  std::raise(SIGSTOP);
  return ROPE_OK;
}
// Takes 40 ms a token. A twin hangs where it has many tokens.
template <bool hangs>
std::int32_t work_long(const rope_problem* p, const rope_operands* o, void* state) {
  const std::clock_t end = std::clock() + p->tokens * CLOCKS_PER_SEC / 25;
  while (std::clock() < end || (hangs && p->tokens > 32)) continue;
  return rotate(p, o, state);
}
// Two that are right but for one kind of call.
std::int32_t only_f32(const rope_problem* p, const char** reason) {
  return supports_data(*p, ROPE_ANGLES_TABLE, ROPE_F32, reason);
}
std::int32_t rotate_or_rest(const rope_problem* p, const rope_operands* o, void* state) {
  const rope_tensor* const end = p->tensor + p->tensor_count;
  const bool rotates =
      std::any_of(p->tensor, end, [](const rope_tensor& t) { return t.rotate != 0; });
  return rotates ? rotate(p, o, state) : ROPE_OK;
}
std::int32_t read_cos_as_sin(const rope_problem* p, const rope_operands* o, void* state) {
  rope_operands given = *o;
  if (p->table_rows == 1 && p->table_row_stride < p->rotary_dim / 2)
    for (auto& tensor : given.tensor) tensor.sin = tensor.cos;
  return rotate(p, &given, state);
}
template <std::int32_t refused>
std::int32_t one_form_only(const rope_problem* p, const char** reason) {
  return p->tensor[0].in_place == refused ? refuse(reason, "not in this form") : ROPE_OK;
}
// Takes 5 tokens, and crashes where it is asked about 6.
std::int32_t by_tokens(const rope_problem* p, const char** reason) {
  if (p->tokens == 6) std::raise(SIGSEGV);
  return p->tokens == 5 ? ROPE_OK : refuse(reason, p->tokens % 2 == 1 ? "odd" : "even");
}
std::int32_t answer_7(const rope_problem*, const char**) {
  return 7;
}
std::size_t two_gib(const rope_problem*) {
  return std::size_t{2} << 30;
}

constexpr KernelInfo right{.name = "test_right",
                           .summary = "the plain loop",
                           .extensions = ~extension_bit(ROPE_EXT_AXES),  // kinds that nobody knows
                           .supports = always,
                           .apply = rotate};

// Ends or stops the process if the environment names this place, else returns.
void misbehave(const std::string& place) {
  const auto here = [&](const char* what) { return fault((what + ("_" + place)).c_str()); };
  if (here("abort")) std::abort();
  if (here("crash")) std::raise(SIGSEGV);
  if (here("exit")) std::_Exit(3);
  while (here("hang")) pause();
}

KernelInfo with_fault() {
  misbehave("in_constructor");
  static const char* const long_name =
      "a_name_of_64_letters_is_one_too_long_for_the_contract_and_refuse";
  KernelInfo k = right;
  if (fault("name_null")) k.name = nullptr;
  if (fault("name_empty")) k.name = "";
  if (fault("name_capital")) k.name = "Test_right";
  if (fault("name_space")) k.name = "test right";
  if (fault("name_long")) k.name = long_name;
  if (fault("name_ceiling")) k.name = "ceiling_update";
  if (fault("name_of_the_tree")) k.name = "plain";
  if (fault("name_twice")) k.name = "test_refuses";
  if (fault("no_supports")) k.supports = nullptr;
  if (fault("no_apply")) k.apply = nullptr;
  if (fault("unknown_flags")) k.flags |= 1u << 30;
  if (fault("unknown_exceptions")) k.exceptions = 1u << 4;
  if (fault("reads_far_past")) k.reads_past = 4096;
  if (fault("host_launcher")) k.flags |= ROPE_HOST_LAUNCHER;  // a mark, and no fault
  if (fault("no_form")) k.flags = ROPE_THREAD_SAFE;
  if (fault("f32_angle")) k.angle_contract = ROPE_CONTRACT_F32_ANGLE;  // and accepts f64 data
  if (fault("unknown_contract")) k.angle_contract = 3;
  if (fault("unknown_memory")) k.memory = 7;
  if (fault("bound_large")) k.error_bound = 17;
  if (fault("bound_16")) k.error_bound = 16;  // these two are no fault: the kernel keeps them
  if (fault("bound_5")) k.error_bound = 5;
  if (fault("bound_negative")) k.error_bound = -1;
  if (fault("bound_nan")) k.error_bound = std::nan("");
  return k;
}

const RegisteredKernel first{with_fault()};
const RegisteredKernel others[] = {
    RegisteredKernel{{.name = "test_refuses", .supports = never, .apply = rotate}},
    RegisteredKernel{{.name = "test_answers_7", .supports = answer_7, .apply = rotate}},
    RegisteredKernel{{.name = "test_by_tokens", .supports = by_tokens, .apply = rotate}},
    RegisteredKernel{{.name = "test_does_nothing", .supports = always, .apply = do_nothing}},
    RegisteredKernel{{.name = "test_reads_past", .supports = always, .apply = read_past}},
    RegisteredKernel{{.name = "test_reads_far_past", .supports = always, .apply = read_far_past}},
    RegisteredKernel{{.name = "test_unmaps_output", .supports = always, .apply = unmap_output}},
    RegisteredKernel{{.name = "test_writes_before", .supports = always, .apply = write_before}},
    RegisteredKernel{{.name = "test_writes_input", .supports = always, .apply = write_input}},
    RegisteredKernel{{.name = "test_fails", .supports = always, .apply = fail}},
    RegisteredKernel{{.name = "test_throws", .supports = always, .apply = leave_by_exception}},
    RegisteredKernel{{.name = "test_exits", .supports = always, .apply = leave_by_exit}},
    RegisteredKernel{{.name = "test_stops", .supports = always, .apply = stop_itself}},
    RegisteredKernel{{.name = "test_slow", .supports = always, .apply = work_long<false>}},
    RegisteredKernel{{.name = "test_hangs_late", .supports = always, .apply = work_long<true>}},
    RegisteredKernel{{.name = "test_illegal", .supports = always, .apply = illegal_instruction}},
    RegisteredKernel{
        {.name = "test_never_in_place", .supports = one_form_only<1>, .apply = rotate}},
    RegisteredKernel{{.name = "test_only_in_place", .supports = one_form_only<0>, .apply = rotate}},
    RegisteredKernel{{.name = "test_rests", .supports = only_f32, .apply = rotate_or_rest}},
    RegisteredKernel{
        {.name = "test_trusts_stride", .supports = only_f32, .apply = read_cos_as_sin}},
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
  misbehave("in_entry");
  if (fault("throw_in_entry")) throw std::runtime_error("no rope left");
  if (fault("throw_number_in_entry")) throw 3;
  static rope_kernel odd = *registered_kernels()[0];
  static const rope_kernel* kernels[32] = {};
  static rope_kernel_list list{sizeof list, ROPE_ABI_VERSION, registered_kernels().size(), kernels};
  std::copy(registered_kernels().begin(), registered_kernels().end(), kernels);
  kernels[0] = fault("kernel_null") ? nullptr : &odd;
  if (fault("kernel_size")) odd.struct_size = 96;
  if (fault("older_header")) {  // what lies behind is not the kernel's
    odd.struct_size = 104;
    odd.exceptions = ~0u;
  }
  if (fault("kernel_abi")) odd.abi_version = 2;
  if (fault("list_size")) list.struct_size -= 8;
  if (fault("list_abi")) list.abi_version = 2;
  if (fault("count_zero")) list.count = 0;
  if (fault("count_huge")) list.count = SIZE_MAX;
  if (fault("kernels_null")) list.kernels = nullptr;
  return fault("list_null") ? nullptr : &list;
}
