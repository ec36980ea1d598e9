// A state of a kernel, from prepare to release, and what the kernel is asked beside it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "harness/process/call_memory.h"
#include "harness/watch/entries.h"
#include "harness/watch/shown_problem.h"
#include "kernels/api/rope_kernel.h"

namespace ropewalk::harness {

/// Calls entries without a look at the process, as EntryWatch calls them with one.
struct OnThread {
  template <class R, class... A>
  R enter(Entry which, R (*entry)(A...), std::type_identity_t<A>... arguments) {
    return enter_on_thread(which, entry, arguments...);
  }
};

class KernelState {
 public:
  void* address() const { return state_; }

  /// Apply gets another rope_problem. That of prepare is overwritten and stays so, which exposes a
  /// kernel that kept its address. Throws StepFailed.
  template <class Watch>
  void prepare(Watch&& watch, const rope_kernel& kernel, const GrownProblem& given) {
    if (kernel.prepare == nullptr) return;
    problem_.show(given);
    const std::int32_t answer = watch.enter(Entry::prepare, kernel.prepare, problem_.at(), &state_);
    if (answer == ROPE_OK) release_ = kernel.release;  // whatever else it did
    const std::string written = problem_.written(given);
    problem_.fill();
    if (!written.empty()) entry_failed(Entry::prepare, written);
    hold_answer(Entry::prepare, answer);
  }

  /// The same, pure, question at two addresses. Its answer at the first call holds for all. Throws
  /// StepFailed, as skipped above 1 GiB.
  template <class Watch>
  std::size_t workspace_bytes(Watch&& watch, const rope_kernel& kernel, const rope_problem& p,
                              protocol::Growth growth = protocol::as_in_header) {
    if (kernel.workspace_bytes == nullptr) return 0;
    const ShownProblem problem(p, growth), elsewhere(p, growth);
    const std::size_t answer =
        watch.enter(Entry::workspace_bytes, kernel.workspace_bytes, problem.shown());
    const std::size_t again =
        enter_on_thread(Entry::workspace_bytes, kernel.workspace_bytes, elsewhere.shown());
    for (const ShownProblem& shown : {problem, elsewhere}) shown.hold(Entry::workspace_bytes);
    const std::size_t first = workspace_bytes_.value_or(answer);
    workspace_bytes_ = first;
    if (answer != first || again != first)
      entry_failed(Entry::workspace_bytes, "answered " + std::to_string(first) +
                                               " and later, for an equal problem, " +
                                               std::to_string(answer != first ? answer : again));
    if (answer > largest_workspace_bytes)
      throw StepFailed{protocol::Status::skipped,
                       "workspace of " + std::to_string(answer) + " bytes is above 1 GiB"};
    return answer;
  }

  /// Throws StepFailed if an entry wrote into what prepare was shown.
  void hold(Entry which) const { problem_.hold(which); }

  /// Throws StepFailed. There is no state after this.
  template <class Watch>
  void release(Watch&& watch) {
    if (release_ == nullptr) return;
    watch.enter(Entry::release, std::exchange(release_, nullptr), state_);
  }

 private:
  void* state_ = nullptr;
  void (*release_)(void*) = nullptr;  ///< once it is prepared
  GoneProblem problem_;               ///< that prepare was shown
  std::optional<std::size_t> workspace_bytes_;
};

}  // namespace ropewalk::harness
