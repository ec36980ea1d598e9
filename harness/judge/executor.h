// Runs one laid-out case through the worker, twice with one prepared state. In the first placement
// every buffer ends at a forbidden page and holds poison a. In the second it begins at a forbidden
// page, with poison b, other input data, and numbers where no kernel may read. Data kept from the
// first call therefore gives wrong results in the second. Case::before puts the second call at the
// addresses of the first, or a call of another state before both.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "harness/cases/problem.h"
#include "harness/judge/asked_shapes.h"
#include "harness/judge/finding.h"
#include "harness/worker/worker.h"

namespace ropewalk::harness {

/// The outputs of one placement: the bytes of every buffer after the call. Buffers that cannot be
/// written are empty.
struct Outputs {
  int placement = 0;  ///< 0 or 1
  std::vector<std::vector<std::byte>> written;
  std::vector<std::byte>& operator[](std::size_t buffer) { return written[buffer]; }
  const std::vector<std::byte>& operator[](std::size_t buffer) const { return written[buffer]; }
  void resize(std::size_t buffers) { written.resize(buffers); }
};

/// What a kernel did to its process in all calls of a subject, besides their answers.
struct SideEffects {
  std::int64_t applies = 0, heap_calls = 0, mapped_bytes = 0;
  bool waits = false;       ///< for the device
  std::string unclean;      ///< the first thing that nothing allows, in words; empty: none
  std::uint32_t rules = 0;  ///< that it broke, as in Conduct
  Case at;                  ///< the case of that call

  void add(const SideEffects& more);
  /// True if what is unclean is a matter of contract (raises_at_strides).
  bool is_of_strides() const { return rules == protocol::at_strides; }
};

/// The kernel that is judged, its worker and the oracle.
struct Subject {
  Worker& worker;
  Oracle& oracle;
  KernelFacts facts;
  const AskedShapes* shapes = nullptr;  ///< NULL: the run says nothing about shapes
  /// Changes the outputs of every call before they are judged; NULL: they are judged as they are.
  std::function<void(const Problem&, Outputs&)> change = nullptr;
  std::shared_ptr<SideEffects> side_effects =
      std::make_shared<SideEffects>();  ///< shared by copies

  /// The same subject in another worker.
  Subject in(Worker& other) const { return {other, oracle, facts, shapes, change, side_effects}; }
};

struct Execution {
  CallResult result;
  /// of the two placements, or of the first alone; filled only if result.kind is ok
  std::vector<Outputs> outputs = std::vector<Outputs>(2);
  std::string stray_write;  ///< the first element outside the rows that changed; empty: none
  /// the first element of the rows that is still poison; empty: none
  std::string unwritten;
  std::int64_t unwritten_elements = 0;
};

Execution execute(Subject& subject, const Problem& problem);

/// Makes one call instead of two, in the first placement. `at_end` as in Call. It halves the time
/// of a large case. Data that a kernel keeps from one call to the next does not show.
Execution execute_once(Subject& subject, const Problem& problem, bool at_end);

/// One call of a kernel. execute() makes two.
struct Call {
  std::uint32_t steps;  ///< protocol::Step
  int placement = 0;    ///< which inputs, positions and poison are used
  /// true: every buffer ends at a forbidden page; false: it begins at one
  bool at_end = true;
  std::uint32_t state = 0;  ///< several states may be alive; below protocol::most_states
  /// Offset of buffer i from the first byte of its pages, in bytes. If not NULL, it replaces
  /// at_end.
  std::function<std::uint64_t(std::size_t)> lead = nullptr;
  protocol::Growth growth = protocol::as_in_header;  ///< of the structs that the kernel is shown
  std::uint64_t begins = 0;  ///< bit i: buffer i begins at a forbidden page, whatever at_end says
  /// Bytes for which buffer i has pages at least, so that buffers of other sizes lie where it does.
  std::vector<std::size_t> room = {};
};

/// Makes the call. Writes the result, stray writes and unwritten elements to `execution`, and the
/// bytes to `outputs`.
void perform(Subject& subject, const Problem& problem, const Call& call, Execution& execution,
             Outputs& outputs);

/// Makes one call of `far`: the problem with other strides in `asked` and `append`, and its table
/// by position or by token. Memory that no row, table row or position lies in is never touched.
/// `outputs` are laid out like the problem, near. The result is skipped if the machine lacks the
/// addresses. Throws BadCase if the buffers have 2^63 bytes or more.
void perform_far(Subject& subject, const Problem& problem, const Problem& far, const Call& call,
                 Execution& execution, Outputs& outputs);

/// A prepared state, and a problem that it is for.
struct PreparedState {
  const Problem* problem;
  std::uint32_t number = 0;
};

/// Lets threads, all at once, repeat a call each on prepared states of one shape, those of
/// `callers`. Each call is wanted `rounds` times; if there are several callers, time may end it
/// earlier. Pairs of callers get the inputs of one placement in memory of their own, or `shared`
/// inputs and caches: then each needs slots of its own. The result is failed if two calls differ.
/// Its `repeated` is defined at protocol::step_repeat.
CallResult perform_again(Subject& subject, const std::vector<PreparedState>& callers,
                         std::uint32_t rounds, bool shared);

/// Asks the kernel's supports, without running the kernel. A problem that has not the only shape of
/// the run is refused for the kernel.
CallResult ask_supports(Subject& subject, const Problem& problem);
/// Asks about several in turn until one is not refused. `of` is the index of the one answered, and
/// `refusals` gets what was said of those before it.
CallResult ask_supports(Subject& subject, std::span<const Problem> problems, std::size_t& of,
                        std::vector<std::string>& refusals);

/// The finding of an execution that gave no outputs or wrote outside its rows. Otherwise its kind
/// is measured, with nothing compared. Throws Killed.
Finding failure_of(const Execution& execution);

/// The bytes of a buffer before the call of this placement.
inline const std::vector<std::byte>& given(const Problem& problem, const Outputs& outputs,
                                           int buffer) {
  return given(problem, outputs.placement, buffer);
}

/// Returns a text like "q[batch 0, token 2, head 1]".
std::string place_text(std::uint32_t tensor, std::int64_t b, std::int64_t t, std::int64_t h);

}  // namespace ropewalk::harness
