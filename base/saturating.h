// Product and sum of sizes >= 0. They stop at the largest int64_t instead of overflowing.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <limits>

namespace ropewalk {

inline std::int64_t saturating_product(std::initializer_list<std::int64_t> factors) {
  std::int64_t product = 1;
  for (const std::int64_t factor : factors)
    if (__builtin_mul_overflow(product, factor, &product))
      return std::numeric_limits<std::int64_t>::max();
  return product;
}
inline std::int64_t saturating_sum(std::initializer_list<std::int64_t> terms) {
  std::int64_t sum = 0;
  for (const std::int64_t term : terms)
    if (__builtin_add_overflow(sum, term, &sum)) return std::numeric_limits<std::int64_t>::max();
  return sum;
}

}  // namespace ropewalk
