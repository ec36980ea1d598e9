#include "benchmarks/configs/model_config.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "base/text_file.h"
#include "benchmarks/testing/toys.h"
#include "benchmarks/workloads/workload_shape.h"

namespace ropewalk::bench {
namespace {

namespace fs = std::filesystem;

const fs::path configs = fs::path(MODEL_CONFIGS) / "configs";

ModelConfig load(const std::string& name) {
  return load_model_config(configs / (name + ".json"), "");
}

bool has(const std::vector<std::string>& lines, const std::string& part) {
  return std::any_of(lines.begin(), lines.end(),
                     [&](const std::string& line) { return line.find(part) != std::string::npos; });
}

// Compares each config with workloads.toml, which was written by hand from the same configurations.
TEST(ModelConfig, AgreesWithTheBuiltInModels) {
  const auto built_in = load_default_workloads();
  for (const char* name : {"llama-3-8b", "qwen2.5-7b", "mistral-7b", "phi-2", "gpt-neox-20b",
                           "gpt-j-6b", "gemma-2-9b", "deepseek-v3"}) {
    const Workload w = load(name).shape;
    const auto same = std::find_if(built_in.begin(), built_in.end(), [&](const Workload& other) {
      return other.name == std::string(name) + "/decode-1";
    });
    ASSERT_NE(same, built_in.end()) << name;
    EXPECT_EQ(w.name, name);
    for (const std::size_t i : {0u, 1u}) {
      const harness::TensorCase& t = same->tensors[i];
      EXPECT_TRUE(has_heads(w.tensors[i], t.heads, t.head_dim, t.rotary_offset)) << name;
    }
    EXPECT_EQ(w.rotary_dim, same->rotary_dim) << name;
    EXPECT_EQ(w.rope_theta, same->rope_theta) << name;
    EXPECT_EQ(w.pairing, same->pairing) << name;
    EXPECT_EQ(w.scaling, "none") << name;
  }
}

TEST(ModelConfig, TheTypeOfTheData) {
  EXPECT_EQ(load("llama-3-8b").shape.dtype, Dtype::bf16);
  EXPECT_TRUE(has(load("llama-3-8b").read, "torch_dtype = 'bfloat16'"));
  EXPECT_EQ(load("gpt-j-6b").shape.dtype, Dtype::f32);
  EXPECT_TRUE(has(load("gpt-j-6b").assumed, "data of f32"));
  const auto with = [](const std::string& members) {
    const std::string heads = R"("model_type": "llama", "num_attention_heads": 4, )"
                              R"("num_key_value_heads": 4, "hidden_size": 256)";
    return parse_model_config("{" + members + R"(, "text_config": {)" + heads + "}}", "FILE", "",
                              "toy");
  };
  EXPECT_EQ(with(R"("dtype": "float16")").shape.dtype, Dtype::f16);
  EXPECT_EQ(with(R"("torch_dtype": "float64")").shape.dtype, Dtype::f64);
  for (const char* odd : {R"("dtype": "float8_e4m3fn")", R"("dtype": {"": "bfloat16"})"}) {
    EXPECT_EQ(with(odd).shape.dtype, Dtype::f32);
    EXPECT_TRUE(has(with(odd).not_timed, "timed in f32"));
  }
}

TEST(ModelConfig, ScalingThatIsComputed) {
  for (const char* name : {"llama-3.1-8b", "llama-3.2-11b-vision"}) {
    EXPECT_EQ(load(name).shape.scaling, "llama3");
    EXPECT_EQ(load(name).shape.scaling_values, (std::vector<double>{8, 1, 4, 8192}));
  }
  EXPECT_EQ(load("deepseek-coder-linear").shape.scaling, "linear");
  EXPECT_EQ(load("deepseek-coder-linear").shape.scaling_values, std::vector<double>{4});
  EXPECT_TRUE(load("llama-3.1-8b").not_timed.empty());
}

TEST(ModelConfig, ScalingThatIsNotComputedIsSaid) {
  const ModelConfig config = load("phi-3-mini-128k");
  EXPECT_EQ(config.shape.scaling, "none");
  EXPECT_TRUE(has(config.not_timed, "plain frequencies"));
  EXPECT_NE(config.shape.source.find("not timed: rope type longrope"), std::string::npos);
  EXPECT_TRUE(has(config.ignored, "rope_scaling.short_factor = a list"));
  EXPECT_TRUE(load("phi-3-mini-4k").not_timed.empty());
}

TEST(ModelConfig, TheTextPartOfAMultimodalModel) {
  const ModelConfig config = load("llama-3.2-11b-vision");
  EXPECT_TRUE(has_heads(config.shape.tensors[1], 8, 128, 0));
  EXPECT_EQ(config.shape.pairing, Pairing::half_split);
  EXPECT_TRUE(has(config.read, "text_config.num_attention_heads = 32"));
  EXPECT_FALSE(has(config.ignored, "vision_config"));
}

TEST(ModelConfig, RopeParametersAsNewerVersionsWriteThem) {
  EXPECT_EQ(load("qwen3-8b-parameters").shape.rope_theta, 1000000);
  const ModelConfig layers = load("gemma-3-layers");
  EXPECT_EQ(layers.shape.rope_theta, 1000000);
  EXPECT_EQ(layers.shape.scaling, "linear");
  EXPECT_EQ(layers.shape.scaling_values, std::vector<double>{8});
  EXPECT_TRUE(has(layers.not_timed, "sliding attention"));
  EXPECT_TRUE(has(layers.ignored, "rope_parameters.sliding_attention.rope_theta = 10000"));
}

TEST(ModelConfig, SaysWhatWasReadAndWhatWasNot) {
  const ModelConfig config = load("deepseek-v3");
  EXPECT_TRUE(has(config.read, "kv_lora_rank = 512"));
  EXPECT_TRUE(has(config.read, "qk_rope_head_dim = 64"));
  EXPECT_TRUE(has(config.ignored, "num_key_value_heads = 128"));
  EXPECT_TRUE(has(config.ignored, "rope_scaling.factor = 40"));
  EXPECT_TRUE(has(config.ignored, "max_position_embeddings = 163840"));
  EXPECT_FALSE(has(config.ignored, "q_lora_rank"));
  EXPECT_TRUE(has(config.assumed, "interleaved"));
  EXPECT_TRUE(has(load("gpt-j-6b").assumed, "rope_theta 10000"));
}

const std::string toy = R"({"model_type": "llama", "num_attention_heads": 4,
"num_key_value_heads": 2, "hidden_size": 64, "rope_theta": 10000})";

/// The toy with one piece replaced. A piece that is not there is an error of the test.
std::string with(const std::string& from, const std::string& to) {
  std::string text = toy;
  text.replace(text.find(from), from.size(), to);
  return text;
}
std::string and_also(const std::string& more) {
  return with("10000", "10000, " + more);
}

ModelConfig parse(const std::string& text, const std::string& pairing = "") {
  return parse_model_config(text, "FILE", pairing, "toy");
}

void expect_refused(const std::string& text, const std::string& start, const std::string& part) {
  try {
    parse(text);
    ADD_FAILURE() << "accepted: " << text;
  } catch (const BadFile& error) {
    const std::string message = error.what();
    EXPECT_TRUE(message.starts_with(start)) << message;
    EXPECT_NE(message.find(part), std::string::npos) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
}

TEST(ModelConfig, ThePairingIsNeverGuessed) {
  EXPECT_EQ(parse(toy).shape.pairing, Pairing::half_split);
  expect_refused(with("\"llama\"", "\"lama\""), "FILE: model_type: 'lama'", "--pairing");
  expect_refused(with("\"model_type\": \"llama\", ", ""), "FILE: model_type: ", "--pairing");
  EXPECT_EQ(parse(with("llama", "lama"), "interleaved").shape.pairing, Pairing::interleaved);
  EXPECT_EQ(parse(with("llama", "lama"), "half_split").shape.pairing, Pairing::half_split);
  const ModelConfig other = parse(toy, "interleaved");
  EXPECT_EQ(other.shape.pairing, Pairing::interleaved);
  EXPECT_TRUE(has(other.assumed, "the file says otherwise"));
  EXPECT_EQ(parse(and_also("\"rope_interleave\": true")).shape.pairing, Pairing::interleaved);
}

TEST(ModelConfig, KeysOfTheWrongKind) {
  expect_refused("{}", "FILE: model_type: ", "is missing");
  expect_refused("[]", "FILE: ", "no JSON object");
  expect_refused(with("4,", "\"4\","), "FILE: num_attention_heads: is '4'", "integer from 1");
  expect_refused(with("4,", "4.5,"), "FILE: num_attention_heads: is 4.5", "integer from 1");
  expect_refused(with("4,", "0,"), "FILE: num_attention_heads: is 0", "integer from 1");
  expect_refused(with("4,", "-4,"), "FILE: num_attention_heads: is -4", "integer from 1");
  expect_refused(with("4,", "[4],"), "FILE: num_attention_heads: is a list", "integer from 1");
  expect_refused(with("4,", "1048577,"), "FILE: num_attention_heads: ", "to 1048576");
  expect_refused(with("4,", "18446744073709551616,"), "FILE: num_attention_heads: ", "integer");
  expect_refused(with("4,", "null,"), "FILE: num_attention_heads: ", "is missing");
  expect_refused(with("10000", "\"big\""), "FILE: rope_theta: is 'big'", "a number");
  expect_refused(with("10000", "0.1"), "FILE: rope_theta: ", "at least 1");
  expect_refused(with("10000", "1e999"), "FILE: rope_theta: ", "out of range");
  expect_refused(with("\"llama\"", "7"), "FILE: model_type: is 7", "string");
  expect_refused(and_also("\"rope_interleave\": 1"), "FILE: rope_interleave: is 1",
                 "true or false");
  expect_refused(and_also("\"rope_scaling\": 8"), "FILE: rope_scaling: ", "object or null");
}

TEST(ModelConfig, WhatIsMissingOrAtOdds) {
  expect_refused(with("\"hidden_size\": 64, ", ""), "FILE: head_dim: ", "is missing");
  expect_refused(with("64", "66"), "FILE: hidden_size: ", "66 is no multiple of 4");
  EXPECT_EQ(parse(with("\"num_key_value_heads\": 2, ", "")).shape.tensors[1].heads, 4);
  expect_refused(
      R"({"model_type": "mistral", "num_attention_heads": 4, "hidden_size": 64, "rope_theta": 1})",
      "FILE: num_key_value_heads: ", "is missing");
  expect_refused(and_also("\"rotary_emb_base\": 2"),
                 "FILE: rotary_emb_base: ", "rope_theta is 10000");
  expect_refused(and_also("\"partial_rotary_factor\": 1.5"),
                 "FILE: partial_rotary_factor: ", "at most 1");
  expect_refused(and_also("\"rotary_dim\": 32"), "FILE: rotary_dim: ", "exceeds head_dim 16");
  expect_refused(and_also("\"rotary_pct\": 0.19"), "FILE: rotary_dim: ", "must be even");
  expect_refused(and_also("\"rotary_pct\": 0.5, \"rotary_dim\": 4"), "FILE: rotary_dim: ", "is 8");
  expect_refused(and_also("\"qk_rope_head_dim\": 8"), "FILE: qk_nope_head_dim: ", "is missing");
  expect_refused(and_also("\"multi_query\": true"), "FILE: multi_query: ", "--shape");
  EXPECT_EQ(parse(and_also("\"multi_query\": false")).shape.rotary_dim, 16);
  expect_refused(and_also("\"position_embedding_type\": \"alibi\""),
                 "FILE: position_embedding_type: ", "no rotary");
  expect_refused(R"({"model_type": "x", "text_config": {"model_type": "llama"}})",
                 "FILE: text_config.num_attention_heads: ", "is missing");
}

TEST(ModelConfig, ScalingThatIsRefused) {
  const auto scaling = [](const std::string& members) {
    return and_also("\"rope_scaling\": {" + members + "}");
  };
  expect_refused(scaling("\"factor\": 8"), "FILE: rope_scaling.rope_type: ", "is missing");
  expect_refused(scaling("\"type\": \"linear\""), "FILE: rope_scaling.factor: ", "is missing");
  expect_refused(scaling("\"type\": \"spiral\""),
                 "FILE: rope_scaling.type: 'spiral' is not known here; known: default, ",
                 ", longrope");
  expect_refused(scaling("\"type\": \"linear\", \"factor\": 0"),
                 "FILE: rope_scaling: ", "1 to 1e9");
  expect_refused(scaling("\"type\": \"linear\", \"rope_type\": \"yarn\""),
                 "FILE: rope_scaling.type: ", "leave one");
  expect_refused(scaling("\"type\": \"llama3\", \"factor\": 8"),
                 "FILE: rope_scaling.low_freq_factor: ", "is missing");
  expect_refused(scaling("\"type\": \"llama3\", \"factor\": 8, \"low_freq_factor\": 5, "
                         "\"high_freq_factor\": 4, \"original_max_position_embeddings\": 1"),
                 "FILE: rope_scaling: low_freq_factor is 5", "at most high_freq_factor");
  expect_refused(scaling("\"type\": \"llama3\", \"factor\": 8, \"low_freq_factor\": 1, "
                         "\"high_freq_factor\": 4, \"original_max_position_embeddings\": 0.5"),
                 "FILE: rope_scaling.original_max_position_embeddings: is 0.5",
                 "an integer from 1 to 2147483648");
  expect_refused(scaling("\"type\": \"default\"").insert(1, "\"rope_parameters\": {},"),
                 "FILE: rope_scaling: ", "leave one");
  EXPECT_TRUE(has(parse(scaling("\"type\": \"dynamic\", \"factor\": 2")).not_timed, "dynamic"));
  EXPECT_TRUE(
      has(parse(scaling("\"type\": \"mrope\", \"mrope_section\": [1]")).not_timed, "mrope"));
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
  EXPECT_THROW(load_model_config("no/where.json", ""), BadFile);
  EXPECT_THROW(load_model_config("/", ""), BadFile);
  EXPECT_THROW(load_model_config("/dev/zero", ""), BadFile);
}

TEST(ModelConfig, EveryCommittedConfigGoesThroughThePhases) {
  int files = 0;
  for (const auto& entry : fs::directory_iterator(configs)) {
    const auto all = through_phases(load_model_config(entry.path(), "").shape, "FILE");
    EXPECT_GE(all.size(), 7u) << entry.path();
    ++files;
  }
  EXPECT_EQ(files, 15);
}

}  // namespace
}  // namespace ropewalk::bench
