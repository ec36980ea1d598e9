#include "benchmarks/configs/config_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <numbers>

#include "base/text.h"
#include "benchmarks/configs/frequency_difference.h"
#include "benchmarks/workloads/workload_layout.h"
#include "harness/cases/names.h"
#include "reference/frequencies.h"
#include "reference/frequency_rule.h"

namespace ropewalk::bench {
namespace {

std::string heads_of(const harness::TensorCase& t) {
  return fmt::format("{} head{} of {}", t.heads, t.heads == 1 ? "" : "s", t.head_dim);
}

// "llama3: scaling_factor 8, low_freq_factor 1". Of a list its two ends; without what is not given.
std::string scaling_of(const Workload& w) {
  const FrequencyRule& rule = *find_frequency_rule(w.scaling);
  const RuleInput in{rule, w.rope_theta, w.rotary_dim, w.scaling_values};
  std::vector<std::string> parts;
  for (const RuleParameter& p : rule.parameters) {
    const auto values = in.list(p.key);
    if (p.otherwise == 0.0 && values.front() == 0) continue;
    parts.push_back(p.list ? fmt::format("{} {} .. {}", p.key, values.front(), values.back())
                           : fmt::format("{} {}", p.key, values.front()));
  }
  return parts.empty() ? w.scaling : fmt::format("{}: {}", w.scaling, fmt::join(parts, ", "));
}

std::string context_of(const ModelConfig& config) {
  if (config.context > 0) return fmt::format("{} positions", config.context);
  const auto& parameters = find_frequency_rule(config.shape.scaling)->parameters;
  const bool counts =
      std::ranges::any_of(parameters, [](const RuleParameter& p) { return p.key == "context"; });
  const std::int64_t original = config.original_positions;
  return fmt::format(
      "{}; the original one {}", counts ? "not above the original" : "any",
      original == 0 ? "is not in the file" : fmt::format("has {} positions", original));
}

/// Time, row and column; two axes are those of a picture.
char axis_letter(const Workload& w, std::uint8_t axis) {
  return "thw"[axis + (w.axes == 2 ? 1 : 0)];
}

std::string axes_of(const Workload& w) {
  std::string letters;
  for (const std::uint8_t axis : w.axis_of_pair) letters += axis_letter(w, axis);
  const auto count = [&](char letter) { return std::ranges::count(letters, letter); };
  return fmt::format("{} pairs of t, {} of h, {} of w: {}", count('t'), count('h'), count('w'),
                     letters);
}

std::string layer_line(const ModelLayers& layers, const Workload& timed) {
  std::string out =
      layers.count > 0 ? fmt::format("{} x {}", layers.count, layers.name) : layers.name;
  if (!layers.rotated) return out + ": not rotated";
  const Workload& w = layers.shape;
  out +=
      fmt::format(": q {}, k {}, rotary_dim {}, rope_theta {}, scaling {}", heads_of(w.tensors[0]),
                  heads_of(w.tensors[1]), w.rotary_dim, w.rope_theta, w.scaling);
  const bool same = w.tensors == timed.tensors && w.rotary_dim == timed.rotary_dim &&
                    w.rope_theta == timed.rope_theta && w.scaling == timed.scaling &&
                    w.scaling_values == timed.scaling_values;
  return out + (same ? " (timed)" : "");
}

std::string json_list(const std::vector<std::string>& lines) {
  std::vector<std::string> out;
  for (const std::string& line : lines) out.push_back(json_text(line));
  return fmt::format("[{}]", fmt::join(out, ","));
}

// The members that each kind of layers has of its own.
std::string shape_json(const Workload& w) {
  const harness::TensorCase &q = w.tensors[0], &k = w.tensors[1];
  return fmt::format(
      R"("q_heads":{},"k_heads":{},"head_dim":{},"k_head_dim":{},"rotary_dim":{},"q_offset":{},)"
      R"("k_offset":{},"rope_theta":{},"pairing":"{}","scaling":"{}","scaling_values":[{}],)"
      R"("attention_scale":{},"dtype":"{}","inv_freq":[{}],"f32_rounding":[{}])",
      q.heads, k.heads, q.head_dim, k.head_dim, w.rotary_dim, q.rotary_offset, k.rotary_offset,
      w.rope_theta, harness::word_of(w.pairing), w.scaling, fmt::join(w.scaling_values, ","),
      harness::scale_of(w), data_type(w.dtype).word, fmt::join(inv_freq_of(w, false), ","),
      fmt::join(f32_rounding(w), ","));
}

}  // namespace

NamedTexts shape_facts(const ModelConfig& config) {
  const Workload& w = config.shape;
  const harness::TensorCase &q = w.tensors[0], &k = w.tensors[1];
  return {{"q", heads_of(q)},
          {"k", heads_of(k)},
          {"rotary_dim", fmt::format("{}, from element {}{}", w.rotary_dim, q.rotary_offset,
                                     k.rotary_offset == q.rotary_offset
                                         ? ""
                                         : fmt::format(" of q and {} of k", k.rotary_offset))},
          {"rope_theta", fmt::format("{}", w.rope_theta)},
          {"pairing", std::string(harness::word_of(w.pairing))},
          {"scaling", scaling_of(w)},
          {"scale", fmt::format("{} on cos and sin", harness::scale_of(w))},
          {"context", context_of(config)},
          {"dtype", std::string(data_type(w.dtype).word)}};
}

NamedTexts answer_facts(const ModelConfig& config) {
  NamedTexts out = shape_facts(config);
  if (config.shape.axes > 1) out.emplace_back("axes", axes_of(config.shape));
  for (const ModelLayers& layers : config.layers)
    out.emplace_back("layers", layer_line(layers, config.shape));
  return out;
}

std::vector<std::vector<std::string>> pair_rows(const ModelConfig& config) {
  const Workload& w = config.shape;
  const auto found = inv_freq_of(w, false), plain = inverse_frequencies(w.rope_theta, w.rotary_dim);
  const auto original = static_cast<double>(config.original_positions);
  std::vector<std::vector<std::string>> out = {
      {"pair", "inv_freq", "wavelength", "divided by",
       original > 0 ? fmt::format("turns in {}", original) : "", w.axes == 1 ? "" : "axis"}};
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double turn = 2 * std::numbers::pi;
    out.push_back({fmt::format("{}", i), fmt::format("{}", found[i]),
                   found[i] > 0 ? fmt::format("{:.6g}", turn / found[i]) : "never",
                   found[i] > 0 ? fmt::format("{:.6g}", plain[i] / found[i]) : "-",
                   original > 0 ? fmt::format("{:.4g}", original * found[i] / turn) : "",
                   w.axes == 1 ? "" : std::string(1, axis_letter(w, w.axis_of_pair[i]))});
  }
  return out;
}

std::string config_json(const ModelConfig& config) {
  std::string out =
      fmt::format(R"({{"config":{},"model_type":{},{},"context":{},)"
                  R"("original_positions":{})",
                  json_text(config.shape.name), json_text(config.model_type),
                  shape_json(config.shape), config.context, config.original_positions);
  if (config.shape.axes > 1)
    out += fmt::format(R"(,"axes":[{}])", fmt::join(config.shape.axis_of_pair, ","));
  std::vector<std::string> layers;
  for (const ModelLayers& each : config.layers)
    layers.push_back(fmt::format(
        R"({{"layer":{},"count":{},"rotated":{}{}{}}})", json_text(each.name), each.count,
        each.rotated, each.rotated ? "," : "", each.rotated ? shape_json(each.shape) : ""));
  if (!layers.empty()) out += fmt::format(R"(,"layers":[{}])", fmt::join(layers, ","));
  return out + fmt::format(R"(,"read":{},"taken":{},"not_timed":{},"ignored":{}}})",
                           json_list(config.read), json_list(config.assumed),
                           json_list(config.not_timed), json_list(config.ignored));
}

}  // namespace ropewalk::bench
