#include "benchmarks/configs/config_answer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "base/text_file.h"

namespace ropewalk::bench {
namespace {

ModelConfig load(const std::string& name, const ConfigAnswers& answers = {}) {
  return load_model_config(ROPEWALK_SOURCE_DIR "/benchmarks/testing/configs/" + name + ".json",
                           answers);
}

bool has(const NamedTexts& facts, const std::string& name, const std::string& text) {
  return std::ranges::count(facts, std::pair(name, text)) > 0;
}

TEST(ConfigAnswer, TheFactsNameWhatIsTimed) {
  const auto facts = answer_facts(load("llama-3.1-8b"));
  for (const auto& [name, text] :
       NamedTexts{{"q", "32 heads of 128"},
                  {"k", "8 heads of 128"},
                  {"rotary_dim", "128, from element 0"},
                  {"rope_theta", "500000"},
                  {"pairing", "half_split"},
                  {"scaling",
                   "llama3: scaling_factor 8, low_freq_factor 1, high_freq_factor 4, "
                   "original_positions 8192"},
                  {"scale", "1 on cos and sin"},
                  {"context", "any; the original one has 8192 positions"},
                  {"dtype", "bf16"}})
    EXPECT_TRUE(has(facts, name, text)) << name;
  const auto latent = answer_facts(load("deepseek-v3"));
  EXPECT_TRUE(has(latent, "k", "1 head of 64"));
  EXPECT_TRUE(has(latent, "scaling",
                  "yarn: scaling_factor 40, original_positions 4096, beta_fast 32, beta_slow 1, "
                  "mscale 1, mscale_all_dim 1, truncate 1"));
  EXPECT_TRUE(has(latent, "rotary_dim", "64, from element 128 of q and 0 of k"));
  EXPECT_TRUE(has(answer_facts(load("phi-3-mini-128k", {.context = 131072})), "context",
                  "131072 positions"));
  EXPECT_TRUE(has(answer_facts(load("phi-3-mini-128k")), "context",
                  "not above the original; the original one has 4096 positions"));
  ModelConfig config = load("llama-3-8b");
  config.shape.axes = 3, config.shape.axis_of_pair = {0, 1, 2, 0};
  config.layers = {{.name = "a", .count = 3, .rotated = false, .shape = {}},
                   {.name = "b", .count = 0, .rotated = true, .shape = config.shape}};
  const auto more = answer_facts(config);
  EXPECT_TRUE(has(more, "axes", "2 pairs of t, 1 of h, 1 of w: thwt"));
  EXPECT_TRUE(has(more, "layers", "3 x a: not rotated"));
  EXPECT_TRUE(has(more, "layers",
                  "b: q 32 heads of 128, k 8 heads of 128, rotary_dim 128, rope_theta 500000, "
                  "scaling none (timed)"));
}

TEST(ConfigAnswer, EachPairHasItsWavelengthItsDivisorAndItsTurns) {
  using Row = std::vector<std::string>;
  const auto rows = pair_rows(load("llama-3.1-8b"));
  ASSERT_EQ(rows.size(), 65U);
  EXPECT_EQ(rows[1], (Row{"0", "1", "6.28319", "1", "1304", ""}));
  // 2 pi / (500000^(-70 / 128) / 8), and 8192 positions over it
  EXPECT_EQ(rows[36], (Row{"35", "9.556212353964683e-05", "65749.7", "8", "0.1246", ""}));
  ModelConfig still = load("llama-3-8b");
  still.shape.scaling = "proportional";
  still.shape.scaling_values = {0.25, 1};
  still.original_positions = 0;
  EXPECT_EQ(pair_rows(still).back(), (Row{"63", "0", "never", "-", "", ""}));
}

TEST(ConfigAnswer, TheJsonHasAllOfIt) {
  const std::string json = config_json(load("gemma-3-layers"));
  for (const char* part :
       {R"({"config":"gemma-3-layers","model_type":"gemma3_text","q_heads":8,"k_heads":4,)",
        R"("scaling":"linear","scaling_values":[8],"attention_scale":1)",
        R"({"layer":"sliding_attention","count":0,"rotated":true,"q_heads":8,)",
        R"("taken":["pairing half_split, as model_type says",)", R"("inv_freq":[0.125,)"})
    EXPECT_NE(json.find(part), std::string::npos) << part << "\n" << json;
  EXPECT_EQ(json.find('\n'), std::string::npos);
}

}  // namespace
}  // namespace ropewalk::bench
