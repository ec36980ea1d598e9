#pragma once
#include <algorithm>
#include <iterator>
#include <vector>

namespace ropewalk {

/// 0 for an empty list. Of an even number of values, the mean of the two in the middle.
inline double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

}  // namespace ropewalk
