#include <gtest/gtest.h>

#include "reference/frequencies.h"
#include "reference/frequency_rule.h"

namespace ropewalk {
namespace {

TEST(NoneRule, GivesThePlainFrequenciesInBothForms) {
  const FrequencyRule& none = *find_frequency_rule("none");
  EXPECT_EQ(rule_frequencies(none, 10000, 128, {}), inverse_frequencies(10000, 128));
  const auto f32 = rule_frequencies_f32(none, 10000, 128, {});
  EXPECT_EQ(f32, inverse_frequencies_f32(10000, 128));
  // Negative control: the f32 form is that of training code, which is not the rounded power.
  FrequencyRule rounded = none;
  rounded.inv_freq_f32 = nullptr;
  EXPECT_NE(rule_frequencies_f32(rounded, 10000, 128, {}), f32);
}

}  // namespace
}  // namespace ropewalk
