// The steps that shrinking takes (properties/explain/shrink.cpp): cases that are simpler in one
// way, or in many at once. A step may give an invalid case.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "harness/cases/case.h"

namespace ropewalk::properties {

std::int64_t largest_position(const harness::Case& c);
/// In which manners rows of an input share elements, as bits; 0: none do.
unsigned shared_rows(const harness::Case& c);

/// True for the fields of a case that no step gives its plain value: what the case is about, and
/// sizes and positions, which have steps of their own.
bool stays_in_steps(std::string_view word);

void drop_values(harness::Case& c);
/// Batch rows [row, row + rows) and tokens [token, token + tokens) of a case.
harness::Case part_of(const harness::Case& c, std::int64_t row, std::int64_t rows,
                      std::int64_t token, std::int64_t tokens);
harness::Case with_heads(harness::Case c, std::int64_t heads);
harness::Case with_pairs(const harness::Case& c, std::int64_t pairs);
harness::Case with_listed_positions(harness::Case c);
std::vector<harness::Case> basis_vectors(const harness::Case& c);

/// All positions nearer to 0 by as much. A nearer one becomes 0.
harness::Case nearer_to_zero(harness::Case c, std::int64_t by);
/// Sequences without `count` calls from call `at` on; and cases with a word less, or sequences with
/// a call that differs in one field less from the call before.
harness::Case without_calls(const harness::Case& c, std::size_t at, std::size_t count);
std::vector<harness::Case> with_fewer_words(const harness::Case& c);

/// The case with its slots written out, which stay where tokens are left out.
std::vector<harness::Case> with_listed_slots(const harness::Case& c);

using CaseSource = std::vector<harness::Case> (*)(const harness::Case&);
/// The sources of steps, big steps first.
std::vector<CaseSource> step_sources();
/// The steps of a source, each taken in every call of the sequence.
std::vector<harness::Case> in_every_call(CaseSource source, const harness::Case& c);

}  // namespace ropewalk::properties
