// Kernels for one shape: a run may be held to a shape, a kernel that refuses the basic cases is
// asked the shapes of models, and a kernel of which nothing could be run shows its reasons.
#include <gtest/gtest.h>

#include <string>

#include "tools/tests/shell.h"

namespace {

const std::string plugin = std::string(" --plugin ") + ROPEWALK_SHAPE_PLUGIN + " ";
const std::string few =
    " --property agreement --property strides --property unwritten_outputs --cases 3 ";

Result verify(const std::string& kernel, const std::string& options) {
  return ropewalk("verify --profile smoke -v --kernel " + kernel + plugin + few + options);
}

std::string latent_file() {
  const auto file = scratch() / "latent.toml";
  spill(file, R"([[model]]
name = "latent"
model = "latent"
source = "this test"
shape = "q=128,k=1,d=192,kd=64,rd=64,qo=128"
)");
  return file.string();
}

bool says(const Result& r, const std::string& verdict, const std::string& kernel) {
  return contains("\n" + r.out, "\n" + verdict + "  " + kernel + " ");
}

std::size_t count_in(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// A shape that a model has is found, and what is found is judged.
TEST(OneShape, IsFoundIfAModelHasIt) {
  const Result r = verify(
      "shape_of_llama --kernel shape_of_llama_wrong --kernel shape_odd --kernel shape_latent "
      "--kernel shape_of_none --kernel shape_any_wrong_as_llama --kernel shape_any_right_as_odd",
      "");
  EXPECT_EQ(r.code, 1) << r.out << r.err;
  for (const char* right : {"shape_of_llama", "shape_latent", "shape_any_wrong_as_llama"})
    EXPECT_TRUE(says(r, "PASS", right) && !says(r, "FAIL", right)) << r.out;
  for (const char* wrong : {"shape_of_llama_wrong", "shape_any_right_as_odd"})
    EXPECT_TRUE(says(r, "FAIL", wrong) && !says(r, "PASS", wrong)) << r.out;
  EXPECT_EQ(count_in(r.out, "covered 100 % of 2-way"), count_in("\n" + r.out, "\nPASS  "));
  EXPECT_TRUE(contains(r.out, "k.heads=8")) << r.out;
  // No model has these shapes.
  EXPECT_TRUE(contains(r.out, "UNSUPPORTED shape_odd (table): everything: only the heads of one "))
      << r.out;
  EXPECT_TRUE(contains(r.out,
                       "UNSUPPORTED shape_of_none (table): everything: only f16; "
                       "only interleaved pairs;\n      head_dim must be "))
      << r.out;
  EXPECT_EQ(count_in(r.out, "UNSUPPORTED"), 2u) << r.out;
  const Result listed = ropewalk("list --features --quiet --kernel shape_of_llama" + plugin);
  EXPECT_TRUE(contains(listed.out, "; heads: 128\n")) << listed.out;
}

// The same kernels as above: the option decides what is judged.
TEST(OneShape, HoldsTheRunToIt) {
  const Result wrong =
      verify("shape_of_llama_wrong --kernel shape_any_wrong_as_llama", "--shape q=32,k=8,d=128");
  expect(wrong, 1, {"k.heads=8"});
  EXPECT_EQ(count_in("\n" + wrong.out, "\nPASS  "), 0u) << wrong.out;
  const Result right = verify("shape_odd --kernel shape_any_right_as_odd", "--shape q=6,k=2,d=44");
  EXPECT_EQ(right.code, 0) << right.out << right.err;
  EXPECT_TRUE(says(right, "PASS", "shape_odd")) << right.out;
  EXPECT_TRUE(contains(right.out, "half_split")) << right.out;
  EXPECT_TRUE(contains(right.out, "interleaved")) << right.out;
  const Result latent = verify("shape_latent", "--workload-file " + latent_file());
  EXPECT_EQ(latent.code, 0) << latent.out << latent.err;
  EXPECT_FALSE(contains(latent.out, "UNSUPPORTED")) << latent.out;
  for (const Result& r : {right, latent})
    EXPECT_EQ(count_in(r.out, "covered 100 % of 2-way"), count_in("\n" + r.out, "\nPASS  "));
}

TEST(OneShape, WhatIsStatedIsHeldToo) {
  const Result r =
      verify("plain", "--shape q=6,k=2,d=44,pairing=interleaved,dtype=f64,tokens=37,batch=2");
  expect(r, 0, {"3 of 3 claims hold", "interleaved f64"});
  EXPECT_FALSE(contains(r.out, "half_split")) << r.out;
}

// A run that is held to a model has a prompt of 2,048 tokens at its heads, in each profile.
TEST(OneShape, HasALongPromptOfItsModel) {
  const auto file = scratch() / "model.json";
  spill(file, R"({"model_type": "llama", "num_attention_heads": 32, "num_key_value_heads": 8,)"
              R"("hidden_size": 4096, "rope_theta": 10000, "max_position_embeddings": 4096,)"
              R"("torch_dtype": "float32"})");
  const std::string verify =
      "verify --profile smoke --property sizes --kernel shape_of_llama "
      "--kernel shape_short_prompt" +
      plugin;
  const Result free = ropewalk(verify), held = ropewalk(verify + "--config " + file.string());
  EXPECT_TRUE(says(free, "PASS", "shape_short_prompt")) << free.out << free.err;
  EXPECT_TRUE(says(held, "PASS", "shape_of_llama")) << held.out << held.err;
  EXPECT_TRUE(says(held, "FAIL", "shape_short_prompt")) << held.out << held.err;
  EXPECT_TRUE(contains(held.out, "tokens=2048")) << held.out;
}

// A call of 8 MiB lies between two levels of the covering array.
TEST(OneShape, MayBeLargerThanTheLevels) {
  const Result r =
      verify("shape_of_llama", "--workload llama-3-8b/prefill-512 --property agreement");
  expect(r, 0, {"3 of 3 claims hold", "covered 100 % of 2-way"});
}

// A kernel that takes its extensions together alone is judged, in no buffer of several tensors.
TEST(Together, IsJudged) {
  const Result r = ropewalk(
      "verify --profile smoke --property shared_inputs"
      " --property norm_head_alone --cases 3 --kernel 'together*'" +
      plugin);
  EXPECT_EQ(r.code, 1) << r.out << r.err;
  for (const std::string kernel : {"together_qkv", "together_plus_one", "together_all_three"}) {
    EXPECT_TRUE(says(r, "PASS", kernel) && !says(r, "FAIL", kernel)) << r.out;
    EXPECT_TRUE(contains(r.out, "FAIL  " + kernel + "_wrong (")) << r.out;
  }
  EXPECT_FALSE(contains(r.out, "everything:") || contains(r.out, "of the suite")) << r.out;
}

const std::string llama = " --shape q=32,k=8,d=128,tokens=2,";

Result bench(const std::string& kernel, const std::string& words) {
  return ropewalk("bench --profile smoke --rounds 6 --launches 1 --json --kernel " + kernel +
                  plugin + words);
}

std::size_t rows_that_are(const std::string& outcome, const Result& r) {
  return count_in(r.out, R"("outcome":")" + outcome + '"');
}
// Of kernels and twins. A shape out of place has one ceiling or two, as the machine has it.
std::size_t measured_kernels(const Result& r) {
  return rows_that_are("MEASURED", r) - count_in(r.out, R"("role":"ceiling")");
}

// Each kernel is right in the cases of verification, and is timed where it is right.
TEST(BenchShape, TimesNoKernelThatIsWrongAsItIsTimed) {
  const std::string three =
      "shape_no_scale --kernel shape_narrow_positions --kernel shape_packed_heads";
  const Result held =
      bench(three, llama + "in_place=no" + llama + "position_dtype=i32" + llama + "layout=fused");
  EXPECT_TRUE(held.code == 0 || held.code == 3) << held.out << held.err;
  EXPECT_EQ(measured_kernels(held), 3u * 4u) << held.out;  // the twin, too
  const Result broken = bench(three, llama + "in_place=no,scale=1.5" + llama +
                                         "position_dtype=i64" + llama + "layout=padded");
  EXPECT_EQ(broken.code, 1) << broken.out << broken.err;
  EXPECT_EQ(rows_that_are("MEASURED", broken), 0u) << broken.out;
  EXPECT_EQ(rows_that_are("BROKEN", broken), 3u * 3u) << broken.out;
}

// A kernel for one shape is verified on that shape, and timed there.
TEST(BenchShape, TimesEveryLayoutAndWindow) {
  std::string words = " --shape q=6,k=2,d=44,tokens=3";
  for (const std::string layout : {"packed", "head_major", "fused", "padded"})
    words += llama + "rd=64,qo=32,position_dtype=i64,layout=" + layout + llama +
             "in_place=no,scale=1.5,layout=" + layout;
  const Result r = bench("plain --kernel shape_odd", words);
  EXPECT_TRUE(r.code == 0 || r.code == 3) << r.out << r.err;
  // On nine shapes the kernel, its twin and a ceiling; on one shape another kernel, too.
  EXPECT_EQ(measured_kernels(r), 9u * 2u + 1u) << r.out;
  EXPECT_GE(count_in(r.out, R"("role":"ceiling")"), 9u) << r.out;
  EXPECT_EQ(rows_that_are("BROKEN", r) + rows_that_are("SKIPPED", r), 0u) << r.out;
}

TEST(OneShape, SixteenBitsAreTimedAndATypeThatNoKernelTakesIsTold) {
  const std::string bench =
      "bench --profile smoke --no-cuda --rounds 6 --launches 1 --shape q=2,k=1,d=8,tokens=1,dtype=";
  const Result none = ropewalk(bench + "bf16 --kernel complex");
  expect(none, 3, {},
         {"SKIPPED shape-q2-k1-d8-bf16/t1-b1: no chosen kernel takes half_split / "
          "bf16 / in place"});
  for (const std::string type : {"f16", "bf16"}) {
    const Result r = ropewalk(bench + type + " --kernel plain");
    EXPECT_TRUE(contains(r.out, "half_split / " + type + " / in place / table\n")) << r.out;
    EXPECT_FALSE(contains(r.out, "SKIPPED shape") || contains(r.out, "BROKEN")) << r.out;
  }
}

}  // namespace
