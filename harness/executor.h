// Runs one laid-out case through the worker, twice with one prepared state: first with every buffer
// ending at a forbidden page and poison a, then beginning at one and with poison b.
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

/// The bytes of every buffer after one placement (empty for buffers that cannot be written).
using Outputs = std::vector<std::vector<std::byte>>;

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

/// "q[batch 0, token 2, head 1]"
std::string place_text(std::uint32_t tensor, std::int64_t b, std::int64_t t, std::int64_t h);

}  // namespace ropewalk
