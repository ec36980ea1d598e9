// A model's config.json on the command line: what it comes to, how two differ, and that kernels are
// judged by the model's own frequencies, scale and data type.
#include <gtest/gtest.h>

#include <string>

#include "tools/tests/shell.h"

namespace {

std::string config(const std::string& name, const std::string& members) {
  const auto file = scratch() / (name + ".json");
  spill(file, R"({"num_attention_heads": 2, "num_key_value_heads": 1, "hidden_size": 64,)"
              R"("max_position_embeddings": 64, "rope_theta": 10000, "torch_dtype": "float32",)" +
                  members + "}");
  return " --config " + file.string();
}

std::string llama(const std::string& name, const std::string& scaling) {
  return config(name, R"("model_type": "llama", "rope_scaling": {)" + scaling + "}");
}

const std::string yarn = R"("rope_type": "yarn", "factor": 4,)"
                         R"("original_max_position_embeddings": 16)";

// The verb takes as files what others take as options.
Result show(std::string words) {
  const std::string option = "--config ";
  for (auto at = words.find(option); at != words.npos; at = words.find(option))
    words.erase(at, option.size());
  return ropewalk("config" + words);
}

TEST(Config, TwoThatDifferAreTold) {
  const std::string a = llama("a", R"("type": "linear", "factor": 2)"),
                    b = llama("b", R"("type": "linear", "factor": 4)");
  const Result differ = show(a + b);
  expect(differ, 1,
         {"scaling    linear: scaling_factor 2", "16 of 16 pairs differ",
          "first      pair 0: 0.5 in a, 0.25 in b (x 0.5)"});
  const Result equal = show(a + a);
  expect(equal, 0, {"no difference"});
}

TEST(Config, NumbersFromElsewhereAreCompared) {
  const std::string model =
      config("plain", R"("model_type": "stablelm", "partial_rotary_factor": 0.25)");
  const auto with = [&](const std::string& numbers) {
    spill(scratch() / "inv_freq.txt", numbers);
    return show(model + " --inv-freq " + (scratch() / "inv_freq.txt").string());
  };
  const Result right = with("[1.0, 0.1, 0.01, 0.001]");
  expect(right, 0, {"its 4 numbers are those of plain"});
  const Result wrong = with("[1.0, 0.1, 0.01, 0.0011]");
  expect(wrong, 1, {"1 of 4 pairs differ", "first      pair 3: 0.0011 in"});
  const Result rounded = with("tensor([1.0000, 0.1000, 0.0100, 0.0010], device='cuda:0')");
  expect(rounded, 0, {"off by 5 % would not show"});
  const Result other = with("[1.0, 0.2, 0.04, 0.008]");
  expect(other, 1, {"inv_freq.txt: these are the frequencies of theta 625, "});
  EXPECT_FALSE(contains(wrong.out, "these are")) << wrong.out;
  const Result few = with("[1.0, 0.1, 0.01]");
  expect(few, 2, {}, {"has 3 numbers; rotary_dim 8 has 4 pairs"});
  EXPECT_EQ(few.out, "");
}

// What a rule makes of the frequencies and the scale is what the kernels are judged by.
TEST(Config, KernelsAreJudgedByTheModelsOwnNumbers) {
  const std::string verify =
      "verify --profile smoke --cases 10 --property agreement --kernel plain --plugin "
      "'" ROPEWALK_MUTANTS
      "' --kernel mutant_not_scaled_table --kernel mutant_frequency_in_bf16_exact";
  const Result r = ropewalk(verify + llama("yarn", yarn));
  EXPECT_EQ(r.code, 1) << r.out << r.err;
  EXPECT_TRUE(contains("\n" + r.out, "\nPASS  plain")) << r.out;
  for (const char* wrong : {"mutant_not_scaled_table", "mutant_frequency_in_bf16_exact"})
    EXPECT_TRUE(contains(r.out, std::string("FAIL  ") + wrong)) << wrong << r.out;
  EXPECT_TRUE(contains(r.out, "scaling=yarn scaling_values=4,16,32,1,0,0,0,1")) << r.out;
  EXPECT_TRUE(contains(r.out, "attention_scale=0x1.237d")) << r.out;
  for (const char* other : {"bf16 table", "attention_scale=-", "rope_theta="})
    EXPECT_FALSE(contains(r.out, other)) << other << r.out;
}

// A kernel without the model's type is no clearance for the model.
TEST(Config, AKernelWithoutTheModelsTypeIsNotCleared) {
  const auto file = scratch() / "bf16.json";
  spill(file, R"({"model_type": "llama", "num_attention_heads": 2, "num_key_value_heads": 1,)"
              R"("hidden_size": 64, "rope_theta": 10000, "torch_dtype": "bfloat16"})");
  const std::string words =
      "verify --property norm --profile smoke --config " + file.string() + " --kernel ";
  const std::string line = "elementwise: judged in f32, f64; the model's bf16 is not offered\n";
  const Result r = ropewalk(words + "elementwise");
  EXPECT_EQ(r.code, 3) << r.out;
  EXPECT_TRUE(r.out.starts_with("elementwise: judged in f32; the model's bf16 is not offered\n"));
  EXPECT_TRUE(r.out.ends_with(line)) << r.out;
  EXPECT_FALSE(contains(r.out, "rotary_dim")) << "the config excludes other heads";
  const Result of_type = ropewalk(words + "plain");
  EXPECT_EQ(of_type.code, 0) << of_type.out;
  EXPECT_FALSE(contains(of_type.out, "judged in")) << of_type.out;
}

}  // namespace
