// Errors in how a call ends. Every property must end with a verdict, and the run must go on.
#include <pthread.h>
#include <sys/mman.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "properties/mutants/planted.h"

namespace ropewalk::mutants {
namespace {

// A kernel that is correct except for this apply.
KernelInfo with_apply(const char* name, decltype(rope_kernel::apply) apply_instead) {
  KernelInfo info = table_info<Correct>(name);
  info.apply = apply_instead;
  return info;
}

// CRASH with the address.
const RegisteredKernel segfault{
    with_apply("mutant_segfault", [](const rope_problem*, const rope_operands*, void*) {
      volatile float* volatile nowhere = nullptr;
      *nowhere = 1;
      return std::int32_t{ROPE_OK};
    })};

#if defined(__x86_64__)
// MMX code without its emms, so long double results of the next kernel are NaN.
const RegisteredKernel leaves_mmx{
    with_apply("mutant_leaves_mmx", [](const rope_problem* p, const rope_operands* o, void* state) {
      const std::int32_t answer = apply<Correct>(p, o, state);
      __asm__ volatile("pxor %%mm0, %%mm0" : : : "mm0");
      return answer;
    })};
#endif

// CRASH without a signal: the process exits with success.
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

// Ends the thread on which it was called, so no thread of the process goes on.
const RegisteredKernel ends_thread{
    with_apply("mutant_ends_thread", [](const rope_problem*, const rope_operands*, void*) {
      pthread_exit(nullptr);
      return std::int32_t{ROPE_OK};
    })};

// Frees memory that is not its own.
const RegisteredKernel frees_argument{with_apply(
    "mutant_frees_argument", [](const rope_problem* p, const rope_operands* o, void* state) {
      const std::int32_t answer = apply<Correct>(p, o, state);
      void* volatile output = o->tensor[0].out;
      std::free(output);
      return answer;
    })};

// Overwrites the page that tells the parent how far the worker is.
const RegisteredKernel scribbles{
    with_apply("mutant_scribbles", [](const rope_problem*, const rope_operands*, void*) {
      constexpr std::size_t bytes = 8192;
      void* page = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, 4, 0);
      if (page != MAP_FAILED) std::memset(page, 0xff, bytes);
      std::abort();
      return std::int32_t{ROPE_OK};
    })};

// Throws an exception out of apply, which is a C function. FAIL or CRASH.
const RegisteredKernel throws{with_apply(
    "mutant_throws", [](const rope_problem* p, const rope_operands*, void*) -> std::int32_t {
      if (p->batch > 0) throw std::runtime_error("out of patience");
      return ROPE_OK;
    })};

// Refuses in apply what supports accepted. This must not avoid a comparison.
const RegisteredKernel refuses_late{
    with_apply("mutant_refuses_late", [](const rope_problem*, const rope_operands*, void*) {
      return std::int32_t{ROPE_UNSUPPORTED};
    })};

// Like a callback that leaves its status undefined: answers OK and writes nothing. Seen by
// unwritten_outputs, and by all properties that compare an output.
const RegisteredKernel writes_nothing{with_apply(
    "mutant_writes_nothing",
    [](const rope_problem*, const rope_operands*, void*) { return std::int32_t{ROPE_OK}; })};

// Crashes in supports. A crash is no refusal, so the verdict is never UNSUPPORTED.
KernelInfo dies_when_asked_info() {
  KernelInfo info = table_info<Correct>("mutant_dies_when_asked");
  info.supports = [](const rope_problem*, const char**) -> std::int32_t {
    std::raise(SIGSEGV);
    return ROPE_OK;
  };
  return info;
}
const RegisteredKernel dies_when_asked{dies_when_asked_info()};

// Crashes in release.
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

// Accepts a problem that it then cannot prepare.
KernelInfo fails_to_prepare_info() {
  KernelInfo info = table_info<Correct>("mutant_fails_to_prepare");
  info.prepare = [](const rope_problem*, void**) -> std::int32_t { return ROPE_FAILED; };
  return info;
}
const RegisteredKernel fails_to_prepare{fails_to_prepare_info()};

}  // namespace
}  // namespace ropewalk::mutants
