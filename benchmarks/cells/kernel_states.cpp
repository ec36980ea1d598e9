#include "benchmarks/cells/kernel_states.h"

#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <span>

#include "benchmarks/workloads/workload_layout.h"

namespace ropewalk::bench {
using namespace harness;
using namespace report;
namespace {

/// Bytes of the heap in use, if the C library tells.
std::int64_t heap_bytes() {
#if defined(__GLIBC__)
  const struct mallinfo2 now = mallinfo2();
  return static_cast<std::int64_t>(now.uordblks + now.hblkhd);
#else
  return 0;
#endif
}

}  // namespace

Operation back_from(const Workload& w) {
  return w.operation == Operation::forward ? Operation::transpose : Operation::forward;
}

void KernelStates::begin(const std::vector<double>& inv_freq,
                         const std::function<void*(std::int64_t bytes)>& take_workspace,
                         std::int64_t sets,
                         const std::function<rope_operands(std::int64_t set)>& operands,
                         TimingRow& row) {
  const std::int32_t angles = plan_.table ? ROPE_ANGLES_TABLE : ROPE_ANGLES_INV_FREQ;
  const std::span<Call> calls(calls_, plan_.alternates ? 2 : 1);
  for (Call& call : calls) {
    const Operation operation = &call == calls_ ? workload_.operation : back_from(workload_);
    ProblemNodes nodes;
    const rope_problem problem =
        make_problem(given_, inv_freq, angles, operation, &nodes, plan_.unfused);
    call.problem = ShownProblem(problem);
    row.workspace_bytes = std::max(
        row.workspace_bytes,
        static_cast<std::int64_t>(call.state.workspace_bytes(OnThread(), kernel_, problem)));
  }
  void* const workspace = row.workspace_bytes > 0 ? take_workspace(row.workspace_bytes) : nullptr;
  for (std::int64_t set = 0; set < sets; ++set) {
    rope_operands given = operands(set);
    given.workspace = workspace;
    operands_.emplace_back(given);
  }
  have_begun_ = true;
  for (Call& call : calls) {
    if (kernel_.prepare == nullptr) break;
    const GrownProblem given(*call.problem.shown());
    const std::int64_t held = heap_bytes();
    const auto begin = std::chrono::steady_clock::now();
    call.state.prepare(OnThread(), kernel_, given);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    row.prepare_s += took.count();
    row.kept_bytes += std::max<std::int64_t>(heap_bytes() - held, 0);
  }
  hold(Entry::prepare);
}

void KernelStates::gather_rows() const {
  if ((kernel_.flags & ROPE_INTERPRETED) == 0 || script_host == nullptr) return;
  for (const Call& call : calls_)
    if (call.state.address() != nullptr)
      hold_answer(Entry::apply, script_host->rows(call.state.address()));
}

void KernelStates::hold(Entry which) const {
  for (const Call& call : calls_) {
    call.problem.hold(which);
    call.state.hold(which);
  }
  for (const ShownStruct<rope_operands>& operands : operands_) operands.hold(which);
}

void KernelStates::release() {
  for (Call& call : calls_) call.state.release(OnThread());
}

}  // namespace ropewalk::bench
