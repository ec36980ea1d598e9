#include "benchmarks/configs/model_config.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "base/text_file.h"
#include "benchmarks/testing/config_toys.h"
#include "benchmarks/testing/toys.h"
#include "benchmarks/workloads/workload_shape.h"

namespace ropewalk::bench {
namespace {

namespace fs = std::filesystem;

const fs::path configs = ROPEWALK_SOURCE_DIR "/benchmarks/testing/configs";

ModelConfig load(const std::string& name) {
  return load_model_config(configs / (name + ".json"), {});
}

// Compares each config with workloads.toml, which was written by hand from the same configurations.
TEST(ModelConfig, AgreesWithTheBuiltInModels) {
  const auto built_in = load_default_workloads();
  for (const char* name : {"llama-3-8b", "qwen2.5-7b", "mistral-7b", "phi-2", "gpt-neox-20b",
                           "gpt-j-6b", "gemma-2-9b", "deepseek-v3"}) {
    Workload w = load(name).shape;
    const auto same = std::find_if(built_in.begin(), built_in.end(), [&](const Workload& other) {
      return other.name == std::string(name) + "/decode-1";
    });
    ASSERT_NE(same, built_in.end()) << name;
    EXPECT_EQ(w.name, name);
    w.scaling = same->scaling;  // DeepSeek-V3 is timed without its rule
    EXPECT_EQ(shown(w), shown(*same));
  }
}

TEST(ModelConfig, TheTypeOfTheData) {
  EXPECT_EQ(load("llama-3-8b").shape.dtype, Dtype::bf16);
  EXPECT_TRUE(has(load("llama-3-8b").read, "torch_dtype = 'bfloat16'"));
  EXPECT_EQ(load("gpt-j-6b").shape.dtype, Dtype::f32);
  EXPECT_TRUE(has(load("gpt-j-6b").assumed, "data of f32"));
  const auto with = [](const std::string& members) {
    return parse("{" + members + ", \"text_config\": " + toy + "}");
  };
  EXPECT_EQ(with(R"("dtype": "float16")").shape.dtype, Dtype::f16);
  EXPECT_EQ(with(R"("torch_dtype": "float64")").shape.dtype, Dtype::f64);
  for (const char* odd : {R"("dtype": "float8_e4m3fn")", R"("dtype": {"": "bfloat16"})"}) {
    EXPECT_EQ(with(odd).shape.dtype, Dtype::f32);
    EXPECT_TRUE(has(with(odd).not_timed, "timed in f32"));
  }
}

TEST(ModelConfig, TheFactorListsAreThoseOfTheContext) {
  const ModelConfig config = load("phi-3-mini-128k");
  EXPECT_EQ(config.shape.scaling, "longrope");
  EXPECT_EQ(config.original_positions, 4096);
  EXPECT_DOUBLE_EQ(config.shape.attention_scale, std::sqrt(1 + std::log(32.0) / std::log(4096.0)));
  EXPECT_TRUE(has(config.assumed, "a context within the original 4096 positions"));
  EXPECT_TRUE(has(config.assumed, "factor 32, the ratio of the contexts"));
  const ModelConfig beyond =
      load_model_config(configs / "phi-3-mini-128k.json", {.context = 131072});
  EXPECT_EQ(beyond.context, 131072);
  EXPECT_NE(harness::frequencies_of(beyond.shape), harness::frequencies_of(config.shape));
}

TEST(ModelConfig, TheTextPartOfAMultimodalModel) {
  const ModelConfig config = load("llama-3.2-11b-vision");
  EXPECT_TRUE(has_heads(config.shape.tensors[1], 8, 128, 0));
  EXPECT_EQ(config.shape.pairing, Pairing::half_split);
  EXPECT_TRUE(has(config.read, "text_config.num_attention_heads = 32"));
  EXPECT_FALSE(has(config.ignored, "vision_config"));
}

TEST(ModelConfig, SaysWhatWasReadAndWhatWasNot) {
  const ModelConfig config = load("deepseek-v3");
  EXPECT_TRUE(has(config.read, "qk_rope_head_dim = 64"));
  EXPECT_TRUE(has(config.read, "rope_scaling.factor = 40"));
  EXPECT_TRUE(has(config.ignored, "num_key_value_heads = 128"));
  EXPECT_FALSE(has(config.ignored, "q_lora_rank"));
  EXPECT_TRUE(has(config.assumed, "interleaved"));
  EXPECT_TRUE(has(load("gpt-j-6b").assumed, "rope_theta 10000"));
}

TEST(ModelConfig, ThePairingIsNeverGuessed) {
  const std::string lama = with("llama", "lama");
  EXPECT_EQ(parse(toy).shape.pairing, Pairing::half_split);
  expect_refused(lama, "FILE: model_type: 'lama'", "--pairing");
  expect_refused(with("\"model_type\": \"llama\", ", ""), "FILE: model_type: ", "--pairing");
  EXPECT_EQ(parse(lama, {.pairing = "interleaved"}).shape.pairing, Pairing::interleaved);
  EXPECT_EQ(parse(lama, {.pairing = "half_split"}).shape.pairing, Pairing::half_split);
  const ModelConfig other = parse(toy, {.pairing = "interleaved"});
  EXPECT_EQ(other.shape.pairing, Pairing::interleaved);
  EXPECT_TRUE(has(other.assumed, "the file says otherwise"));
  const std::string flag = with("\"llama\"", "\"lama\", \"rope_interleave\": true");
  EXPECT_EQ(parse(flag).shape.pairing, Pairing::interleaved);
}

TEST(ModelConfig, KeysOfTheWrongKind) {
  expect_refused("{}", "FILE: model_type: ", "is missing");
  expect_refused("[]", "FILE: ", "not a JSON object");
  expect_refused(with("4,", "\"4\","), "FILE: num_attention_heads: is '4'", "integer from 1");
  expect_refused(with("4,", "4.5,"), "FILE: num_attention_heads: is 4.5", "integer from 1");
  expect_refused(with("4,", "0,"), "FILE: num_attention_heads: is 0", "integer from 1");
  expect_refused(with("4,", "-4,"), "FILE: num_attention_heads: is -4", "integer from 1");
  expect_refused(with("4,", "[4],"), "FILE: num_attention_heads: is a list", "integer from 1");
  expect_refused(with("4,", "1048577,"), "FILE: num_attention_heads: ", "to 1048576");
  expect_refused(with("4,", "18446744073709551616,"), "FILE: num_attention_heads: ", "integer");
  expect_refused(with("4,", "null,"), "FILE: num_attention_heads: ", "is null");
  expect_refused(with("10000", "\"big\""), "FILE: rope_theta: is 'big'", "number");
  expect_refused(with("10000", "0.1"), "FILE: rope_theta: ", "at least 1");
  expect_refused(with("10000", "1e999"), "FILE: rope_theta: ", "out of range");
  expect_refused(with("\"llama\"", "7"), "FILE: model_type: is 7", "string");
  expect_refused(with("\"llama\"", "\"lama\", \"rope_interleave\": 1"),
                 "FILE: rope_interleave: is 1", "true or false");
  expect_refused(with("10000", "NaN"), "FILE: rope_theta: is NaN", "finite");
  expect_refused(with("10000", "Infinity"), "FILE: rope_theta: is inf", "finite");
  expect_refused(and_also("\"rope_scaling\": 8"), "FILE: rope_scaling: ", "object or null");
}

TEST(ModelConfig, WhatIsMissingOrAtOdds) {
  const std::string unknown = unknown_and("\"use_cache\": true");
  const auto without = [&](const std::string& piece) {
    std::string text = unknown;
    return text.erase(text.find(piece), piece.size());
  };
  EXPECT_EQ(parse(unknown, halves).shape.rotary_dim, 16);
  for (const auto& [piece, key, part] :
       {std::tuple("\"hidden_size\": 64,", "head_dim", "is missing"),
        std::tuple("\"num_key_value_heads\": 2,", "num_key_value_heads", "--kv-heads"),
        std::tuple("\"num_attention_heads\": 4,", "num_attention_heads", "--heads"),
        std::tuple("\"rope_theta\": 10000,", "rope_theta", "--theta")})
    expect_refused(without(piece), "FILE: " + std::string(key) + ": ", part, halves);
  expect_refused(with("64", "66"), "FILE: hidden_size: ", "66 is not a multiple of 4");
  const struct {
    const char *more, *start, *part;
  } faults[] = {{"\"rotary_emb_base\": 2", "FILE: rotary_emb_base: is 2", "rope_theta is 10000"},
                {"\"n_head\": 2", "FILE: n_head: is 2", "num_attention_heads is 4"},
                {"\"rotary_pct\": 1.5", "FILE: rotary_pct: ", "at most 1"},
                {"\"rotary_dim\": 32", "FILE: rotary_dim: ", "exceeds head_dim 16"},
                {"\"rotary_pct\": 0.19", "FILE: rotary_dim: ", "must be even"},
                {"\"rotary_pct\": 0.5, \"rotary_dim\": 4", "FILE: rotary_dim: ", "is 8"},
                {"\"qk_rope_head_dim\": 8", "FILE: qk_nope_head_dim: ", "is missing"},
                {"\"multi_query\": true", "FILE: multi_query: ", "--shape"},
                {"\"alibi\": true", "FILE: alibi: ", "rotates nothing"},
                {"\"position_embedding_type\": \"alibi\"",
                 "FILE: position_embedding_type: ", "rotates nothing"},
                {"\"position_embedding_type\": null", "FILE: position_embedding_type: is null",
                 "rotates nothing"}};
  for (const auto& each : faults)
    expect_refused(unknown_and(each.more), each.start, each.part, halves);
  EXPECT_EQ(parse(unknown_and("\"multi_query\": false"), halves).shape.rotary_dim, 16);
  expect_refused(R"({"model_type": "x", "text_config": {"model_type": "y"}})",
                 "FILE: text_config.num_attention_heads: ", "is missing", halves);
}

TEST(ModelConfig, AnAnswerIsTakenAndSaid) {
  const ModelConfig filled =
      parse(R"({"model_type": "lama", "head_dim": 16})",
            {.pairing = "interleaved", .theta = 5000, .heads = 8, .kv_heads = 2});
  EXPECT_EQ(shown(filled.shape), "q 8x16+0 k 2x16+0, 16 by 5000, interleaved, none");
  EXPECT_TRUE(has(filled.assumed, "num_key_value_heads 2, as --kv-heads says"));
  const ModelConfig other = parse(toy, {.theta = 5000});
  EXPECT_EQ(other.shape.rope_theta, 5000);
  EXPECT_TRUE(has(other.assumed, "as --theta says (the file says otherwise)"));
  EXPECT_TRUE(has(parse(toy, {.theta = 10000}).assumed, "as --theta says"));
}

std::string scaling(const std::string& members) {
  return and_also("\"max_position_embeddings\": 2048, \"rope_scaling\": {" + members + "}");
}

TEST(ModelConfig, ScalingThatIsRefused) {
  const struct {
    const char *members, *start, *part;
  } faults[] = {
      {"\"factor\": 8", "rope_type: ", "is missing"},
      {"\"type\": \"linear\"", "factor: ", "is missing"},
      {"\"type\": \"spiral\"", "type: 'spiral' is not known here; known: axial, ", ", longrope"},
      {"\"type\": \"linear\", \"factor\": 0.5", "factor: ", "must be 1 to 1e9"},
      {"\"type\": \"linear\", \"factor\": NaN", "factor: is NaN", "finite"},
      {"\"type\": \"linear\", \"rope_type\": \"yarn\"", "type: ", "leave one"},
      {"\"type\": \"llama3\", \"factor\": 8", "low_freq_factor: ", "is missing"},
      {"\"type\": \"llama3\", \"factor\": 8, \"low_freq_factor\": 5, \"high_freq_factor\": 4",
       "low_freq_factor: ", "high_freq_factor"},
      {"\"type\": \"yarn\", \"factor\": 4, \"original_max_position_embeddings\": 0.5",
       "original_max_position_embeddings: is 0.5", "an integer from 1 to 2147483648"},
      {"\"type\": \"yarn\", \"factor\": null, \"original_max_position_embeddings\": 4096",
       "factor: ", "must be 1 to 1e9"},
      {"\"type\": \"yarn\", \"factor\": 4, \"attention_factor\": 0", "attention_factor: is 0",
       "above 0"},
      {"\"type\": \"longrope\", \"long_factor\": [1, 1, 1, 1, 1, 1, 1, 1]",
       "short_factor: ", "is missing"},
      {"\"type\": \"longrope\", \"short_factor\": [1, 1]", "short_factor: has 2 numbers",
       "8 pairs are rotated"},
      {"\"type\": \"longrope\", \"short_factor\": [1, \"1\"]", "short_factor: is a list",
       "finite numbers"},
      {"\"type\": \"mrope\", \"mrope_section\": [1]", "mrope_section: 1 ", "add up to 8 pairs"}};
  for (const auto& each : faults)
    expect_refused(scaling(each.members), std::string("FILE: rope_scaling.") + each.start,
                   each.part);
  expect_refused(unknown_and("\"rope_scaling\": {\"type\": \"yarn\", \"factor\": 4}"),
                 "FILE: rope_scaling.original_max_position_embeddings: ", "max_position_embeddings",
                 halves);
  expect_refused(scaling("\"type\": \"default\"").insert(1, "\"rope_parameters\": {\"a\": 1},"),
                 "FILE: rope_scaling: ", "leave one");
  const std::string base = R"({"model_type": "llama", "max_position_embeddings": 2048)";
  expect_refused(base + R"(, "rope_scaling": {"type": "linear", "factor": 4, "rope_theta": 5000}})",
                 "FILE: rope_scaling.rope_theta: ", "some releases");
  expect_refused(base + R"(, "original_max_position_embeddings": 1024,
      "rope_scaling": {"type": "yarn", "factor": 4}})",
                 "FILE: original_max_position_embeddings: ", "some releases");
  expect_refused(and_also("\"rope_parameters\": {\"rope_theta\": 2}"),
                 "FILE: rope_parameters.rope_theta: is 2", "rope_theta is 10000");
}

TEST(ModelConfig, EachRuleIsGivenItsParameters) {
  const auto values = [](const std::string& members, const ConfigAnswers& answers = {}) {
    return parse(scaling(members), answers).shape.scaling_values;
  };
  using Values = std::vector<double>;
  EXPECT_EQ(values("\"type\": \"dynamic\", \"factor\": 2"), (Values{2, 2048, 0}));
  EXPECT_EQ(values("\"type\": \"dynamic\", \"factor\": 2", {.context = 4096}),
            (Values{2, 2048, 4096}));
  EXPECT_EQ(values("\"type\": \"yarn\", \"factor\": 4, \"truncate\": false, \"beta_fast\": 0"),
            (Values{4, 2048, 32, 1, 0, 0, 0, 0}));
  EXPECT_EQ(values("\"type\": \"yarn\", \"factor\": null, \"mscale\": 1, "
                   "\"original_max_position_embeddings\": 512"),
            (Values{4, 512, 32, 1, 0, 1, 0, 1}));
  const ModelConfig stated = parse(
      scaling("\"type\": \"yarn\", \"factor\": 2, \"original_max_position_embeddings\": 512"));
  EXPECT_TRUE(has(stated.assumed, "factor 2 as stated; some releases took 4"));
  EXPECT_FALSE(is_in_place(stated.shape)) << "cos and sin have a factor";
  EXPECT_DOUBLE_EQ(stated.shape.attention_scale, 0.1 * std::log(2) + 1);
  const Workload part = parse(and_also("\"rope_parameters\": {\"rope_type\": \"proportional\", "
                                       "\"partial_rotary_factor\": 0.25}"))
                            .shape;
  EXPECT_EQ(part.rotary_dim, 16);
  EXPECT_EQ(part.scaling_values, (Values{0.25, 1}));
}

TEST(ModelConfig, NamesComeFromTheFileOrItsFolder) {
  EXPECT_EQ(model_name_of("/models/Meta-Llama-3-8B/config.json"), "meta-llama-3-8b");
  EXPECT_EQ(model_name_of("/models/Phi 2.json"), "phi-2");
  EXPECT_EQ(model_name_of("/hub/models--Qwen--Qwen2.5-7B/snapshots/0a1b/config.json"),
            "qwen2.5-7b");
  EXPECT_EQ(model_name_of("/config.json"), "model");
  EXPECT_EQ(model_name_of("/\xC3\xA9\n/config.json"), "model");
  EXPECT_EQ(model_name_of("/" + std::string(200, 'x') + ".json").size(), 60u);
}

TEST(ModelConfig, FilesThatCannotBeRead) {
  for (const char* file : {"no/where.json", "/", "/dev/zero"})
    EXPECT_THROW(load_model_config(file, {}), BadFile) << file;
}

TEST(ModelConfig, EveryCommittedConfigGoesThroughThePhases) {
  int files = 0;
  for (const auto& entry : fs::directory_iterator(configs)) {
    const auto all = through_phases(load_model_config(entry.path(), {}).shape, "FILE");
    EXPECT_GE(all.size(), 7u) << entry.path();
    ++files;
  }
  EXPECT_EQ(files, 15);
}

}  // namespace
}  // namespace ropewalk::bench
