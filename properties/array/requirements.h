// What levels of factors require of each other.
#pragma once
#include <vector>

#include "harness/cases/case.h"
#include "properties/array/generator.h"

namespace ropewalk::properties {

/// All rules for a data type and a contract, beside those that a kernel's refusals add. They live
/// as long as the process.
const std::vector<Rule>& rules_of(Dtype dtype, std::int32_t contract);
/// The same as tables, over all levels.
const RuleTables& rule_tables(Dtype dtype, std::int32_t contract);

/// True if the levels meet all of them.
bool are_possible(const Levels& levels, const harness::Case& base);

}  // namespace ropewalk::properties
