// The shape of a workload: whether a kernel could have it, and its frequencies.
#pragma once
#include <optional>
#include <string>
#include <string_view>

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

}  // namespace ropewalk::bench
