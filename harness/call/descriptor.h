// A call as it lies in the shared memory: a problem, its nodes, and each operand with its region.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>

#include "harness/call/operands.h"
#include "harness/protocol.h"
#include "kernels/api/rope_kernel.h"

namespace ropewalk::harness::protocol {

struct OperandPlace {
  Operand role;
  std::uint32_t tensor;
  std::uint64_t bytes;  ///< from the address to the end of the last row
  Region region;
};

struct CallDescriptor {
  std::uint32_t workspace_at_end;  ///< the workspace ends at (1) or begins at (0) a forbidden page
  std::uint32_t state;             ///< which of the `most_states` states that may be alive at once
  rope_problem problem;            ///< pointers are ignored
  ProblemNodes nodes;              ///< the same
  std::uint32_t callers;  ///< step_repeat, step_supports: number of descriptors, with this one
  std::uint32_t rounds;   ///< step_repeat: calls wanted of each caller; time may end it earlier
  std::uint32_t growth;   ///< Growth of the structs that the entries are shown
  /// Choices of the case (harness/cases/fields.h).
  std::uint32_t heap_at_end, nodes_reversed, graph_first;
  std::uint32_t count;  ///< of operands; of step_supports those that the problem points to
  OperandPlace operands[most_operands];

  std::span<const OperandPlace> given() const { return {operands, std::min(count, most_operands)}; }
};
static_assert(most_questions * sizeof(CallDescriptor) <= buffers_offset - call_offset);

}  // namespace ropewalk::harness::protocol
