// Targets, the headers of include-dir, and how the first failure and the progress are told.
#include <gtest/gtest.h>

#include <string>

#include "tools/tests/shell.h"

namespace {

const std::string file = ROPEWALK_TEST_PLUGIN, mutants = ROPEWALK_MUTANTS;
const std::string quick = " --cases 3 --property norm";

// The kernels of a run's rows, one word each, in order and once.
std::string kernels_of(const Result& r) {
  std::string kernels;
  for (std::size_t at = 0; at < r.out.size(); at = r.out.find('\n', at) + 1)
    if (const std::string name = field(r.out.substr(at, r.out.find('\n', at) - at), "kernel");
        !kernels.ends_with(name))
      kernels += (kernels.empty() ? "" : " ") + name;
  return kernels;
}

TEST(Targets, AFileIsAllItsKernelsOneOfThemOrOneOfTheTree) {
  const std::string folder = "cd '" + scratch().string() + "'; ";
  std::string two = slurp(ROPEWALK_SOURCE_DIR "/kernels/example/example.cpp");
  two.insert(two.find("ROPEWALK_PLUGIN"),
             "static const ropewalk::RegisteredKernel "
             "second{ropewalk::f32_table_kernel<rotate>(\"second\")};\n");
  spill(scratch() / "k.cpp", two);
  ASSERT_EQ(shell(folder + "c++ -std=c++20 -shared -fPIC -I\"$(" + ROPEWALK_EXECUTABLE +
                  " include-dir)\" k.cpp -o k.so")
                .code,
            0);
  for (const auto& [targets, kernels] :
       {std::pair{"./k.so", "example_cpp second"},
        {"k.so::sec*", "second"},
        {"k.so::second plain", "plain second"},
        {"second --plugin k.so", "second"},
        {"base=k.so head=k.so::second", "base:example_cpp base:second head:second"}}) {
    const Result r = ropewalk("verify --json" + quick + " " + targets, folder);
    EXPECT_EQ(r.code, 0) << r.err;
    EXPECT_EQ(kernels_of(r), kernels) << targets;
  }
}

TEST(Targets, WithoutAProfileAreJudgedInSmoke) {
  for (const auto& [words, profile] : {std::pair{"plain", "smoke"},
                                       {"plain --profile standard", "standard"},
                                       {"--kernel plain", "standard"}}) {
    const auto out = fresh();
    const Result r = ropewalk(std::string("verify ") + words + quick + " --out " + out.string());
    EXPECT_EQ(r.code, 0) << r.err;
    EXPECT_EQ(field(slurp(out / "results.jsonl"), "profile"), profile) << words;
  }
}

TEST(Targets, BenchTimesTheTreesVectorKernelsBesideThem) {
  const Result r = ropewalk("bench --json " + file +
                            "::test_right --shape q=2,k=1,d=64,tokens=4 --rounds 6 --launches 1");
  for (const std::string kernel : {"plain", "avx2", "avx512", "test_right"})
    EXPECT_TRUE(contains(r.out, "\"kernel\":\"" + kernel + "\"") ||
                contains(r.out + r.err, "SKIPPED " + kernel))
        << kernel << r.out << r.err;
  EXPECT_FALSE(contains(r.out, "\"kernel\":\"elementwise\"")) << r.out;
}

TEST(Targets, WhatIsNoTargetIsToldInOneLine) {
  const auto source = scratch() / "k.cpp";
  spill(source, "");
  const struct {
    std::string words, told;
  } wrong[] = {
      {"verify " + file + "::nothing", "has no kernel nothing: it has test_right"},
      {"verify " + source.string(), "is source code; make a shared library of it"},
      {"verify " + file + " ./copy.so", "is there already"},
      {file, "did you mean ropewalk verify " + file},
  };
  spill(scratch() / "copy.so", slurp(file));
  for (const auto& [words, told] : wrong)
    expect_one_line(ropewalk(words, "cd '" + scratch().string() + "'; "), {told});
}

// ---- the first failure

const std::string wrong = "mutant_wrong_way_table";

TEST(FirstFailure, IsToldOnceAndBeforeTheOthers) {
  const Result r = ropewalk("verify " + mutants + "::" + wrong);
  EXPECT_EQ(r.code, 1);
  EXPECT_TRUE(r.out.starts_with("first failure, after ")) << r.out;
  const std::string block = "FAIL  " + wrong + " (half_split f32 table): agreement\n";
  EXPECT_TRUE(contains(r.out, block)) << r.out;
  EXPECT_EQ(r.out.find(block), r.out.rfind(block)) << r.out;
  EXPECT_TRUE(contains(r.out, "agreement, the first failure, above\n      same cause ")) << r.out;
}

TEST(FirstFailure, EndsTheRunOnlyIfAskedTo) {
  const std::string words =
      "verify --json " + mutants + "::" + wrong + " " + mutants + "::control_one_token_only_table";
  const std::string all = ropewalk(words).out, first = ropewalk(words + " --fail-fast").out;
  EXPECT_GT(lines_in(all), 60) << all;
  EXPECT_TRUE(contains(all, "\"kernel\":\"control_")) << all;
  EXPECT_EQ(lines_in(first), 1) << first;
  EXPECT_EQ(field(first, "verdict"), "FAIL") << first;
}

TEST(FirstFailure, IsNoneIfItIsKnown) {
  const auto known = scratch() / "known.txt";
  spill(known, wrong + " agreement 2999-01-01 planted\n");
  const Result r = ropewalk("verify " + mutants + "::" + wrong +
                            " --property norm --property "
                            "agreement --known-failures " +
                            known.string());
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  EXPECT_FALSE(contains(r.out, "first failure")) << r.out;
  EXPECT_TRUE(contains(r.out, "known")) << r.out;
}

TEST(Progress, ALineEachSecondInAPipeAndNoneIfQuiet) {
  const std::string words = "verify plain avx2 --dtype f32 --property agreement",
                    err = " 2>&1 >/dev/null";
  const Result told = ropewalk(words + err), quiet = ropewalk(words + " --quiet" + err);
  EXPECT_TRUE(contains(told.out, " claims; ")) << told.out;
  EXPECT_FALSE(contains(told.out, "\r")) << told.out;
  EXPECT_EQ(quiet.out, "");
}

}  // namespace
