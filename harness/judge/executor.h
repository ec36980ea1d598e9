// Runs one laid-out case through the worker, twice with one prepared state: first with every buffer
// ending at a forbidden page and poison a, then beginning at one, with poison b and other input
// data, so that nothing kept from the first call can serve the second.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "harness/cases/problem.h"
#include "harness/judge/finding.h"
#include "harness/worker/worker.h"

namespace ropewalk::harness {

/// Who is judged, and with what.
struct Subject {
  Worker& worker;
  Oracle& oracle;
  KernelFacts facts;
};

/// One placement: the bytes of every buffer afterwards (empty for those that cannot be written).
struct Outputs {
  int placement = 0;  ///< 0 or 1
  std::vector<std::vector<std::byte>> written;
  std::vector<std::byte>& operator[](std::size_t buffer) { return written[buffer]; }
  const std::vector<std::byte>& operator[](std::size_t buffer) const { return written[buffer]; }
  void resize(std::size_t buffers) { written.resize(buffers); }
};

struct Execution {
  CallResult result;
  std::array<Outputs, 2> outputs;  ///< of the two placements; only when result.kind is ok
  std::string stray_write;         ///< an element outside the rows that changed; empty: none
  std::string unwritten;           ///< an element of the rows that still is poison; empty: none
  std::int64_t unwritten_elements = 0;
};

Execution execute(Subject& subject, const Problem& problem);

/// One call of a kernel, where execute makes two.
struct Call {
  std::uint32_t steps;      ///< protocol::Step
  int placement = 0;        ///< whose inputs, positions and poison
  bool at_end = true;       ///< every buffer ends at a forbidden page; else it begins at one
  std::uint32_t state = 0;  ///< several may be alive, below protocol::most_states
  /// Bytes that buffer i begins behind the first of its pages, in place of at_end; NULL: none.
  std::function<std::uint64_t(std::size_t)> lead = nullptr;
  protocol::FloatMode float_mode = protocol::to_nearest;  ///< in which apply is entered
};

/// Makes it. The result, stray writes and what stayed unwritten are noted in `execution`, the bytes
/// in `outputs`.
void perform(Subject& subject, const Problem& problem, const Call& call, Execution& execution,
             Outputs& outputs);

/// One call with the rows of every tensor far apart: along one axis of [batch, tokens, heads] they
/// are `stride` elements from each other, in memory that is never touched in between. `outputs` are
/// those of the problem as it was laid out, near. Skipped where there are not the addresses.
void perform_far(Subject& subject, const Problem& problem, const Call& call, int axis,
                 std::int64_t stride, Execution& execution, Outputs& outputs);

/// Lets `callers` repeat one call on a state that is prepared, each at least `rounds` times, all at
/// once if there are several; two and two with the inputs of one placement, in memory of their own,
/// or with `shared` inputs. Result: failed where two calls differ.
CallResult perform_again(Subject& subject, const Problem& problem, std::uint32_t state,
                         std::uint32_t callers, std::uint32_t rounds, bool shared);

/// What the kernel answers to supports, without running it.
CallResult ask_supports(Subject& subject, const Problem& problem);

/// The finding of an execution that gave no outputs, or wrote where it must not; kind measured with
/// nothing compared otherwise.
Finding failure_of(const Execution& execution);

/// The bytes of a buffer as a placement was given them.
inline const std::vector<std::byte>& given(const Problem& problem, const Outputs& outputs,
                                           int buffer) {
  return given(problem, outputs.placement, buffer);
}

/// "q[batch 0, token 2, head 1]"
std::string place_text(std::uint32_t tensor, std::int64_t b, std::int64_t t, std::int64_t h);

}  // namespace ropewalk::harness
