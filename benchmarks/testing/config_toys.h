// A small config.json for tests, with pieces replaced, and what reading it must say.
#pragma once
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/testing/refusal.h"
#include "base/text_file.h"
#include "benchmarks/configs/model_config.h"
#include "harness/cases/names.h"

namespace ropewalk::bench {

inline bool has(const std::vector<std::string>& lines, const std::string& part) {
  return std::ranges::any_of(
      lines, [&](const std::string& line) { return line.find(part) != std::string::npos; });
}

/// "q 4x16+0 k 2x16+0, 16 by 10000, half_split, none": heads and offsets, window, base, pairing and
/// rule.
inline std::string shown(const Workload& w) {
  const harness::TensorCase &q = w.tensors[0], &k = w.tensors[1];
  return fmt::format("q {}x{}+{} k {}x{}+{}, {} by {}, {}, {}", q.heads, q.head_dim,
                     q.rotary_offset, k.heads, k.head_dim, k.rotary_offset, w.rotary_dim,
                     w.rope_theta, harness::word_of(w.pairing), w.scaling);
}
inline std::string shown(const ModelLayers& each) {
  return fmt::format("{} {}: {}", each.count, each.name, each.rotated ? shown(each.shape) : "-");
}

inline const std::string toy = R"({"model_type": "llama", "num_attention_heads": 4,
"num_key_value_heads": 2, "hidden_size": 64, "rope_theta": 10000})";

/// The toy with one piece replaced. A piece that is not there is an error of the test.
inline std::string with(const std::string& from, const std::string& to) {
  std::string text = toy;
  text.replace(text.find(from), from.size(), to);
  return text;
}
inline std::string and_also(const std::string& more) {
  return with("10000", "10000, " + more);
}

inline ModelConfig parse(const std::string& text, const ConfigAnswers& answers = {}) {
  return parse_model_config(text, "FILE", answers, "toy");
}

inline void expect_refused(const std::string& text, const std::string& start,
                           const std::string& part, const ConfigAnswers& answers = {}) {
  const std::string message = refusal_by<BadFile>([&] { parse(text, answers); });
  EXPECT_TRUE(message.starts_with(start)) << text << " -> " << message;
  EXPECT_NE(message.find(part), std::string::npos) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
}

// A type that is not known takes every spelling.
inline const ConfigAnswers halves = {.pairing = "half_split"};
inline std::string unknown_and(const std::string& more) {
  std::string text = and_also(more);
  return text.replace(text.find("llama"), 5, "lama");
}

}  // namespace ropewalk::bench
