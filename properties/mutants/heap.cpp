// Errors on the heap: a kernel reads or writes outside its own allocations, while every output is
// right. The worker must find them (harness/watch/heap_guard.h) under every property.
#include <cstdlib>

#include "properties/mutants/planted.h"

namespace ropewalk::mutants {
namespace {

// A sanitizer owns malloc and checks instrumented code. Mutants are not instrumented. So under a
// sanitizer they allocate in apply, which is seen everywhere.
extern "C" [[gnu::weak]] void __sanitizer_set_death_callback(void (*)());  // NOLINT: its own name
bool under_sanitizer() {
  if (__sanitizer_set_death_callback == nullptr) return false;
  void* volatile memory = std::malloc(100);
  std::free(memory);
  return true;
}

// Hides the memory's origin from the compiler.
volatile float* hidden(void* memory) {
  void* volatile seen = memory;
  return static_cast<volatile float*>(seen);
}

void* scratch_for(const rope_problem* p) {
  return std::malloc(static_cast<std::size_t>(p->rotary_dim / 2) * sizeof(float));
}

template <void (*misdeed)(volatile float* scratch)>
KernelInfo with_scratch(const char* name) {
  KernelInfo info = table_info<Correct>(name);
  info.prepare = [](const rope_problem* p, void** state) -> std::int32_t {
    *state = scratch_for(p);
    return ROPE_OK;
  };
  info.apply = [](const rope_problem* p, const rope_operands* o, void* state) {
    if (!under_sanitizer()) misdeed(hidden(state));
    return apply<Correct>(p, o, nullptr);
  };
  info.release = [](void* state) { std::free(state); };
  return info;
}

void write_first(volatile float* scratch) {
  *scratch = 1;
}
// Frees its scratch right after prepare, then uses it.
const RegisteredKernel writes_freed_state{[] {
  KernelInfo info = with_scratch<write_first>("mutant_writes_freed_state_table");
  info.prepare = [](const rope_problem* p, void** state) -> std::int32_t {
    void* const memory = scratch_for(p);
    *state = const_cast<float*>(hidden(memory));
    std::free(memory);
    return ROPE_OK;
  };
  info.release = [](void*) {};
  return info;
}()};

// Reads a whole row of 64 values from scratch with one value for each pair.
void read_row(volatile float* scratch) {
  volatile float sum = 0;
  for (int i = 0; i < 64; ++i) sum = sum + scratch[i];
}
const RegisteredKernel reads_past_state{with_scratch<read_row>("mutant_reads_past_state_table")};

}  // namespace
}  // namespace ropewalk::mutants
