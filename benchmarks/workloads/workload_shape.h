// The shape of a workload: whether a kernel could have it, and its frequencies.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "benchmarks/workloads/workloads.h"

namespace ropewalk::bench {

/// A fault of a shape: the key to change, and what is wrong with it.
struct ShapeFault {
  std::string key, what;
};
/// Checks what depends on several keys: whether a kernel could have the shape.
std::optional<ShapeFault> shape_fault(const Workload& workload);

/// A name is 1 to 100 characters of a-z, 0-9, '.', '_', '/' and '-'.
bool good_workload_name(std::string_view name);

/// inv_freq of a workload, with its scaling. [rotary_dim / 2]
std::vector<double> workload_frequencies(const Workload& workload);
/// The f32 values that a kernel of ROPE_CONTRACT_F32_ANGLE gets, widened to double.
std::vector<double> workload_frequencies_f32(const Workload& workload);

/// [[workload]] tables that parse_workloads() reads as the same workloads again.
std::string to_toml(const std::vector<Workload>& workloads);

}  // namespace ropewalk::bench
