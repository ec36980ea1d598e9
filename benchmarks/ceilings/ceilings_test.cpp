#include "benchmarks/ceilings/ceilings.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <type_traits>
#include <vector>

#include "kernels/api/cpu_features.h"

namespace ropewalk::bench {
namespace {

constexpr std::int64_t rows = 5, row_stride = 400, longest_row = 337;
// Whole lines and parts of them, in long and in short rows of each type.
constexpr std::int64_t row_lengths[] = {longest_row, 128, 64, 63, 24, 17, 8, 2, 1};

template <class Real>
std::vector<Real> numbers() {
  std::vector<Real> out(static_cast<std::size_t>(rows * row_stride));
  std::iota(out.begin(), out.end(), Real(1));
  return out;
}

bool inside(std::size_t i, std::int64_t length) {
  return static_cast<std::int64_t>(i) % row_stride < length;
}

/// With the other sign; a 16-bit element is there as its bits.
template <class Real>
Real turned(Real x) {
  if constexpr (std::is_integral_v<Real>)
    return static_cast<Real>(x ^ 0x8000);
  else
    return -x;
}

template <class Real>
CeilingSpan span_of(const std::vector<Real>& in, std::vector<Real>& out, std::uint64_t flips,
                    std::int64_t length = longest_row) {
  constexpr std::int64_t bytes = sizeof(Real);
  return {in.data(), out.data(), rows, length * bytes, row_stride * bytes, flips};
}

template <class Real>
void expect_updates(Dtype dtype) {
  for (const std::int64_t length : row_lengths)
    for (const CeilingLoop& loop : update_loops()) {
      const std::vector<Real> before = numbers<Real>();
      std::vector<Real> x = before;
      loop.pass(span_of(x, x, sign_flips(dtype), length));
      for (std::size_t i = 0; i < x.size(); ++i)
        ASSERT_EQ(x[i], inside(i, length) ? turned(before[i]) : before[i])
            << loop.name << " at " << i << " of rows of " << length;
    }
}

template <class Real>
void expect_copies() {
  for (const std::int64_t length : row_lengths)
    for (const CeilingLoop& loop : copy_loops()) {
      const std::vector<Real> in = numbers<Real>();
      std::vector<Real> out(in.size());
      loop.pass(span_of(in, out, 0, length));
      for (std::size_t i = 0; i < out.size(); ++i)
        ASSERT_EQ(out[i], inside(i, length) ? in[i] : Real(0))
            << loop.name << " at " << i << " of rows of " << length;
    }
}

TEST(Ceilings, UpdatesTouchTheirElementsAndNoOther) {
  expect_updates<float>(Dtype::f32);
  expect_updates<double>(Dtype::f64);
  for (const Dtype dtype : {Dtype::f16, Dtype::bf16}) expect_updates<std::uint16_t>(dtype);
}

TEST(Ceilings, CopiesTouchTheirElementsAndNoOther) {
  expect_copies<float>();
  expect_copies<std::uint16_t>();
  expect_copies<double>();
}

TEST(Ceilings, AMaskedMachineStillHasLoops) {
  mask_cpu_features("");
  EXPECT_GE(update_loops().size(), 2u);
  EXPECT_GE(copy_loops().size(), 3u);
  mask_cpu_features("all");
}

}  // namespace
}  // namespace ropewalk::bench
