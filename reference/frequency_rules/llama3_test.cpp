// llama3 against the published code, which speaks of wavelengths, in long double.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "reference/frequencies.h"
#include "reference/frequency_rule.h"

namespace ropewalk {
namespace {

std::vector<double> scaled(const std::vector<double>& values) {
  return rule_frequencies(*find_frequency_rule("llama3"), 500000, 128, values);
}

/// The largest relative error of Llama 3.1's frequencies, in u. `values` are what the derivation
/// is given.
double worst_error(const std::vector<double>& values) {
  const auto found = scaled({8, 1, 4, 8192});
  const long double factor = values[0], low = values[1], high = values[2], original = values[3];
  long double worst = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const long double frequency = 1 / std::pow(500000.0L, static_cast<long double>(2 * i) / 128);
    const long double wavelength = 2 * std::numbers::pi_v<long double> / frequency;
    const long double smooth = (original / wavelength - low) / (high - low);
    const long double expected = wavelength < original / high ? frequency
                                 : wavelength > original / low
                                     ? frequency / factor
                                     : (1 - smooth) * frequency / factor + smooth * frequency;
    worst = std::max(worst, std::abs(static_cast<long double>(found[i]) / expected - 1));
  }
  return static_cast<double>(worst * 0x1p53L);
}

TEST(Llama3Rule, IsThePublishedRule) {
  EXPECT_LT(worst_error({8, 1, 4, 8192}), 23);
  // Negative controls: no parameter may be off.
  EXPECT_GT(worst_error({8.001, 1, 4, 8192}), 1e6);
  EXPECT_GT(worst_error({8, 1.001, 4, 8192}), 1e6);
  EXPECT_GT(worst_error({8, 1, 4.001, 8192}), 1e6);
  EXPECT_GT(worst_error({8, 1, 4, 8191}), 1e6);
}

TEST(Llama3Rule, KeepsWhatTurnsFastAndDividesWhatTurnsSlowly) {
  const auto plain = inverse_frequencies(500000, 128), out = scaled({8, 1, 4, 8192});
  int kept = 0, divided = 0;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    kept += out[i] == plain[i] ? 1 : 0;
    divided += out[i] == plain[i] / 8 ? 1 : 0;
    EXPECT_TRUE(i == 0 || out[i] < out[i - 1]) << i;
  }
  // 500000^(-2i/128) 2048 / 2 pi >= 1 up to i = 28, 8192 / 2 pi >= 1 up to i = 34.
  EXPECT_EQ(kept, 29);
  EXPECT_EQ(divided, 29);
}

}  // namespace
}  // namespace ropewalk
