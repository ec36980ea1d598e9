// Arithmetic on sizes that reports overflow, and the limit of a case's memory.
#pragma once
#include <fmt/format.h>

#include <cstdint>
#include <utility>

#include "harness/cases/case.h"

namespace ropewalk::harness {

inline constexpr std::int64_t largest_case_bytes = std::int64_t{1} << 31;

// Each of these two computes a * b or a + b, and throws BadCase on overflow.
inline std::int64_t times(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  if (__builtin_mul_overflow(a, b, &out)) throw BadCase("the case's sizes overflow 64 bits");
  return out;
}
inline std::int64_t plus(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  if (__builtin_add_overflow(a, b, &out)) throw BadCase("the case's sizes overflow 64 bits");
  return out;
}

/// A case's stride, or where it gives none the one that follows from the sizes.
inline std::int64_t given_or(std::int64_t stride, std::int64_t derived) {
  return stride == contiguous ? derived : stride;
}

/// Throws BadCase with the formatted text unless the condition holds. The text is formatted only
/// then.
template <class... Args>
void require(bool holds, fmt::format_string<Args...> otherwise, Args&&... args) {
  if (!holds) throw BadCase(fmt::format(otherwise, std::forward<Args>(args)...));
}

}  // namespace ropewalk::harness
