// Sequences of calls as a kernel's life has them: a decode loop, a prefill and then a decode, two
// states in turn. Later calls have other contents, positions, tables, sizes or layouts, at equal
// addresses or at others.
#pragma once
#include <vector>

#include "harness/cases/case.h"
#include "harness/judge/judge.h"
#include "properties/property.h"

namespace ropewalk::properties {

/// The sequences that every run makes, of 6 to 300 calls.
std::vector<harness::Case> sequence_cases(const Offer& offer);

/// A prompt with which kernels begin to use threads, 1,000 times with new contents.
harness::Case large_calls(const Offer& offer);

/// Makes a case, by its seed, the first of a process, or the first call of a sequence: a session,
/// or 8 to 40 calls.
void draw_calls(harness::Case& c, const Offer& offer);

/// Makes the calls of a sequence. The positions of a state's problem span all its calls, its table
/// has the rows that any of them needs, and each buffer has the pages of the largest. A state is
/// prepared by its first call and released by its last. Each call is held to the bound of
/// agreement, in full or, if it is large, at the tokens of RowSample.
harness::Finding check_sequence(harness::Subject& subject, const harness::Case& c);

// ---- the first calls of a process. What a kernel chooses once a process, as its code for this
// machine, it may choose by the first call, or not yet have at that call.

/// Calls of one token, in a window, scaled and backward; of many heads, with i64 positions and a
/// table by token, in place; far and in place; and scaled, backward, in place and with gaps.
std::vector<harness::Case> first_call_cases(const Offer& offer);
/// Makes a drawn case, of any form, one of these.
void make_first_of_process(harness::Case& c, const Offer& offer);

/// Makes the case's calls first in a worker of their own, and plain calls after them. All are held
/// to the bound of agreement. An error of the latter forms counts only if it is of a first call
/// alone. With a device or an interpreter only half_split f32 has such a
/// worker.
harness::Finding check_first_call(harness::Subject& subject, const harness::Case& c);

}  // namespace ropewalk::properties
