// yarn: pairs that turn often within the original context keep their frequency, pairs that turn
// seldom are divided by the factor, and a ramp lies between. cos and sin get a factor.
// - yarn, as the published code has it: the ramp is linear in the index of the pair. With L
//   original positions and d = rotary_dim, it runs from the index at which a pair turns beta_fast
//   times to that at which it turns beta_slow times, d ln(L / (2 pi beta)) / (2 ln theta). With
//   truncate these are rounded outwards.
// - yarn_by_turns, as the paper has it: the ramp is linear in the turns of the pair.
// The factor on cos and sin is 0.1 ln(scaling_factor) + 1, or with mscale and mscale_all_dim
// (0.1 mscale ln(scaling_factor) + 1) / (0.1 mscale_all_dim ln(scaling_factor) + 1).
//
// Source: YaRN (arXiv:2309.00071), definitions 2 and 3 and section 3.4; its code as transformers
// has it (modeling_rope_utils.py, _compute_yarn_parameters). mscale is of DeepSeek-V2.
#include <algorithm>

#include "reference/frequency_rule.h"
#include "reference/real.h"

namespace ropewalk {
namespace {

Real clamped(const Real& share) {
  return share < 0 ? Real(0) : share > 1 ? Real(1) : share;
}

/// Keeps `kept(i)` of each frequency, and of the rest the frequency over the factor.
template <class Kept>
std::vector<double> mixed(const RuleInput& in, Kept&& kept) {
  auto out = real_frequencies(in.rope_theta, in.rotary_dim, in.rotary_dim / 2);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const Real share = kept(i, out[i]);
    out[i] = (1 - share) * out[i] / in.number("scaling_factor") + share * out[i];
  }
  return rounded(out);
}

std::vector<double> by_index(const RuleInput& in) {
  const auto index_of = [&](const char* beta) -> Real {
    const Real turns = in.number("original_positions") /
                       (2 * boost::math::constants::pi<Real>() * in.number(beta));
    return in.rotary_dim * log(turns) / (2 * log(Real(in.rope_theta)));
  };
  Real low = index_of("beta_fast"), high = index_of("beta_slow");
  if (in.number("truncate") != 0) low = floor(low), high = ceil(high);
  low = std::max(low, Real(0));
  high = std::min(high, Real(in.rotary_dim - 1));
  if (low == high) high += 0.001;  // as the code does
  return mixed(in, [&](std::size_t i, const Real&) -> Real {
    return 1 - clamped((Real(i) - low) / (high - low));
  });
}

std::vector<double> by_turns(const RuleInput& in) {
  const Real fast = in.number("beta_fast"), slow = in.number("beta_slow");
  return mixed(in, [&](std::size_t, const Real& frequency) -> Real {
    const Real turns = turns_in(in.number("original_positions"), frequency);
    return fast == slow ? Real(turns > fast ? 1 : 0) : clamped((turns - slow) / (fast - slow));
  });
}

Real grown(const RuleInput& in, double mscale) {
  return mscale * log(Real(in.number("scaling_factor"))) / 10 + 1;
}

double scale_of_paper(const RuleInput& in) {
  const double given = in.number("attention_factor");
  return given != 0 ? given : grown(in, 1).convert_to<double>();
}

double scale_of_code(const RuleInput& in) {
  const double one = in.number("mscale"), all = in.number("mscale_all_dim");
  if (in.number("attention_factor") != 0 || one == 0 || all == 0) return scale_of_paper(in);
  return Real(grown(in, one) / grown(in, all)).convert_to<double>();
}

// What a model gives or may leave out; 0 means that it gives none.
std::vector<RuleParameter> parameters(std::vector<RuleParameter> more) {
  std::vector<RuleParameter> out = {
      factor_parameter,
      original_parameter,
      {.key = "beta_fast", .config_key = "beta_fast", .least = 1e-9, .otherwise = 32},
      {.key = "beta_slow",
       .config_key = "beta_slow",
       .least = 1e-9,
       .at_most = "beta_fast",
       .otherwise = 1},
      attention_parameter};
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

const RuleParameter mscale = {
    .key = "mscale", .config_key = "mscale", .least = 0, .most = 1e3, .otherwise = 0};
const RuleParameter mscale_all_dim = {.key = "mscale_all_dim",
                                      .config_key = "mscale_all_dim",
                                      .least = 0,
                                      .most = 1e3,
                                      .otherwise = 0};
const RuleParameter truncate = {.key = "truncate",
                                .config_key = "truncate",
                                .least = 0,
                                .most = 1,
                                .count = true,
                                .otherwise = 1};

const RegisteredRule yarn({.name = "yarn",
                           .config_types = {"yarn"},
                           .parameters = parameters({mscale, mscale_all_dim, truncate}),
                           .inv_freq = by_index,
                           .attention_scale = scale_of_code,
                           .theta_above = 1});

const RegisteredRule yarn_by_turns({.name = "yarn_by_turns",
                                    .parameters = parameters({}),
                                    .inv_freq = by_turns,
                                    .attention_scale = scale_of_paper});

}  // namespace
}  // namespace ropewalk
