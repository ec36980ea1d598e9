// Runs one laid-out case through the worker, twice with one prepared state: first with every buffer
// ending at a forbidden page and poison a, then beginning at one, with poison b and other input
// data, so that nothing kept from the first call can serve the second.
#pragma once
#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "harness/finding.h"
#include "harness/problem.h"
#include "harness/worker.h"

namespace ropewalk {

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

}  // namespace ropewalk
