#include "benchmarks/workloads/workload_shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "benchmarks/workloads/traffic.h"

namespace ropewalk::bench {
namespace {

std::optional<ShapeFault> window_fault(const Workload& w) {
  if (w.rotary_dim < 2 || w.rotary_dim % 2 != 0)
    return ShapeFault{"rotary_dim",
                      fmt::format("rotary_dim is {}; it must be even, at least 2", w.rotary_dim)};
  for (const bool k : {false, true}) {
    const harness::TensorCase& t = w.tensors[k ? 1 : 0];
    const bool own_size = k && t.head_dim != w.tensors[0].head_dim;
    if (w.rotary_dim > t.head_dim)
      return ShapeFault{"rotary_dim",
                        fmt::format("rotary_dim {} exceeds {} {}", w.rotary_dim,
                                    own_size ? "k_head_dim" : "head_dim", t.head_dim)};
    if (t.rotary_offset > t.head_dim - w.rotary_dim)
      return ShapeFault{k ? "k_rotary_offset" : "q_rotary_offset",
                        fmt::format("the window [{0}, {0} + {1}) is not inside a head of {2}",
                                    t.rotary_offset, w.rotary_dim, t.head_dim)};
  }
  return std::nullopt;
}

// In place, call after call, the data would take the length of each rounded row of the table.
std::optional<ShapeFault> table_fault(const Workload& w) {
  const Dtype table = harness::table_dtype(w), computed = data_type(w.dtype).computed_in;
  if (!is_in_place(w) || data_type(table).bytes >= data_type(computed).bytes) return std::nullopt;
  return ShapeFault{"table_dtype",
                    fmt::format("a table of {} needs out of place", data_type(table).word)};
}

std::optional<ShapeFault> scale_fault(const Workload& w) {
  const double scale = w.attention_scale;
  if (scale == 0) return std::nullopt;
  if (!std::isfinite(scale) || std::abs(scale) < 1e-6 || std::abs(scale) > 1e6)
    return ShapeFault{"attention_scale",
                      fmt::format("the scale is {}; its size must be 1e-6 to 1e6", scale)};
  if (is_in_place(w) && std::abs(scale) != 1)
    return ShapeFault{
        "attention_scale",
        fmt::format("the scale {} needs out of place: in place, call after call would "
                    "multiply the data",
                    scale)};
  return std::nullopt;
}

}  // namespace

bool good_workload_name(std::string_view name) {
  return !name.empty() && name.size() <= 100 &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789._/-") ==
             std::string_view::npos;
}

std::optional<ShapeFault> shape_fault(const Workload& w) {
  const harness::TensorCase &q = w.tensors[0], &k = w.tensors[1];
  if (std::min({q.heads, k.heads, q.head_dim, k.head_dim, w.batch, w.tokens}) < 1 ||
      std::min(q.rotary_offset, k.rotary_offset) < 0)
    return ShapeFault{"q_heads", "a size is below 1 or an offset below 0"};
  if (!is_floating(in_contract(w.dtype)) || !is_floating(in_contract(harness::table_dtype(w))) ||
      (w.position_dtype != Dtype::i32 && w.position_dtype != Dtype::i64))
    return ShapeFault{"dtype", "a data type cannot be timed"};
  if (auto fault = window_fault(w)) return fault;
  const std::int64_t pairs = w.axes > 1 ? w.rotary_dim / 2 : 0;
  if (std::ssize(w.axis_of_pair) != pairs)
    return ShapeFault{"axes", fmt::format("axes has {} pairs, but {} are rotated",
                                          w.axis_of_pair.size(), w.rotary_dim / 2)};
  if (!std::isfinite(w.rope_theta) || w.rope_theta < 1)
    return ShapeFault{"rope_theta", fmt::format("rope_theta is {}; it must be finite and at least "
                                                "1",
                                                w.rope_theta)};
  if (auto fault = scaling_fault(w)) return fault;
  if (auto fault = scale_fault(w)) return fault;
  if (auto fault = table_fault(w)) return fault;
  if (is_fusing(w) && is_in_place(w))
    return ShapeFault{"placement", "a norm and an append need out of place"};
  if (w.page_size < 1 || w.page_size > 4096)
    return ShapeFault{"page_size",
                      fmt::format("page_size is {}; it must be 1 to 4096", w.page_size)};
  if (max_position_of(w) >= std::int64_t{1} << 31)
    return ShapeFault{"tokens", fmt::format("tokens is {}; positions end at 2^31 - 1", w.tokens)};
  if (w.cold && saturating_product({w.batch, w.tokens}) > cold_position_count)
    return ShapeFault{"positions", fmt::format("cold positions are for at most {} tokens a call",
                                               cold_position_count)};
  const std::int64_t bytes = allocated_bytes(w);
  if (bytes == std::numeric_limits<std::int64_t>::max())
    return ShapeFault{"batch", "the product of its sizes overflows 64 bits"};
  if (bytes > workload_bytes_max)
    return ShapeFault{"batch", fmt::format("it needs {} bytes; at most {} (64 GiB) are allowed",
                                           bytes, workload_bytes_max)};
  return std::nullopt;
}

std::optional<ShapeFault> scaling_fault(const harness::Case& w) {
  const FrequencyRule* rule = find_frequency_rule(w.scaling);
  if (rule == nullptr)
    return ShapeFault{"scaling", fmt::format("scaling {} is unknown", shown(w.scaling))};
  const auto fault = rule_fault(*rule, w.rope_theta, w.rotary_dim, w.scaling_values);
  if (!fault) return std::nullopt;
  return ShapeFault{fault->key == "scaling_values" ? "scaling" : fault->key, fault->what};
}

void take_rule_scale(harness::Case& w) {
  if (scaling_fault(w)) return;
  const double scale =
      rule_scale(*find_frequency_rule(w.scaling), w.rope_theta, w.rotary_dim, w.scaling_values);
  if (scale != 1) w.attention_scale = scale;
}

std::vector<std::string_view> keys_of(const FrequencyRule& rule) {
  std::vector<std::string_view> out;
  for (const RuleParameter& parameter : rule.parameters) out.push_back(parameter.key);
  return out;
}

std::string known_rope_types() {
  std::vector<std::string_view> types;
  for (const FrequencyRule* rule : all_frequency_rules())
    types.insert(types.end(), rule->config_types.begin(), rule->config_types.end());
  std::ranges::sort(types);
  return fmt::format("{}", fmt::join(types, ", "));
}

}  // namespace ropewalk::bench
