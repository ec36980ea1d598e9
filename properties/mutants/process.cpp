// Errors in how a call ends. Every property must end with a verdict, and the run must go on.
#include <cfenv>
#include <csignal>
#include <cstdlib>
#include <stdexcept>

#include "properties/mutants/planted.h"

namespace ropewalk::mutants {
namespace {

// A kernel whose apply, and nothing else, is this function.
KernelInfo with_apply(const char* name, decltype(rope_kernel::apply) apply_instead) {
  KernelInfo info = table_info<Correct>(name);
  info.apply = apply_instead;
  return info;
}

// CRASH, with the address.
const RegisteredKernel segfault{
    with_apply("mutant_segfault", [](const rope_problem*, const rope_operands*, void*) {
      volatile float* volatile nowhere = nullptr;
      *nowhere = 1;
      return std::int32_t{ROPE_OK};
    })};

// Rounds down from now on: the next kernel would pay for it.
const RegisteredKernel leaves_rounding{with_apply(
    "mutant_leaves_rounding", [](const rope_problem* p, const rope_operands* o, void* state) {
      std::fesetround(FE_DOWNWARD);
      return apply<Correct>(p, o, state);
    })};

// CRASH by a signal that the library raised: an assertion in a dependency.
const RegisteredKernel aborts{
    with_apply("mutant_aborts", [](const rope_problem*, const rope_operands*, void*) {
      std::abort();
      return std::int32_t{ROPE_OK};
    })};

// CRASH without a signal: the process is gone, and success was its last word.
const RegisteredKernel exits{
    with_apply("mutant_exits", [](const rope_problem*, const rope_operands*, void*) {
      std::exit(0);
      return std::int32_t{ROPE_OK};
    })};

// HANG.
const RegisteredKernel hangs{
    with_apply("mutant_hangs", [](const rope_problem*, const rope_operands*, void*) {
      for (volatile bool forever = true; forever;) {
      }
      return std::int32_t{ROPE_OK};
    })};

// An exception leaves apply, which is C. FAIL or CRASH.
const RegisteredKernel throws{with_apply(
    "mutant_throws", [](const rope_problem* p, const rope_operands*, void*) -> std::int32_t {
      if (p->batch > 0) throw std::runtime_error("out of patience");
      return ROPE_OK;
    })};

// An honest failure is a failed claim all the same.
const RegisteredKernel fails{with_apply(
    "mutant_fails",
    [](const rope_problem*, const rope_operands*, void*) { return std::int32_t{ROPE_FAILED}; })};

// Refuses what it had accepted: no way out of a comparison.
const RegisteredKernel refuses_late{
    with_apply("mutant_refuses_late", [](const rope_problem*, const rope_operands*, void*) {
      return std::int32_t{ROPE_UNSUPPORTED};
    })};

// A callback that leaves its status undefined: OK, and nothing written. unwritten_outputs; all that
// look at an output.
const RegisteredKernel writes_nothing{with_apply(
    "mutant_writes_nothing",
    [](const rope_problem*, const rope_operands*, void*) { return std::int32_t{ROPE_OK}; })};

// Dies while it is asked what it offers. A crash is no refusal: never UNSUPPORTED.
KernelInfo dies_when_asked_info() {
  KernelInfo info = table_info<Correct>("mutant_dies_when_asked");
  info.supports = [](const rope_problem*, const char**) -> std::int32_t {
    std::raise(SIGSEGV);
    return ROPE_OK;
  };
  return info;
}
const RegisteredKernel dies_when_asked{dies_when_asked_info()};

// Dies while it cleans up.
KernelInfo dies_in_release_info() {
  KernelInfo info = table_info<Correct>("mutant_dies_in_release");
  info.prepare = [](const rope_problem*, void** state) -> std::int32_t {
    *state = nullptr;
    return ROPE_OK;
  };
  info.release = [](void*) { std::abort(); };
  return info;
}
const RegisteredKernel dies_in_release{dies_in_release_info()};

// Cannot prepare what it accepted.
KernelInfo fails_to_prepare_info() {
  KernelInfo info = table_info<Correct>("mutant_fails_to_prepare");
  info.prepare = [](const rope_problem*, void**) -> std::int32_t { return ROPE_FAILED; };
  return info;
}
const RegisteredKernel fails_to_prepare{fails_to_prepare_info()};

}  // namespace
}  // namespace ropewalk::mutants
