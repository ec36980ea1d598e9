// Layers of several kinds, axes of positions, and types with keys of their own.
#include <gtest/gtest.h>

#include <cmath>

#include "benchmarks/testing/config_toys.h"
#include "benchmarks/testing/toys.h"
#include "benchmarks/workloads/workload_layout.h"

namespace ropewalk::bench {
namespace {

TEST(ConfigLayers, LayersThatRotateDifferently) {
  const auto gemma = [](const std::string& more) {
    return R"({"model_type": "gemma3_text", "num_attention_heads": 4, "num_key_value_heads": 2,
               "head_dim": 16, "rope_theta": 1000000)" +
           more + "}";
  };
  const std::string old = gemma(R"(, "rope_local_base_freq": 5000,
      "rope_scaling": {"rope_type": "linear", "factor": 8},
      "layer_types": ["sliding_attention", "sliding_attention", "full_attention"])");
  const ModelConfig config = parse(old);
  ASSERT_EQ(config.layers.size(), 2u);
  const std::string full = "q 4x16+0 k 2x16+0, 16 by 1000000, half_split, linear";
  const std::string slides = "q 4x16+0 k 2x16+0, 16 by 5000, half_split, none";
  EXPECT_EQ(shown(config.layers[0]), "1 full_attention: " + full);
  EXPECT_EQ(shown(config.layers[1]), "2 sliding_attention: " + slides);
  EXPECT_EQ(shown(config.shape), full);
  EXPECT_EQ(shown(parse(old, {.layer = "sliding_attention"}).shape), slides);
  expect_refused(old, "FILE: layer_types: --layer other ", "sliding_attention", {.layer = "other"});
  expect_refused(toy, "FILE: layer_types: --layer other: ", "alike", {.layer = "other"});
  EXPECT_EQ(parse(gemma("")).layers[1].shape.rope_theta, 10000) << "of the code of the type";
  expect_refused(gemma(R"(, "rope_parameters": {"rope_type": "linear", "factor": 8})"),
                 "FILE: rope_parameters: ", "does not say which layers");
  expect_refused(
      gemma(R"(, "rope_parameters": {"odd": {"factor": 8}}, "layer_types": ["sliding_attention"])"),
      "FILE: rope_parameters.odd: ", "no layer of this model");
  expect_refused(gemma(R"(, "num_hidden_layers": 3, "layer_types": ["full_attention"])"),
                 "FILE: layer_types: has 1 words", "num_hidden_layers is 3");
}

TEST(ConfigLayers, LayersWithoutRotation) {
  const ModelConfig hybrid =
      parse(and_also("\"layer_types\": [\"linear_attention\", \"full_attention\", \"conv\"]"));
  const std::string rotated = "q 4x16+0 k 2x16+0, 16 by 10000, half_split, none";
  ASSERT_EQ(hybrid.layers.size(), 3u);
  EXPECT_EQ(shown(hybrid.layers[0]), "1 rotated: " + rotated);
  EXPECT_EQ(shown(hybrid.layers[1]), "1 linear_attention: -");
  EXPECT_EQ(shown(hybrid.layers[2]), "1 conv: -");
  EXPECT_TRUE(has(hybrid.not_timed, "layers that are not rotated"));
  EXPECT_TRUE(parse(and_also("\"layer_types\": [\"full_attention\"]")).layers.empty());
  const auto unrotated = [](const std::string& type, const std::string& more) {
    return parse(R"({"model_type": ")" + type + R"(", "num_attention_heads": 4, "rope_theta": 10000,
        "num_key_value_heads": 2, "hidden_size": 64, "num_hidden_layers": 4, )" +
                 more + "}")
        .layers;
  };
  const auto count = [&](const std::string& type, const std::string& more) {
    const auto layers = unrotated(type, more);
    return layers.empty() ? 0 : layers.back().count;
  };
  EXPECT_EQ(count("smollm3", "\"no_rope_layers\": [1, 0, 1, 0]"), 2);
  EXPECT_EQ(count("smollm3", "\"no_rope_layers\": [1, 1, 1, 1]"), 0);
  EXPECT_EQ(count("smollm3", "\"no_rope_layer_interval\": 2"), 2);
  EXPECT_EQ(count("smollm3", "\"x\": 1"), 1);
  const std::string types = R"("layer_types": ["sliding_attention", "sliding_attention",
      "sliding_attention", "full_attention"])";
  EXPECT_EQ(count("cohere2", types), 1);
  EXPECT_EQ(count("exaone4", types + ", \"sliding_window\": 4096"), 1);
  EXPECT_EQ(count("exaone4", types + ", \"sliding_window\": null"), 0);
  const std::string toy4 = with("\"llama\"", "\"smollm3\", \"num_hidden_layers\": 4");
  const auto of_toy4 = [&](std::string more) { return std::string(toy4).insert(1, more + ", "); };
  expect_refused(of_toy4("\"no_rope_layers\": [0, 0, 0, 0]"),
                 "FILE: no_rope_layers: ", "rotates nothing");
  expect_refused(of_toy4("\"no_rope_layers\": [1, 0, 1, 2]"), "FILE: no_rope_layers: 2 ", "0 or 1");
  expect_refused(of_toy4("\"no_rope_layers\": [1, 0]"), "FILE: no_rope_layers: has 2 numbers",
                 "num_hidden_layers is 4");
  const auto swa = unrotated("granite_swa", "\"layer_rope_theta\": [10000, 0, 5000, 10000]");
  ASSERT_EQ(swa.size(), 3u);
  EXPECT_EQ(shown(swa[0]), "2 theta-10000: " + rotated);
  EXPECT_EQ(swa[1].shape.rope_theta, 5000);
  EXPECT_FALSE(swa[2].rotated);
}

TEST(ConfigLayers, SizesByKindOfLayers) {
  const auto gemma = [](const std::string& more) {
    return parse(R"({"model_type": "gemma4_text", "head_dim": 256,
        "layer_types": ["sliding_attention", "full_attention"])" +
                 more + "}")
        .layers;
  };
  EXPECT_TRUE(has_heads(gemma("")[0].shape.tensors[1], 4, 512, 0)) << "of the code of the type";
  EXPECT_TRUE(has_heads(gemma("")[1].shape.tensors[1], 4, 256, 0));
  EXPECT_EQ(gemma("")[0].shape.scaling, "proportional");
  const auto sized = gemma(R"(, "global_head_dim": 128, "num_global_key_value_heads": 2)");
  EXPECT_TRUE(has_heads(sized[0].shape.tensors[1], 2, 128, 0));
  const auto equal = gemma(R"(, "num_global_key_value_heads": 2, "attention_k_eq_v": false)");
  EXPECT_EQ(equal[0].shape.tensors[1].heads, 4);
  const auto always = parse(R"({"model_type": "diffusion_gemma_text", "attention_k_eq_v": false,
                                "num_global_key_value_heads": 2})");
  EXPECT_EQ(always.layers[0].shape.tensors[1].heads, 2);
  const auto saved = gemma(R"(, "per_layer_config": {"01": {"head_dim": 64}})");
  EXPECT_EQ(saved[0].shape.tensors[0].head_dim, 64);
  EXPECT_EQ(saved[1].shape.tensors[0].head_dim, 256);
}

TEST(ConfigLayers, TypesWithKeysOfTheirOwn) {
  const auto k_heads = [](const std::string& more) {
    return parse(R"({"model_type": "falcon", "num_attention_heads": 8, "hidden_size": 64)" + more +
                 "}")
        .shape.tensors[1]
        .heads;
  };
  EXPECT_EQ(k_heads(""), 1);
  EXPECT_EQ(k_heads(", \"multi_query\": false"), 8);
  EXPECT_EQ(k_heads(", \"new_decoder_architecture\": true, \"num_kv_heads\": 2"), 2);
  EXPECT_EQ(k_heads(", \"new_decoder_architecture\": true"), 8);
  const std::string glm = R"({"model_type": "chatglm", "num_attention_heads": 8, "kv_channels": 32,
      "multi_query_attention": true, "multi_query_group_num": 2)";
  EXPECT_EQ(shown(parse(glm + "}").shape), "q 8x32+0 k 2x32+0, 16 by 10000, interleaved, none");
  expect_refused(glm + ", \"rope_ratio\": 500}", "FILE: rope_ratio: ", "--theta");
  EXPECT_EQ(parse(glm + ", \"rope_ratio\": 500}", {.theta = 5e6}).shape.rope_theta, 5e6);
  const Workload alpha = parse(R"({"model_type": "hunyuan_v1_dense", "head_dim": 64,
      "rope_theta": 10000, "rope_scaling": {"type": "dynamic", "alpha": 1000, "factor": 1}})")
                             .shape;
  EXPECT_EQ(alpha.scaling, "none");
  EXPECT_DOUBLE_EQ(alpha.rope_theta, 10000 * std::pow(1000, 64.0 / 62));
  EXPECT_EQ(parse(R"({"model_type": "blip-2", "text_config": {"model_type": "llama"}})").model_type,
            "llama");
  EXPECT_EQ(parse(R"({"model_type": "gpt_neox", "head_dim": 96})").shape.rotary_dim, 24);
  const auto dbrx = parse(R"({"model_type": "dbrx", "attn_config": {"rope_theta": 500000}})");
  EXPECT_EQ(dbrx.shape.rope_theta, 500000);
  EXPECT_TRUE(has(dbrx.assumed, "attn_config.rope_theta 500000 as stated; some releases do not"));
}

TEST(ConfigLayers, TypesWhoseCodeLiesBesideTheModels) {
  const ModelConfig qwen = parse(R"({"model_type": "qwen", "num_attention_heads": 16,
      "kv_channels": 96, "rotary_emb_base": 20000, "rotary_pct": 0.5})");
  EXPECT_EQ(shown(qwen.shape), "q 16x96+0 k 16x96+0, 48 by 20000, half_split, none");
  EXPECT_TRUE(has(qwen.not_timed, "use_logn_attn"));
  const std::string pictures = R"({"model_type": "minicpmv", "num_attention_heads": 28,
      "hidden_size": 3584, "vision_config": {"head_dim": 16}, "rope_theta": 1000000)";
  EXPECT_EQ(parse(pictures + ", \"num_key_value_heads\": 4}").shape.tensors[1].head_dim, 128);
  expect_refused(pictures + "}", "FILE: num_key_value_heads: ", "--kv-heads");
  const ModelConfig falcon = parse(R"({"model_type": "falcon_perception", "dim": 768, "n_heads": 12,
      "n_kv_heads": 4, "head_dim": 64})");
  EXPECT_EQ(shown(falcon.shape), "q 12x64+0 k 4x64+0, 32 by 10000, interleaved, none");
}

TEST(ConfigLayers, CompositesThatAreNotKnownKeepTheirTextModelInOneOfThese) {
  const std::string llama = R"({"model_type": "llama", "head_dim": 32}})";
  for (const char* part : {"text_config", "llm_config", "language_config", "llm_cfg"})
    EXPECT_EQ(parse(std::string("{\"model_type\": \"chat\", \"") + part + "\": " + llama)
                  .shape.rotary_dim,
              32);
  EXPECT_TRUE(has(parse(R"({"thinker_config": {"text_config": )" + llama + "}").read,
                  "thinker_config.text_config = the part that is read"));
}

const std::string of_no_type = R"({"num_attention_heads": 8, "num_key_value_heads": 8,
    "head_dim": 64, "rope_parameters": {)";

TEST(ConfigLayers, AFactorOnQIsSaidNotToBeApplied) {
  const std::string ministral = R"({"model_type": "ministral3", "rope_parameters": {)", rule = R"(
      "factor": 16, "rope_theta": 1e6, "rope_type": "yarn",
      "original_max_position_embeddings": 16384, "llama_4_scaling_beta": )";
  for (const std::string& file : {ministral + rule, of_no_type + rule}) {
    const ModelConfig config = parse(file + "0.1}}", {.pairing = "half_split"});
    EXPECT_TRUE(has(config.not_timed,
                    "llama_4_scaling_beta 0.1: from position 16384 on the model multiplies Q by 1 "
                    "+ 0.1 ln(1 + floor(position / 16384)), which is not applied"));
    EXPECT_FALSE(has(config.ignored, "llama_4_scaling_beta"));
    EXPECT_TRUE(parse(file + "0}}", {.pairing = "half_split"}).not_timed.empty());
  }
}

TEST(ConfigLayers, TheWholeHeadIsAssumedWhereNoShareIsStated) {
  for (const std::string share : {"", R"(, "partial_rotary_factor": 1)"}) {
    const ModelConfig config = parse(of_no_type + R"("full_attention": {"rope_theta": 1e6,
        "partial_rotary_factor": 0.25}, "sliding_attention": {"rope_theta": 1e4)" +
                                         share + "}}}",
                                     {.pairing = "half_split"});
    EXPECT_EQ(has(config.assumed, "the whole head is rotated in sliding_attention"), share.empty());
  }
}

TEST(ConfigLayers, WhatTheTypeCannotUse) {
  const struct {
    const char *members, *start, *part;
    ConfigAnswers answers = {};
  } faults[] = {
      {R"("falcon", "alibi": true)", "alibi: ", "rotates nothing"},
      {R"("nemotron_h")", "model_type: 'nemotron_h' ", "rotates nothing", halves},
      {R"("bert", "num_attention_heads": 4, "hidden_size": 64)", "model_type: 'bert' ",
       "rotates nothing", halves},
      {R"("granitemoehybrid")", "position_embedding_type: ", "rotates nothing", halves},
      {R"("cohere")", "rope_theta: ", "releases"},
      {R"("gpt_neox", "head_dim": 128)", "head_dim: ", "at odds"},
      {R"("dbrx", "rope_theta": 7, "attn_config": {"rope_theta": 5})", "rope_theta: is 7",
       "leave one"},
      {R"("gemma3")", "text_config: ", "is missing"},
      {R"("gemma3_text", "rope_scaling": {"type": "linear", "factor": 4})",
       "rope_scaling.type: ", "some releases"},
      {R"("llama", "layer_types": ["linear_attention", "odd"])", "layer_types: ", "is rotated"},
      {R"("gemma3_text", "layer_types": ["chunked_attention"])", "layer_types: ", "is rotated"},
      {R"("llama", "rope_parameters": {"odd": {"rope_theta": 3}})",
       "rope_parameters.odd: ", "no layer"},
      {R"("gemma3_text", "rope_parameters": {"odd": {"rope_theta": 3}})",
       "rope_parameters.odd: ", "no layer"},
      {R"("llama", "rope_parameters": {"full_attention": {"rope_theta": 3}},
          "layer_types": ["full_attention"])",
       "rope_parameters.full_attention: ", "no layer"},
      {R"("glm4_moe_lite", "qk_rope_head_dim": 64, "head_dim": 128)", "head_dim: ", "leave one"},
      {R"("longcat_flash", "head_dim": 128)", "head_dim: is neither 64", "192"},
      {R"("stablelm", "head_dim": 128)", "head_dim: ", "at odds"},
      {R"("phi3", "rope_scaling": {"type": "linear", "factor": 4})",
       "rope_scaling: ", "longrope alone"},
      {R"("qwen2", "num_attention_heads": 16)", "num_attention_heads: is 16", "32 heads of K"},
      {R"("llama", "torch_dtype": "float16", "dtype": "bfloat16")", "torch_dtype: ", "leave one"},
      {R"("step3p5", "partial_rotary_factors": [0.5, 1])", "partial_rotary_factors: ", "finite"},
      {R"("cohere2", "sliding_window": null)", "sliding_window: ", "rotates nothing"},
      {R"("modernbert", "original_max_position_embeddings": 1024,
          "rope_scaling": {"rope_type": "yarn", "factor": 8})",
       "original_max_position_embeddings: ", "some releases"},
      {R"("granite_swa", "num_hidden_layers": 4, "layer_rope_theta": [10000, 0])",
       "layer_rope_theta: has 2 numbers", "is 4"},
      {R"("gemma4_text", "num_hidden_layers": 4, "per_layer_config": {"7": {"head_dim": 64}})",
       "per_layer_config.7: ", "not a layer"},
      {R"("gemma4_text", "per_layer_config": {"x": {"head_dim": 64}})",
       "per_layer_config.x: ", "not a layer"}};
  for (const auto& each : faults)
    expect_refused(std::string(R"({"model_type": )") + each.members + "}",
                   std::string("FILE: ") + each.start, each.part, each.answers);
}

TEST(ConfigLayers, WhatTheTypeReadsElsewhere) {
  const struct {
    const char* members;
    std::int64_t rotary_dim;
    const char* ignored;
  } files[] = {
      {R"("gptj", "rope_theta": 5)", 64, "rope_theta = 5"},
      {R"("gptj", "rope_scaling": {"type": "linear", "factor": 4})", 64, "rope_scaling.factor"},
      {R"("gptj", "partial_rotary_factor": 0.5)", 64, "partial_rotary_factor"},
      {R"("gpt_neox_japanese", "rotary_pct": 0.25)", 20, ""},
      {R"("step3p5", "partial_rotary_factor": 0.5)", 128, "partial_rotary_factor"},
      {R"("bamba", "partial_rotary_factor": 1)", 64, "partial_rotary_factor"},
      {R"("bamba", "rope_parameters": {"partial_rotary_factor": 1})", 128, ""},
      {R"("ernie4_5", "head_dim": null, "hidden_size": 1024)", 64, ""},
      {R"("glm4_moe_lite", "head_dim": 128)", 128, ""}};
  for (const auto& each : files) {
    const ModelConfig config = parse(std::string(R"({"model_type": )") + each.members + "}");
    EXPECT_EQ(config.shape.rotary_dim, each.rotary_dim) << each.members;
    EXPECT_EQ(config.shape.scaling, "none") << each.members;
    EXPECT_TRUE(has(config.ignored, each.ignored) || !*each.ignored) << each.members;
  }
}

TEST(ConfigLayers, TheAxesOfThePairs) {
  const auto axes = [](const std::string& type, const std::string& sections) {
    return parse(R"({"model_type": ")" + type + R"(", "num_attention_heads": 4, "rope_theta": 10000,
        "num_key_value_heads": 2, "hidden_size": 64, "head_dim": 16,
        "rope_scaling": {"type": "default", "mrope_section": )" +
                 sections + "}}");
  };
  const ModelConfig chunked = axes("qwen2_vl", "[2, 3, 3]");
  EXPECT_EQ(chunked.shape.axis_of_pair, (std::vector<std::uint8_t>{0, 0, 1, 1, 1, 2, 2, 2}));
  EXPECT_EQ(chunked.shape.axes, 3);
  EXPECT_TRUE(chunked.not_timed.empty());
  expect_refused(R"({"model_type": "qwen2_vl", "num_attention_heads": 4, "rope_theta": 10000,
      "num_key_value_heads": 2, "hidden_size": 64})",
                 "FILE: rope_parameters.mrope_section: 16, 24, 24 ", "8 pairs");
  EXPECT_EQ(axes("qwen3_vl_text", "[4, 2, 2]").shape.axis_of_pair,
            (std::vector<std::uint8_t>{0, 1, 2, 0, 1, 2, 0, 0}));
  EXPECT_EQ(axes("ernie4_5_vl_moe_text", "[3, 3, 2]").shape.axis_of_pair,
            (std::vector<std::uint8_t>{1, 2, 1, 2, 1, 2, 0, 0}));
}

TEST(ConfigLayers, VisionTowersTurnByRowsAndColumns) {
  using Map = std::vector<std::uint8_t>;
  const auto tower = [](const std::string& type, const std::string& rest) {
    return parse(R"({"model_type": ")" + type + R"(", "num_attention_heads": 2)" + rest + "}")
        .shape;
  };
  const Workload qwen = tower("qwen2_vl_vision", R"(, "embed_dim": 32, "rope_parameters":
      {"rope_type": "default", "rope_theta": 16})");
  EXPECT_EQ(qwen.axis_of_pair, (Map{0, 0, 0, 0, 1, 1, 1, 1}));
  EXPECT_EQ(inv_freq_of(qwen, false),
            (std::vector<double>{1, 0.5, 0.25, 0.125, 1, 0.5, 0.25, 0.125}));
  for (const Workload& each : through_phases(qwen, "FILE"))
    EXPECT_TRUE(each.axes == 2 && each.name.ends_with("-picture")) << each.name;
  EXPECT_EQ(tower("kimi_k25_vision", R"(, "hidden_size": 16)").axis_of_pair, (Map{1, 0, 1, 0}));
  EXPECT_EQ(tower("minimax_m3_vl_vision", R"(, "hidden_size": 160)").rotary_dim, 78);
  expect_refused(R"({"model_type": "pixtral", "rope_scaling": {"rope_type": "yarn"}})",
                 "FILE: rope_scaling.rope_type: ", "does not take yarn");
}

}  // namespace
}  // namespace ropewalk::bench
