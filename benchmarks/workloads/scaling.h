// How a workload stretches its frequencies: the rules of reference/ in words.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "benchmarks/workloads/workload_shape.h"
#include "benchmarks/workloads/workloads.h"
#include "reference/frequency_rule.h"

namespace ropewalk::bench {

/// The first parameter of the workload's rule with a value that the rule cannot be given; a fault
/// of "scaling" if the rule is unknown or has another number of parameters.
std::optional<ShapeFault> scaling_fault(const harness::Case& workload);

/// Gives the workload the factor on cos and sin of its rule, if the rule can be computed.
void take_rule_scale(harness::Case& workload);

/// The keys of a rule's parameters in a workload file.
std::vector<std::string_view> keys_of(const FrequencyRule& rule);

/// The rope types of a config.json that are known, in words.
std::string known_rope_types();

}  // namespace ropewalk::bench
