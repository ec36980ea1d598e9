#include "tools/host/worker_library.h"

#include <dlfcn.h>
#include <malloc.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <stdexcept>

#include "benchmarks/engine/google_benchmark.h"
#include "harness/call/operands.h"
#include "harness/worker/worker_main.h"
#include "kernels/api/kernel.h"
#include "tools/launches/board.h"

namespace ropewalk::bench {
// Google Benchmark is only a shared library as well, so it stays in the command.
int run_google_benchmark(const GoogleBenchmarkPlan&) {
  throw std::runtime_error(
      "Google Benchmark does not time kernels in Python: --engine paired does");
}
}  // namespace ropewalk::bench

namespace {

using namespace ropewalk;

// The four functions of Python's stable ABI that a call needs.
struct Python {
  int (*lock)() = nullptr;
  void (*unlock)(int) = nullptr;
  PyObject* (*call)(PyObject*) = nullptr;
  void (*hold)(PyObject*) = nullptr;
  void (*drop)(PyObject*) = nullptr;
} python;

template <class Function>
void find(Function& function, const char* name) {
  function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

// What prepare made. A call with operands that were there before runs the function that was kept
// for them. Python's lock guards all of it.
struct State {
  static constexpr std::size_t most_kept = 32;
  struct Kept {
    rope_operands operands;
    harness::OperandNodes nodes;  // without their links
    PyObject* function = nullptr;
  };
  std::int64_t number;
  std::array<Kept, most_kept> kept{};
  std::size_t last = 0;  // used or kept
};

// Operands come again in turn, so the search begins behind the last ones.
PyObject* kept_function(State& state, const rope_operands& o) {
  const harness::OperandNodes nodes = harness::nodes_of(o);
  for (std::size_t i = 0; i < State::most_kept; ++i) {
    const std::size_t at = (state.last + 1 + i) % State::most_kept;
    const State::Kept& kept = state.kept[at];
    if (kept.function == nullptr ||
        std::memcmp(&kept.operands, &o, offsetof(rope_operands, next)) != 0 ||
        std::memcmp(&kept.nodes, &nodes, sizeof nodes) != 0)
      continue;
    state.last = at;
    return kept.function;
  }
  return nullptr;
}

std::int32_t call(PyObject* function) {
  python.hold(function);  // another thread may replace it meanwhile
  PyObject* answer = python.call(function);
  python.drop(function);
  const bool is_right = answer == harness::script_host->none;
  if (answer != nullptr) python.drop(answer);
  return is_right ? ROPE_OK : ROPE_FAILED;
}

}  // namespace

void* ropewalk_script_state(std::int64_t number) {
  return new State{number};
}

void ropewalk_script_bind(void* state, const rope_operands* o, PyObject* function) {
  State& to = *static_cast<State*>(state);
  to.last = (to.last + 1) % State::most_kept;
  State::Kept& kept = to.kept[to.last];
  PyObject* const old = kept.function;
  python.hold(function);
  std::memcpy(&kept.operands, o, sizeof kept.operands);
  kept.nodes = harness::nodes_of(*o);
  kept.function = function;
  if (old != nullptr) python.drop(old);  // last: freeing it may let another thread in
}

void ropewalk_script_free(void* state) {
  const State* from = static_cast<State*>(state);
  for (const State::Kept& kept : from->kept)
    if (kept.function != nullptr) python.drop(kept.function);
  delete from;
}

std::int32_t ropewalk_script_apply(const rope_problem* p, const rope_operands* o, void* state) {
  State& of = *static_cast<State*>(state);
  const int lock = python.lock();
  PyObject* function = kept_function(of, *o);
  const std::int32_t answer =
      function != nullptr ? call(function) : harness::script_host->apply(p, o, of.number);
  python.unlock(lock);
  return answer;
}

void ropewalk_worker_main(int count, const char* const* words, const ropewalk_script_host* host) {
  mallopt(M_MMAP_THRESHOLD, 1 << 30);  // as main() does: without it torch takes twice as long
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  find(python.lock, "PyGILState_Ensure");
  find(python.unlock, "PyGILState_Release");
  find(python.call, "PyObject_CallNoArgs");
  find(python.hold, "Py_IncRef");
  find(python.drop, "Py_DecRef");
  harness::script_host = host;
  harness::worker_main(harness::worker_arguments(count, words), tools::timing_handler());
}
