// The kernel of all composed mutants. It is correct unless a fault changes its plan. A plan is what
// the kernel has understood of one tensor of a call, so several faults can change one plan.
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include "kernels/api/kernel.h"

namespace ropewalk::mutants {

struct Plan {
  Plan(const rope_problem& problem, const rope_operands& operands, std::uint32_t index);

  const rope_problem& asked;
  rope_problem p;  ///< what is asked, as the kernel understands it
  rope_operands o;
  std::uint32_t tensor;  ///< the tensor that this plan is for
  bool backward;
  double scale;

  // ---- which rows, and at which positions
  std::int64_t tokens = std::numeric_limits<std::int64_t>::max();  ///< later ones stay unwritten
  std::int64_t least_position = std::numeric_limits<std::int64_t>::min();
  bool position_in_16_bits = false, position_in_f32 = false;
  bool equal_steps = false;         ///< positions follow from the first two of a batch row
  bool row_of_token_alone = false;  ///< table rows by token do not depend on the batch row
  std::optional<std::int64_t> first_position;  ///< of the first token of the call
  std::optional<double> first_cos;             ///< of its first pair

  // ---- what happens to a row
  std::int64_t pairs;       ///< later ones are copied
  double copied_scale = 1;  ///< of what must be copied
  bool copies_by_float = false;
  double headroom = 1;      ///< a factor on values during the computation
  bool reads_late = false;  ///< the first element of a pair, after it was written
  bool flushes = false;     ///< subnormal inputs are 0
  bool leaves_zeros = false;
  bool touches_behind = false;  ///< writes 0 behind the window
  bool shares_scratch = false;

  rope_tensor& shape() { return p.tensor[tensor]; }
  const rope_tensor& shape() const { return p.tensor[tensor]; }
};

/// Does what the plan says.
void execute(const Plan& plan);

/// The size in bytes of the workspace: a row of cos and sin for own angles.
std::size_t workspace_of(const rope_problem* p);

// ---- what the words of the table mean in a kernel

struct Fault {
  std::string_view word;
  std::string_view needs;  ///< the conditions without which it does not show, with spaces between
  std::string_view story;  ///< what the kernel does, in words
  const char* source;      ///< where an error of this class shipped; may be empty
  /// Changes a plan as a fault does. It changes nothing where the fault's conditions do not hold.
  void (*misread)(Plan&);
};

/// What a correct kernel may refuse.
struct Refusal {
  std::string_view word, story;
  std::uint32_t flags;  ///< of the kernel
  bool (*accepts)(const rope_problem&);
};

/// Whether a region holds for one tensor of a call.
using Holds = bool (*)(const rope_problem&, const rope_operands&, std::uint32_t tensor);

/// Each of these throws std::logic_error for a word without a meaning.
const Fault& fault_named(std::string_view word);
const Refusal& refusal_named(std::string_view word);
Holds holds_of(std::string_view region);

}  // namespace ropewalk::mutants
