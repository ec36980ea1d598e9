// The first calls of a process. What a kernel chooses once a process, as its code for this machine,
// it may choose by the first call, or not yet have at that call.
#pragma once
#include <vector>

#include "harness/cases/case.h"
#include "harness/judge/judge.h"
#include "properties/property.h"

namespace ropewalk::properties {

/// `shift` of the cases of history whose calls are the first of a process. It is less by the bits
/// of the forms that the plain calls after them have not.
inline constexpr std::int64_t first_of_process = -101;
/// Calls of one token, in a window, scaled and backward; of many heads, with i64 positions and a
/// table by token, in place; far and in place; and scaled, backward, in place and with gaps.
std::vector<harness::Case> first_call_cases(const harness::Offer& offer);
/// Makes a drawn case, of any form, one of these.
void make_first_of_process(harness::Case& c, const harness::Offer& offer);

/// Makes the case's calls first in a worker of their own, and plain calls after them. All are held
/// to the bound of agreement. An error of the latter forms counts only if it is of a first call
/// alone. With a device or an interpreter only half_split f32 has such a
/// worker.
harness::Finding check_first_call(harness::Subject& subject, const harness::Case& c);

}  // namespace ropewalk::properties
