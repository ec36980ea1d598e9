// Errors on the heap: a kernel writes, reads or frees outside its own allocations, while every
// output is right. The worker must find them (harness/watch/heap_guard.h) under every property.
#include <cstdlib>
#include <cstring>

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
float* hidden(void* memory) {
  void* volatile seen = memory;
  return static_cast<float*>(seen);
}

std::size_t row_of_table(const rope_problem* p) {
  return static_cast<std::size_t>(p->rotary_dim / 2) * sizeof(float);
}

KernelInfo with_scratch(const char* name) {
  KernelInfo info = table_info<Correct>(name);
  info.prepare = [](const rope_problem* p, void** state) -> std::int32_t {
    *state = std::malloc(row_of_table(p));
    return ROPE_OK;
  };
  info.release = [](void* state) { std::free(state); };
  return info;
}

template <void (*misdeed)(const rope_problem*, void*)>
std::int32_t apply_after(const rope_problem* p, const rope_operands* o, void* state) {
  if (!under_sanitizer()) misdeed(p, state);
  return apply<Correct>(p, o, nullptr);
}

// Allocates one value for each pair and writes two.
void write_past_state(const rope_problem* p, void* state) {
  volatile float* const row = hidden(state);
  for (std::int64_t i = 0; i < p->rotary_dim; ++i) row[i] = 1;
}
// Counts down and stops one element too late.
void write_before_state(const rope_problem* p, void* state) {
  volatile float* const row = hidden(state);
  for (std::int64_t i = p->rotary_dim / 2 - 1; i >= -1; --i) row[i] = 1;
}
void write_state(const rope_problem*, void* state) {
  *static_cast<volatile float*>(hidden(state)) = 1;
}

const RegisteredKernel overruns_state{[] {
  KernelInfo info = with_scratch("mutant_overruns_state_table");
  info.apply = apply_after<write_past_state>;
  return info;
}()};

const RegisteredKernel underruns_state{[] {
  KernelInfo info = with_scratch("mutant_underruns_state_table");
  info.apply = apply_after<write_before_state>;
  return info;
}()};

// Writes 4,000 bytes behind a block of 24 bytes.
const RegisteredKernel overruns_in_prepare{[] {
  KernelInfo info = with_scratch("mutant_overruns_in_prepare_table");
  info.prepare = [](const rope_problem*, void** state) -> std::int32_t {
    constexpr std::size_t asked = 24, written = 4000;
    *state = std::malloc(asked);
    if (!under_sanitizer()) std::memset(hidden(static_cast<char*>(*state) + asked), 1, written);
    return ROPE_OK;
  };
  info.apply = [](const rope_problem* p, const rope_operands* o, void*) -> std::int32_t {
    under_sanitizer();
    return apply<Correct>(p, o, nullptr);
  };
  return info;
}()};

// Frees its scratch right after prepare, then uses it.
const RegisteredKernel writes_freed_state{[] {
  KernelInfo info = with_scratch("mutant_writes_freed_state_table");
  info.prepare = [](const rope_problem* p, void** state) -> std::int32_t {
    void* const memory = std::malloc(row_of_table(p));
    *state = hidden(memory);
    std::free(memory);
    return ROPE_OK;
  };
  info.apply = apply_after<write_state>;
  info.release = [](void*) {};
  return info;
}()};

// Reads a whole row of 64 values from scratch with one value for each pair.
void read_past_state(const rope_problem*, void* state) {
  const volatile float* const row = hidden(state);
  volatile float sum = 0;
  for (int i = 0; i < 64; ++i) sum = sum + row[i];
}

const RegisteredKernel reads_past_state{[] {
  KernelInfo info = with_scratch("mutant_reads_past_state_table");
  info.apply = apply_after<read_past_state>;
  return info;
}()};

// Ends its text of 25 bytes with a zero behind them, where glibc's block happens to have room.
const RegisteredKernel ends_text_outside{[] {
  KernelInfo info = with_scratch("mutant_ends_text_outside_table");
  info.prepare = [](const rope_problem*, void** state) -> std::int32_t {
    constexpr std::size_t length = 25;
    *state = std::malloc(length);
    if (!under_sanitizer()) std::memset(hidden(*state), 0, length + 1);
    return ROPE_OK;
  };
  info.apply = [](const rope_problem* p, const rope_operands* o, void*) -> std::int32_t {
    under_sanitizer();
    return apply<Correct>(p, o, nullptr);
  };
  return info;
}()};

}  // namespace
}  // namespace ropewalk::mutants
