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

// CRASH with the address.
const auto segfault = with_apply("mutant_segfault", [](auto&, auto&) {
  volatile float* volatile nowhere = nullptr;
  *nowhere = 1;
  return ROPE_OK;
});

#if defined(__x86_64__)
// MMX code without its emms, so long double results of the next kernel are NaN.
const auto leaves_mmx = with_apply("mutant_leaves_mmx", [](auto& p, auto& o) {
  const std::int32_t answer = apply<Correct>(&p, &o, nullptr);
  __asm__ volatile("pxor %%mm0, %%mm0" : : : "mm0");
  return answer;
});
#endif

// CRASH without a signal: the process exits with success.
const auto exits = with_apply("mutant_exits", [](auto&, auto&) {
  std::exit(0);
  return ROPE_OK;
});

// HANG.
const auto hangs = with_apply("mutant_hangs", [](auto&, auto&) {
  for (volatile bool forever = true; forever;) {
  }
  return ROPE_OK;
});

// Ends the thread on which it was called, so no thread of the process goes on.
const auto ends_thread = with_apply("mutant_ends_thread", [](auto&, auto&) {
  pthread_exit(nullptr);
  return ROPE_OK;
});

// Frees memory that is not its own.
const auto frees_argument = with_apply("mutant_frees_argument", [](auto& p, auto& o) {
  const std::int32_t answer = apply<Correct>(&p, &o, nullptr);
  void* volatile output = o.tensor[0].out;
  std::free(output);
  return answer;
});

// Overwrites the page that tells the parent how far the worker is.
const auto scribbles = with_apply("mutant_scribbles", [](auto&, auto&) {
  constexpr std::size_t bytes = 8192;
  void* page = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, 4, 0);
  if (page != MAP_FAILED) std::memset(page, 0xff, bytes);
  std::abort();
  return ROPE_OK;
});

// Throws an exception out of apply, which is a C function. FAIL or CRASH.
const auto throws = with_apply("mutant_throws", [](auto& p, auto&) {
  if (p.batch > 0) throw std::runtime_error("out of patience");
  return ROPE_OK;
});

// Like a callback that leaves its status undefined: answers OK and writes nothing. Seen by
// unwritten_outputs, and by all properties that compare an output.
const auto writes_nothing =
    with_apply("mutant_writes_nothing", [](auto&, auto&) { return ROPE_OK; });

// Crashes in supports. A crash is no refusal, so the verdict is never UNSUPPORTED.
const auto dies_when_asked = altered("mutant_dies_when_asked", [](KernelInfo& info) {
  info.supports = [](const rope_problem*, const char**) -> std::int32_t {
    std::raise(SIGSEGV);
    return ROPE_OK;
  };
});

// Crashes in release.
const auto dies_in_release = altered("mutant_dies_in_release", [](KernelInfo& info) {
  info.prepare = [](const rope_problem*, void**) -> std::int32_t { return ROPE_OK; };
  info.release = [](void*) { std::abort(); };
});

// Accepts a problem that it then cannot prepare.
const auto fails_to_prepare = altered("mutant_fails_to_prepare", [](KernelInfo& info) {
  info.prepare = [](const rope_problem*, void**) -> std::int32_t { return ROPE_FAILED; };
});

}  // namespace
}  // namespace ropewalk::mutants
