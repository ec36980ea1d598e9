// What the words of the table mean in a kernel.
#pragma once
#include <cstdint>
#include <string_view>

#include "properties/mutants/composed/frame.h"

namespace ropewalk::mutants {

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
