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
  return ropewalk("verify --profile smoke --kernel " + kernel + plugin + few + options);
}

std::string latent_file() {
  const auto file = scratch() / "latent.toml";
  spill(file, R"([[model]]
name = "latent"
model = "latent"
source = "this test"
pairing = "half_split"
dtype = "f32"
placement = "in_place"
q_heads = 128
k_heads = 1
head_dim = 192
k_head_dim = 64
q_rotary_offset = 128
rotary_dim = 64
rope_theta = 10000.0
)");
  return file.string();
}

TEST(OneShape, ThatAModelHasIsFound) {
  const Result r = verify("shape_of_llama", "");
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  EXPECT_TRUE(contains(r.out, "3 of 3 claims hold")) << r.out;
  EXPECT_TRUE(contains(r.out, "covered 100 % of 2-way")) << r.out;
  const Result listed = ropewalk("list --quiet --kernel shape_of_llama" + plugin);
  EXPECT_TRUE(contains(listed.out, "size_128_128")) << listed.out;
}

// A negative control: what is found is judged.
TEST(OneShape, ThatIsWrongFails) {
  for (const std::string options : {"", "--shape q=32,k=8,d=128"}) {
    const Result r = verify("shape_of_llama_wrong", options);
    EXPECT_EQ(r.code, 1) << r.out << r.err;
    EXPECT_TRUE(contains(r.out, "k.heads=8")) << r.out;
  }
}

TEST(OneShape, ThatNoModelHasNeedsTheOption) {
  const Result without = verify("shape_odd", "");
  EXPECT_EQ(without.code, 3) << without.out << without.err;
  EXPECT_TRUE(contains(without.out, "only the heads of one model")) << without.out;
  const Result r = verify("shape_odd", "--shape q=6,k=2,d=44");
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  EXPECT_TRUE(contains(r.out, "3 of 3 claims hold")) << r.out;
  EXPECT_TRUE(contains(r.out, "covered 100 % of 2-way")) << r.out;
}

TEST(OneShape, OfLatentAttentionHasAKeyOfItsOwn) {
  for (const std::string& options : {std::string(), "--workload-file " + latent_file()}) {
    const Result r = verify("shape_latent", options);
    EXPECT_EQ(r.code, 0) << r.out << r.err;
    EXPECT_TRUE(contains(r.out, "covered 100 % of 2-way")) << r.out;
    EXPECT_FALSE(contains(r.out, "UNSUPPORTED")) << r.out;
  }
}

// The same kernels with and without the option: it decides what is judged.
TEST(OneShape, HoldsTheRunToIt) {
  const std::string shape = "--shape q=32,k=8,d=128";
  EXPECT_EQ(verify("shape_any_wrong_as_llama", "").code, 0);
  const Result wrong = verify("shape_any_wrong_as_llama", shape);
  EXPECT_EQ(wrong.code, 1) << wrong.out << wrong.err;
  EXPECT_EQ(verify("shape_any_right_as_odd", "").code, 1);
  const Result right = verify("shape_any_right_as_odd", "--shape q=6,k=2,d=44");
  EXPECT_EQ(right.code, 0) << right.out << right.err;
  EXPECT_TRUE(contains(right.out, "half_split")) << right.out;
  EXPECT_TRUE(contains(right.out, "interleaved")) << right.out;
}

TEST(OneShape, WhatIsStatedIsHeldToo) {
  const Result r =
      verify("plain", "--shape q=6,k=2,d=44,pairing=interleaved,dtype=f64,tokens=37,batch=2");
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  EXPECT_TRUE(contains(r.out, "3 of 3 claims hold")) << r.out;
  EXPECT_TRUE(contains(r.out, "interleaved f64")) << r.out;
  EXPECT_FALSE(contains(r.out, "half_split")) << r.out;
}

// A call of 8 MiB lies between two levels of the covering array.
TEST(OneShape, MayBeLargerThanTheLevels) {
  const Result r =
      verify("shape_of_llama", "--workload llama-3-8b/prefill-512 --property agreement");
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  EXPECT_TRUE(contains(r.out, "3 of 3 claims hold")) << r.out;
  EXPECT_TRUE(contains(r.out, "covered 100 % of 2-way")) << r.out;
}

TEST(OneShape, ThatNothingFitsGivesTheReasons) {
  const Result r = verify("shape_of_none", "");
  EXPECT_EQ(r.code, 3) << r.out << r.err;
  EXPECT_TRUE(contains(r.out,
                       "UNSUPPORTED shape_of_none (table): everything: only f16; "
                       "only interleaved pairs; head_dim must be 1000"))
      << r.out;
}

const std::string llama = " --shape q=32,k=8,d=128,tokens=2,";

Result bench(const std::string& kernel, const std::string& words) {
  return ropewalk("bench --profile smoke --rounds 6 --launches 1 --json --kernel " + kernel +
                  plugin + words);
}

std::size_t measured_rows(const std::string& rows) {
  std::size_t count = 0;
  for (auto at = rows.find(R"("outcome":"MEASURED")"); at != std::string::npos;
       at = rows.find(R"("outcome":"MEASURED")", at + 1))
    ++count;
  return count;
}

// Each kernel is right in the cases of verification, and is timed where it is right.
TEST(BenchShape, TimesNoKernelThatIsWrongAsItIsTimed) {
  struct {
    const char *kernel, *right, *wrong;
  } const cases[] = {
      {"shape_no_scale", "in_place=no", "in_place=no,scale=1.5"},
      {"shape_narrow_positions", "position_dtype=i32", "position_dtype=i64"},
      {"shape_packed_heads", "layout=fused", "layout=padded"},
  };
  for (const auto& [kernel, right, wrong] : cases) {
    const Result held = bench(kernel, llama + right);
    EXPECT_TRUE(held.code == 0 || held.code == 3) << held.out << held.err;
    EXPECT_GT(measured_rows(held.out), 0u) << held.out;
    const Result broken = bench(kernel, llama + wrong);
    EXPECT_EQ(broken.code, 1) << broken.out << broken.err;
    EXPECT_EQ(measured_rows(broken.out), 0u) << broken.out;
    EXPECT_TRUE(contains(broken.out, R"("outcome":"BROKEN")")) << broken.out;
  }
}

TEST(BenchShape, TimesEveryLayoutAndWindow) {
  std::string words;
  for (const std::string layout : {"packed", "head_major", "fused", "padded"})
    words += llama + "rd=64,qo=32,position_dtype=i64,layout=" + layout + llama +
             "in_place=no,scale=1.5,layout=" + layout;
  const Result r = bench("plain", words);
  EXPECT_TRUE(r.code == 0 || r.code == 3) << r.out << r.err;
  EXPECT_FALSE(contains(r.out, R"("outcome":"BROKEN")")) << r.out;
  EXPECT_FALSE(contains(r.out, R"("outcome":"SKIPPED")")) << r.out;
  EXPECT_EQ(measured_rows(r.out), 8u * 3u) << r.out;  // the kernel, its twin and the ceiling
}

// A kernel for one shape is verified on that shape, and timed.
TEST(BenchShape, TimesAKernelForThatShapeAlone) {
  const Result r = bench("shape_odd", " --shape q=6,k=2,d=44,tokens=3");
  EXPECT_TRUE(r.code == 0 || r.code == 3) << r.out << r.err;
  EXPECT_GT(measured_rows(r.out), 0u) << r.out << r.err;
}

}  // namespace
