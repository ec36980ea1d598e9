// A small config.json for tests, with pieces replaced, and what reading it must say.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/text_file.h"
#include "benchmarks/configs/model_config.h"

namespace ropewalk::bench {

inline bool has(const std::vector<std::string>& lines, const std::string& part) {
  return std::ranges::any_of(
      lines, [&](const std::string& line) { return line.find(part) != std::string::npos; });
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
  try {
    parse(text, answers);
    ADD_FAILURE() << "accepted: " << text;
  } catch (const BadFile& error) {
    const std::string message = error.what();
    EXPECT_TRUE(message.starts_with(start)) << message;
    EXPECT_NE(message.find(part), std::string::npos) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
}

// A type that is not known takes every spelling.
inline const ConfigAnswers halves = {.pairing = "half_split"};
inline std::string unknown_and(const std::string& more) {
  std::string text = and_also(more);
  return text.replace(text.find("llama"), 5, "lama");
}

}  // namespace ropewalk::bench
