// yarn against its code, in positions per rad: with r the ratio of two neighbours, a pair of index
// x turns beta times in L positions where r^x = L / (2 pi beta). yarn_by_turns against the paper's
// gamma. The two shares of a frequency are joined into one factor.
#include <gtest/gtest.h>

#include <tuple>

#include "reference/testing/second_form.h"

namespace ropewalk {
namespace {

Wide within(const Wide& low, const Wide& x, const Wide& high) {
  return x > high ? high : x < low ? low : x;
}

double scale_of(const GivenToRule& given, std::string_view error) {
  const Wide growth = natural_log(given.get("scaling_factor")) / 10;
  const double one = given.get("mscale"), all = given.get("mscale_all_dim");
  const bool both = one != 0 && all != 0;
  Wide scale = both ? (one * growth + 1) / (all * growth + 1) : Wide(growth + 1);
  if (given.lists.contains("attention_factor")) scale = given.get("attention_factor");
  if (error == "scale twice") scale *= scale;
  return scale.convert_to<double>();
}

template <class Kept>
StretchedPairs mixed(const GivenToRule& given, std::string_view error, Kept&& kept_of) {
  const Wide factor = given.get("scaling_factor");
  StretchedPairs out = {{}, scale_of(given, error)};
  for (const Wide& length : radian_lengths(given)) {
    Wide kept = kept_of(length, static_cast<int>(out.inv_freq.size()));
    if (error == "inverted") kept = 1 - kept;
    out.inv_freq.push_back(
        Wide((1 + kept * (factor - 1)) / (factor * length)).convert_to<double>());
  }
  return out;
}

/// L / (2 pi beta): the positions per rad of a pair that turns beta times.
std::pair<Wide, Wide> edges(const GivenToRule& given, std::string_view error) {
  const Wide turn = given.get("original_positions") / boost::math::constants::two_pi<Wide>();
  const Wide fast = turn / given.get("beta_fast", 32), slow = turn / given.get("beta_slow", 1);
  return error == "betas swapped" ? std::pair(slow, fast) : std::pair(fast, slow);
}

StretchedPairs derived(const GivenToRule& given, std::string_view error) {
  const Wide log_ratio = natural_log(given.theta) / (given.dim / 2);
  const auto [fast, slow] = edges(given, error);
  Wide first = natural_log(fast) / log_ratio, last = natural_log(slow) / log_ratio;
  if (given.get("truncate", 1) == 1 && error != "truncate ignored")
    first = floor(first), last = ceil(last);
  if (first < 0) first = 0;
  if (last > given.dim - 1) last = given.dim - 1;
  if (first == last) last += 0.001;
  return mixed(given, error, [&](const Wide&, int index) -> Wide {
    return within(0, (last - index) / (last - first), 1);
  });
}

StretchedPairs derived_by_turns(const GivenToRule& given, std::string_view error) {
  Wide fast, slow;
  std::tie(fast, slow) = edges(given, error);
  return mixed(given, error, [&](const Wide& length, int) -> Wide {
    if (length > slow) return 0;
    return length < fast ? Wide(1) : Wide((slow / length - 1) / (slow / fast - 1));
  });
}

GivenToRule drawn(SeededDraw& seeded) {
  GivenToRule given = seeded.base();
  given.lists = {{"scaling_factor", {seeded.factor()}}, {"original_positions", {seeded.length()}}};
  const auto maybe = [&](std::string_view key, double value) {
    if (seeded.below(2) == 0) given.lists[key] = {value};
  };
  maybe("beta_fast", seeded.of({32, 64, seeded.between(4, 100)}));
  maybe("beta_slow", seeded.of({1, 2, 4, seeded.between(0.01, 4)}));
  maybe("mscale", seeded.of({1, 0.707, seeded.between(0.1, 2)}));
  maybe("mscale_all_dim", seeded.of({1, 0.707, seeded.between(0.1, 2)}));
  maybe("truncate", seeded.count_below(2));
  if (seeded.below(4) == 0) given.lists["attention_factor"] = {seeded.between(0.5, 2)};
  if (seeded.below(8) == 0) given.lists["beta_slow"] = {given.get("beta_fast", 32)};
  return given;
}

TEST(YarnRule, EqualsASecondDerivationToTheLastBit) {
  expect_equal("yarn", drawn, derived,
               {"inverted", "truncate ignored", "betas swapped", "scale twice"});
  const auto drawn_without_mscale = [](SeededDraw& seeded) {
    GivenToRule given = drawn(seeded);
    for (const char* key : {"mscale", "mscale_all_dim", "truncate"}) given.lists.erase(key);
    return given;
  };
  expect_equal("yarn_by_turns", drawn_without_mscale, derived_by_turns,
               {"inverted", "betas swapped", "scale twice"});
}

// The f32 values are of transformers 5.23.0, _compute_yarn_parameters. The exponent 2i / 2^k is
// exact; powf is off by 2 u, the product with the factor and the quotient by 1 u each: 4 u. In
// the ramp kept is off by u / 2 too, which is more of a frequency that keeps little; the largest
// distance at any pair of these models is 2.3 u. Their betas are 32 and 1.
TEST(YarnRule, HasThePublishedFrequencies) {
  // Qwen2.5 with the factor 4 of its README.
  const GivenToRule qwen = {1e6, 128, {{"scaling_factor", {4}}, {"original_positions", {32768}}}};
  EXPECT_LT(distance_in_u("yarn", qwen, {0, 3, 23, 24, 32, 39, 40, 63},
                          {1.0F, 0.52329916F, 0.006978306F, 0.0053753215F, 0.00060294115F,
                           6.490394e-05F, 4.4456985e-05F, 3.1023444e-07F}),
            4);
  EXPECT_EQ(by_rule("yarn", qwen).scale, 1.138629436111989);
  GivenToRule deepseek_v3 = {1e4, 64, {{"scaling_factor", {40}}, {"original_positions", {4096}}}};
  deepseek_v3.lists["mscale"] = deepseek_v3.lists["mscale_all_dim"] = {1};
  EXPECT_LT(distance_in_u("yarn", deepseek_v3, {0, 10, 11, 19, 22, 23, 31},
                          {1.0F, 0.05623413F, 0.039006926F, 0.0013705135F, 0.00017782794F,
                           3.3338034e-05F, 3.3338035e-06F}),
            4);
  EXPECT_EQ(by_rule("yarn", deepseek_v3).scale, 1);
  GivenToRule gpt_oss = {
      150000, 64, {{"scaling_factor", {32}}, {"original_positions", {4096}}, {"truncate", {0}}}};
  EXPECT_LT(distance_in_u("yarn", gpt_oss, {0, 8, 9, 14, 17, 18, 31},
                          {1.0F, 0.050813273F, 0.031705696F, 0.0020937927F, 0.0001293187F,
                           3.830881e-05F, 3.0235114e-07F}),
            4);
  gpt_oss.lists["truncate"] = {1};  // negative control
  EXPECT_GT(distance_in_u("yarn", gpt_oss, {9}, {0.031705696F}), 1e4);
  EXPECT_EQ(by_rule("yarn", gpt_oss).scale, 1.3465735902799727);
}

TEST(YarnRule, RefusesABaseOfOne) {
  EXPECT_EQ(refused_key("yarn", {1, 64, {{"scaling_factor", {2}}, {"original_positions", {64}}}}),
            "rope_theta");
}

}  // namespace
}  // namespace ropewalk
