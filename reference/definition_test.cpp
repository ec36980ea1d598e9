// Tests the definition over three kinds of numbers, and against the matrix of the paper.
#include "reference/definition.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/api/types.h"
#include "reference/double_double.h"
#include "reference/frequencies.h"
#include "reference/oracle.h"
#include "reference/testing/second_derivation.h"

namespace ropewalk {
namespace {

template <class Real>
constexpr bool works_with = requires(Complex<Real> x) {
  requires std::is_same_v<decltype(conjugate(x)), Complex<Real>>;
  requires std::is_same_v<decltype(rotate(x, x)), Complex<Real>>;
  requires std::is_same_v<decltype(rotate_transpose(x, x)), Complex<Real>>;
};
static_assert(works_with<float> && works_with<double> && works_with<DoubleDouble>);

// i * i = -1 and i * conj(i) = 1 fix the direction of the rotation at compile time.
static_assert(rotate<float>({0, 1}, {0, 1}).re == -1 && rotate<float>({0, 1}, {0, 1}).im == 0);
static_assert(rotate<double>({1, 0}, {0, 1}).im == 1);
static_assert(rotate_transpose<double>({0, 1}, {0, 1}).re == 1);

template <class Real>
void turns_a_vector() {
  const Complex<Real> y = rotate<Real>({Real(3), Real(4)}, {Real(0.6), Real(0.8)});
  EXPECT_NEAR(static_cast<double>(y.re), -1.4, 1e-6);
  EXPECT_NEAR(static_cast<double>(y.im), 4.8, 1e-6);
  const Complex<Real> x = rotate_transpose<Real>(y, {Real(0.6), Real(0.8)});
  EXPECT_NEAR(static_cast<double>(x.re), 3, 1e-6);
  EXPECT_NEAR(static_cast<double>(x.im), 4, 1e-6);
}

TEST(Definition, TurnsAVectorAndBack) {
  turns_a_vector<float>();
  turns_a_vector<double>();
  turns_a_vector<DoubleDouble>();
}

/// A^T B of two row-major n x n matrices.
std::vector<double> transpose_times(const std::vector<double>& a, const std::vector<double>& b,
                                    std::size_t n) {
  std::vector<double> c(n * n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j)
      for (std::size_t k = 0; k < n; ++k) c[i * n + j] += a[k * n + i] * b[k * n + j];
  return c;
}

class DenseRotation : public testing::TestWithParam<Pairing> {};
INSTANTIATE_TEST_SUITE_P(BothPairings, DenseRotation,
                         testing::Values(Pairing::interleaved, Pairing::half_split));

// RoFormer eq. 16: the product of two such matrices depends only on the distance.
TEST_P(DenseRotation, TransposeTimesIsTheRotationByTheDistance) {
  const auto inv_freq = inverse_frequencies(10000, 16);
  for (const auto& [a, b] : {std::pair<std::int64_t, std::int64_t>{3, 10}, {17, 5}, {-40, 60}}) {
    const auto product = transpose_times(dense_rotation(inv_freq, a, GetParam()),
                                         dense_rotation(inv_freq, b, GetParam()), 16);
    const auto expected = dense_rotation(inv_freq, b - a, GetParam());
    for (std::size_t k = 0; k < product.size(); ++k)
      ASSERT_NEAR(product[k], expected[k], 4e-16) << "element " << k << ", " << a << ", " << b;
  }
}

TEST_P(DenseRotation, IsTheDefinitionPairByPairAndZeroElsewhere) {
  constexpr std::size_t dim = 12;
  const auto inv_freq = inverse_frequencies(10000, dim);
  const auto matrix = dense_rotation(inv_freq, 37, GetParam());
  EXPECT_EQ(std::ranges::count_if(matrix, [](double element) { return element != 0; }), 2 * dim);
  Oracle oracle;
  for (std::size_t i = 0; i < dim / 2; ++i) {
    const bool interleaved = GetParam() == Pairing::interleaved;
    const std::size_t first = interleaved ? 2 * i : i;
    const std::size_t second = interleaved ? 2 * i + 1 : i + dim / 2;
    const Rotation r = oracle.at(inv_freq[i], 37);
    for (const Complex<double> x : {Complex<double>{1, 0}, {0, 1}, {0.3, -1.7}}) {
      const auto y = rotate<double>(x, {static_cast<double>(r.re), static_cast<double>(r.im)});
      EXPECT_NEAR(matrix[first * dim + first] * x.re + matrix[first * dim + second] * x.im, y.re,
                  4e-16);
      EXPECT_NEAR(matrix[second * dim + first] * x.re + matrix[second * dim + second] * x.im, y.im,
                  4e-16);
    }
  }
}

TEST(SecondDerivation, RefusesAnUnknownPairing) {
  EXPECT_THROW(dense_rotation({1.0}, 1, Pairing{2}), std::invalid_argument);
}

}  // namespace
}  // namespace ropewalk
