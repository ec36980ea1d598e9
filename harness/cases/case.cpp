#include "harness/cases/case.h"

#include "base/text_file.h"
#include "harness/cases/axes.h"
#include "harness/cases/data.h"
#include "reference/frequency_rule.h"

namespace ropewalk::harness {

std::vector<Dtype> types_beside(Dtype dtype) {
  std::vector<Dtype> out(tensor_dtypes.begin(), tensor_dtypes.end());
  std::erase(out, dtype);
  return out;
}

std::vector<std::int64_t> positions_of(const Case& c) {
  if (c.position_rule == PositionRule::list) return c.positions;
  std::vector<std::int64_t> out;
  out.reserve(static_cast<std::size_t>(c.axes * c.batch * c.tokens));
  // A broadcast axis (stride 0) repeats its first value.
  const bool one_row = c.position_batch_stride == 0, one_token = c.position_token_stride == 0;
  for (std::int64_t b = 0; b < c.batch; ++b)
    for (std::int64_t t = 0; t < c.tokens; ++t) {
      const std::int64_t row = one_row ? 0 : b, token = one_token ? 0 : t;
      if (c.position_rule == PositionRule::consecutive) {
        out.push_back(c.position_from + c.position_step * token);
      } else {
        const auto span = static_cast<std::uint64_t>(c.position_to - c.position_from) + 1;
        out.push_back(c.position_from +
                      static_cast<std::int64_t>(hash(c.seed, 0x705, row, token) % span));
      }
    }
  if (c.axes > 1) add_planes(c, out);
  return out;
}

std::vector<std::int64_t> positions_of_part(const Case& c, CaseRange rows, CaseRange tokens) {
  const std::vector<std::int64_t> all = positions_of(c);
  std::vector<std::int64_t> out;
  for (std::int64_t axis = 0; axis < c.axes; ++axis)
    for (std::int64_t b = rows.first; b < rows.end; ++b)
      for (std::int64_t t = tokens.first; t < tokens.end; ++t)
        out.push_back(all[static_cast<std::size_t>((axis * c.batch + b) * c.tokens + t)]);
  return out;
}

std::vector<double> frequencies_of(const Case& c) {
  if (!c.inv_freq.empty()) return c.inv_freq;
  const FrequencyRule* rule = find_frequency_rule(c.scaling);
  if (rule == nullptr) throw BadCase("scaling '" + shown(c.scaling) + "' is unknown");
  const auto make = c.contract == ROPE_CONTRACT_F32_ANGLE ? rule_frequencies_f32 : rule_frequencies;
  return make(*rule, c.rope_theta, c.rotary_dim, c.scaling_values);
}

}  // namespace ropewalk::harness
