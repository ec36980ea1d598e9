#include "benchmarks/engine/ceilings.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <numeric>
#include <vector>

#include "kernels/api/cpu_features.h"

namespace ropewalk::bench {
namespace {

constexpr std::int64_t rows = 5, row_elements = 37, row_stride = 50;

template <class Real>
std::vector<Real> numbers() {
  std::vector<Real> out(static_cast<std::size_t>(rows * row_stride));
  std::iota(out.begin(), out.end(), Real(1));
  return out;
}

bool inside(std::size_t i) {
  return static_cast<std::int64_t>(i) % row_stride < row_elements;
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
void expect_updates(Dtype dtype) {
  for (const CeilingVariant& variant : update_variants(dtype)) {
    const std::vector<Real> before = numbers<Real>();
    std::vector<Real> x = before;
    variant.pass({x.data(), x.data(), rows, row_elements, row_stride});
    for (std::size_t i = 0; i < x.size(); ++i)
      ASSERT_EQ(x[i], inside(i) ? turned(before[i]) : before[i]) << variant.name << " at " << i;
    variant.pass({x.data(), x.data(), 1, rows * row_stride, rows * row_stride});
    ASSERT_EQ(x[0], before[0]) << variant.name;
    ASSERT_EQ(x.back(), turned(before.back())) << variant.name;
  }
}

template <class Real>
void expect_copies(Dtype dtype) {
  for (const CeilingVariant& variant : copy_variants(dtype)) {
    const std::vector<Real> in = numbers<Real>();
    std::vector<Real> out(in.size());
    variant.pass({in.data(), out.data(), rows, row_elements, row_stride});
    for (std::size_t i = 0; i < out.size(); ++i)
      ASSERT_EQ(out[i], inside(i) ? in[i] : Real(0)) << variant.name << " at " << i;
    variant.pass({in.data(), out.data(), rows, row_stride, row_stride});
    ASSERT_EQ(out, in) << variant.name;
  }
}

TEST(Ceilings, UpdatesTouchTheirElementsAndNoOther) {
  expect_updates<float>(Dtype::f32);
  expect_updates<double>(Dtype::f64);
  for (const Dtype dtype : {Dtype::f16, Dtype::bf16}) expect_updates<std::uint16_t>(dtype);
}

TEST(Ceilings, CopiesTouchTheirElementsAndNoOther) {
  expect_copies<float>(Dtype::f32);
  expect_copies<std::uint16_t>(Dtype::bf16);
  expect_copies<double>(Dtype::f64);
}

TEST(Ceilings, AMaskedMachineStillHasVariants) {
  mask_cpu_features("");
  EXPECT_GE(update_variants(Dtype::f32).size(), 6u);
  EXPECT_GE(copy_variants(Dtype::f32).size(), 6u);
  mask_cpu_features("all");
}

TEST(Ceilings, PicksOneOfTheVariants) {
  std::vector<float> x = numbers<float>();
  const auto variants = update_variants(Dtype::f32);
  const std::vector<CeilingSpan> spans = {{x.data(), x.data(), rows, row_elements, row_stride}};
  const CeilingVariant& best = pick_fastest(variants, spans);
  EXPECT_GE(&best, &variants.front());
  EXPECT_LE(&best, &variants.back());
}

}  // namespace
}  // namespace ropewalk::bench
