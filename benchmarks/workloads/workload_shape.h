// The shape of a workload: whether a kernel could have it, and how it stretches its frequencies.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "benchmarks/workloads/workloads.h"
#include "reference/frequency_rule.h"

namespace ropewalk::bench {

/// A fault of a shape: the key to change, and what is wrong with it.
struct ShapeFault {
  std::string key, what;
};
/// Checks what depends on several keys: whether a kernel could have the shape.
std::optional<ShapeFault> shape_fault(const Workload& workload);

/// A name is 1 to 100 characters of a-z, 0-9, '.', '_', '/' and '-'.
bool good_workload_name(std::string_view name);

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
