#include "kernels/api/cpu_features.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

namespace ropewalk {
namespace {

using List = std::vector<std::string>;

/// The mask belongs to the process, so every test begins and ends without a mask.
class CpuFeatures : public ::testing::Test {
 protected:
  void SetUp() override { mask_cpu_features("all"); }
  void TearDown() override { mask_cpu_features("all"); }

  static bool has(const std::string& word) {
    const List have = cpu_features();
    return std::find(have.begin(), have.end(), word) != have.end();
  }
  static std::string refusal(std::string_view list) {
    try {
      mask_cpu_features(list);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  }
};

TEST_F(CpuFeatures, NothingRequiredIsNeverMissing) {
  for (const char* mask : {"all", ""}) {
    mask_cpu_features(mask);
    EXPECT_EQ(missing_cpu_feature(nullptr), "");
    EXPECT_EQ(missing_cpu_feature(""), "");
  }
}

TEST_F(CpuFeatures, UnknownWordIsMissing) {
  EXPECT_EQ(missing_cpu_feature("avx1024"), "avx1024");
  EXPECT_EQ(missing_cpu_feature("AVX2"), "AVX2");
  EXPECT_EQ(missing_cpu_feature("avx2 "), "avx2 ");
}

TEST_F(CpuFeatures, EmptyWordInAListIsMissingToo) {
  for (const char* list : {",", ",avx2", "avx2,,fma", ",avx1024"}) {
    EXPECT_NE(missing_cpu_feature(list), "") << list;
  }
}

TEST_F(CpuFeatures, EmptyMaskLeavesNothing) {
  const List before = cpu_features();
  mask_cpu_features("");
  EXPECT_EQ(cpu_features(), List{});
  for (const std::string& word : before) EXPECT_EQ(missing_cpu_feature(word.c_str()), word);
  mask_cpu_features("all");
  EXPECT_EQ(cpu_features(), before);
}

TEST_F(CpuFeatures, MaskIsAFilterAndAddsNothing) {
  const List before = cpu_features();
  for (const char* word : {"avx2", "fma", "avx512f", "avx512fp16"}) {
    const bool there = has(word);
    mask_cpu_features(word);
    EXPECT_EQ(cpu_features(), there ? List{word} : List{});
    mask_cpu_features("all");
  }
  std::string everything;
  for (const std::string& word : before) everything += (everything.empty() ? "" : ",") + word;
  mask_cpu_features(everything);
  EXPECT_EQ(cpu_features(), before);
}

TEST_F(CpuFeatures, FirstMissingWordIsNamed) {
  if (!has("avx2") || !has("fma")) GTEST_SKIP() << "needs a machine with AVX2 and FMA";
  EXPECT_EQ(missing_cpu_feature("avx2,fma"), "");
  mask_cpu_features("avx2");
  EXPECT_EQ(missing_cpu_feature("avx2"), "");
  EXPECT_EQ(missing_cpu_feature("avx2,fma"), "fma");
  EXPECT_EQ(missing_cpu_feature("fma,avx512f"), "fma");
  mask_cpu_features("fma");
  EXPECT_EQ(missing_cpu_feature("avx2,fma"), "avx2");
}

TEST_F(CpuFeatures, UnknownWordInTheMaskIsRefusedByName) {
  const List before = cpu_features();
  EXPECT_NE(refusal("avx2,avx1024").find("'avx1024'"), std::string::npos);
  EXPECT_NE(refusal("avx1024").find("avx512bf16"), std::string::npos) << "lists the known ones";
  EXPECT_NE(refusal("avx2,,fma"), "");
  EXPECT_NE(refusal("none"), "");
  EXPECT_EQ(cpu_features(), before) << "a refused mask changes nothing";
}

TEST_F(CpuFeatures, WordsImplyTheOlderOnes) {
  EXPECT_TRUE(!has("avx512f") || has("avx2"));
  EXPECT_TRUE(!has("avx2") || has("avx"));
#if defined(__AVX2__)
  EXPECT_TRUE(has("avx2")) << "this very program uses it";
#endif
}

}  // namespace
}  // namespace ropewalk
