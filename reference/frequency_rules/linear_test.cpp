#include <gtest/gtest.h>

#include <vector>

#include "reference/frequencies.h"
#include "reference/frequency_rule.h"

namespace ropewalk {
namespace {

// Position interpolation turns position m by the angles of position m / factor.
TEST(LinearRule, TheAngleAtAPositionIsThatOfThePositionOverTheFactor) {
  const auto plain = inverse_frequencies(500000, 128);
  const auto differing = [&](double factor) {
    const std::vector<double> values = {factor};
    const auto scaled = rule_frequencies(*find_frequency_rule("linear"), 500000, 128, values);
    EXPECT_EQ(scaled.size(), plain.size());
    int count = 0;
    for (std::size_t i = 0; i < plain.size(); ++i)
      count += 4096 * scaled[i] != 4096 / factor * plain[i] ? 1 : 0;
    return count;
  };
  for (const double factor : {1.0, 4.0, 8.0}) EXPECT_EQ(differing(factor), 0) << factor;
  // Negative control: with a factor that is not exact, the two roundings show.
  EXPECT_GT(differing(3), 0);
}

}  // namespace
}  // namespace ropewalk
