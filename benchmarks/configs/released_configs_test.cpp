// Compares the configs of released models with what the models' own code makes of them.
// testing/released_configs.json has the shapes and rope fields of each model and their source.
// "expected" comes from the modules of transformers 5.23, computed in f64 in place of f32. For a
// type that transformers lacks it comes from the code that the model was published with.
#include <gtest/gtest.h>

#include <cmath>
#include <exception>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/text_file.h"
#include "benchmarks/configs/model_config.h"

namespace ropewalk::bench {
namespace {

using nlohmann::json;

const json& released() {
  static const json models =
      json::parse(read_text_file(ROPEWALK_SOURCE_DIR "/benchmarks/testing/released_configs.json"));
  return models;
}

template <class T>
std::optional<T> number_of(const json& answers, const char* key) {
  return answers.contains(key) ? std::optional<T>(answers[key].get<T>()) : std::nullopt;
}

/// Throws BadFile as parse_model_config does.
ModelConfig read(const std::string& name, const json& config, const json& expected) {
  const json answers = expected.value("answers", json::object());
  return parse_model_config(config.dump(), name,
                            {.pairing = answers.value("pairing", ""),
                             .theta = number_of<double>(answers, "theta"),
                             .heads = number_of<std::int64_t>(answers, "heads"),
                             .kv_heads = number_of<std::int64_t>(answers, "kv_heads"),
                             .context = number_of<std::int64_t>(answers, "context"),
                             .layer = answers.value("layer", "")},
                            name);
}

// Both sides compute in f64, u = 2^-53, with theta at most 1e9 and factors at most 64. An exponent
// that is off by u moves its power by ln(theta) u, at most 21 u. The power, the quotient and the
// operations of a rule add at most 10 u. A ramp between a frequency and its `factor`-th part
// magnifies the error of its weight at most `factor` times. Together: 64 * 31 u = 2.3e-13.
constexpr double relative_error_max = 1e-12;
// The sum of at most 256 logarithms, each with such an error. The sum stays below 1000, so its 256
// roundings add at most 256 * 1000 u = 2.9e-11.
constexpr double log_sum_error_max = 1e-10;

bool near(double value, double wanted) {
  return std::abs(value - wanted) <= relative_error_max * std::abs(wanted);
}

/// The pairs that are listed: the first two, the middle one and the last two. All others are in the
/// sum of the logarithms, except those that do not turn.
bool same_frequencies(const std::vector<double>& inv_freq, const json& expected) {
  const std::size_t n = inv_freq.size();
  const std::size_t pairs[] = {0, 1, n / 2, n - 2, n - 1};
  for (std::size_t i = 0; i < std::size(pairs); ++i)
    if (!near(inv_freq[pairs[i]], expected["inv_freq"][i])) return false;
  double log_sum = 0;
  for (const double frequency : inv_freq)
    if (frequency != 0) log_sum += std::log(frequency);
  return std::abs(log_sum - expected["log_sum"].get<double>()) <= log_sum_error_max;
}

/// The facts that differ from what is expected, each followed by a space.
std::string differences(const ModelConfig& config, const json& expected) {
  const Workload& w = config.shape;
  const harness::TensorCase &q = w.tensors[0], &k = w.tensors[1];
  std::string axes, out;
  for (const std::uint8_t axis : config.shape.axis_of_pair) axes += std::to_string(axis);
  const auto pairing = w.pairing == Pairing::half_split ? "half_split" : "interleaved";
  const auto check = [&](const char* fact, bool same) {
    if (!same) out += std::string(fact) + " ";
  };
  check("q_heads", q.heads == expected["q_heads"]);
  check("k_heads", k.heads == expected["k_heads"]);
  check("head_dim", q.head_dim == expected["head_dim"]);
  check("k_head_dim", k.head_dim == expected["k_head_dim"]);
  check("q_offset", q.rotary_offset == expected["q_offset"] && k.rotary_offset == 0);
  check("rotary_dim", w.rotary_dim == expected["rotary_dim"]);
  check("rope_theta", w.rope_theta == expected["rope_theta"]);
  check("pairing", expected["pairing"].get<std::string>() == pairing);
  check("scaling", w.scaling == expected["scaling"].get<std::string>());
  check("attention_scale", near(harness::scale_of(w), expected["attention_scale"]));
  check("axes", axes == expected.value("axes", ""));
  check("inv_freq", same_frequencies(harness::frequencies_of(w), expected));
  return out;
}

/// The same of a model, or what reading its config throws.
std::string outcome(const std::string& name, const json& config, const json& expected) {
  try {
    return differences(read(name, config, expected), expected);
  } catch (const std::exception& error) {
    return error.what();
  }
}

TEST(ReleasedConfigs, AreReadAsTheModelsReadThem) {
  ASSERT_GE(released().size(), 50u);
  for (const auto& [name, model] : released().items())
    for (const json& expected : model["expected"]) {
      const std::string found = outcome(name, model["config"], expected);
      const std::string from = "\n" + expected.dump() + "\n" + model["source"].get<std::string>();
      if (expected.contains("refused"))
        EXPECT_NE(found.find(expected["refused"]), std::string::npos) << name << found << from;
      else
        EXPECT_EQ(found, "") << name << from;
    }
}

TEST(ReleasedConfigs, AChangedNumberIsFound) {
  const struct {
    const char *model, *field, *value, *found;
  } changes[] = {
      {"llama-3.1-8b", "/num_key_value_heads", "16", "k_heads "},
      {"llama-3.1-8b", "/rope_scaling/factor", "8.001", "inv_freq "},
      {"gpt-oss-20b", "/rope_scaling/truncate", "true", "inv_freq "},
      {"devstral-2-123b", "/rope_parameters/mscale_all_dim", "1.0", "attention_scale "},
      {"phi-3-mini-128k", "/rope_scaling/short_factor/20", "1.6", "inv_freq "},
      {"deepseek-v3", "/qk_nope_head_dim", "64", "head_dim q_offset "},
      {"qwen3-vl-32b", "/text_config/rope_scaling/mrope_section", "[24, 24, 16]", "axes "},
  };
  for (const auto& [model, field, value, found] : changes) {
    json config = released()[model]["config"];
    config.at(json::json_pointer(field)) = json::parse(value);
    EXPECT_EQ(outcome(model, config, released()[model]["expected"][0]), found) << model << field;
  }
}

}  // namespace
}  // namespace ropewalk::bench
