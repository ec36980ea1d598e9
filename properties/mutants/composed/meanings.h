// What the words of the table mean in a kernel.
#pragma once
#include <string_view>

#include "properties/mutants/composed/frame.h"

namespace ropewalk::mutants {

/// Changes a plan as a fault does. It changes nothing where the fault's conditions do not hold.
using Misread = void (*)(Plan&);

/// Whether a region holds for one tensor of a call.
using Holds = bool (*)(const rope_problem&, const rope_operands&, std::uint32_t tensor);

/// Whether a correct kernel with this refusal accepts the problem.
using Accepts = bool (*)(const rope_problem&);

/// Each of these throws std::logic_error for a word without a meaning.
Misread misread_of(std::string_view fault);
Holds holds_of(std::string_view region);
Accepts accepts_of(std::string_view refusal);

}  // namespace ropewalk::mutants
