#include "benchmarks/configs/model_types.h"

#include <gtest/gtest.h>

#include "base/text_file.h"

namespace ropewalk::bench {
namespace {

// Every entry of the table goes through the reader, which refuses what is not in its scheme.
TEST(ModelTypes, TheTableHolds) {
  for (const auto& [name, type] : all_model_types()) {
    EXPECT_EQ(find_model_type(name), &type);
    EXPECT_TRUE(type.part.empty() == type.part_type.empty() || !type.refused.empty()) << name;
    EXPECT_FALSE(type.axes == Axes::one && !type.sections.empty()) << name;
    for (const auto& [fact, value] : type.facts)
      EXPECT_TRUE(fact.starts_with("theta") || fact.starts_with("share") ||
                  std::holds_alternative<std::int64_t>(value))
          << name << ' ' << fact;
  }
}

std::string message_of(const std::string& text) {
  try {
    parse_model_types(text, "FILE");
  } catch (const BadFile& error) {
    return error.what();
  }
  return "accepted";
}

TEST(ModelTypes, WhatIsRefusedNamesTypeAndKey) {
  const auto of_llama = [](const std::string& line) {
    return message_of("[llama]\npairing = \"half_split\"\n" + line);
  };
  EXPECT_EQ(of_llama("theta = 10000.0"), "accepted");
  EXPECT_EQ(message_of("[llama]\n"), "FILE:1: [llama] pairing: is missing");
  EXPECT_EQ(message_of("[llama]\nrefused = \"rotates nothing\""), "accepted");
  EXPECT_EQ(parse_model_types("rotates_nothing = [\"bert\"]", "FILE").at("bert").refused,
            "rotates nothing in transformers");
  EXPECT_EQ(of_llama("thetas = 1"), "FILE:3: [llama] thetas: is unknown");
  EXPECT_EQ(of_llama("theta = \"1\""), "FILE:3: [llama] theta: must be a number");
  EXPECT_EQ(of_llama("kv_heads = \"q\""), "FILE:3: [llama] kv_heads: is none of the words for it");
  EXPECT_EQ(of_llama("latent = 1"), "FILE:3: [llama] latent: must be true or false");
  EXPECT_EQ(of_llama("layers = [1]"), "FILE:3: [llama] layers: must be a string");
  EXPECT_EQ(of_llama("names = {head = \"n_head\"}"), "FILE:3: [llama] names: 'head' is no fact");
  EXPECT_EQ(of_llama("rope = 1"), "FILE:3: [llama] rope: must be a table");
  EXPECT_EQ(of_llama("axes = \"other\""), "FILE:3: [llama] axes: is none of the words for it");
  EXPECT_EQ(of_llama("sections = [\"1\"]"), "FILE:3: [llama] sections: must be a list of numbers");
}

}  // namespace
}  // namespace ropewalk::bench
