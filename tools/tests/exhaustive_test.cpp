// verify --exhaustive and merge as their users meet them. A planted error at one position is named
// and replays, shards join to the whole byte for byte, and a killed run resumes.
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <string>
#include <utility>

#include "tools/tests/shell.h"

namespace {

namespace fs = std::filesystem;

Result exhaustive(const std::string& arguments, const std::string& before = "") {
  return ropewalk("verify --exhaustive " + arguments, before);
}

const std::string far_kernel = " --kernel test_far --plugin " ROPEWALK_FAR_PLUGIN " --rotary-dim ";
const std::string far_range = "--positions 1234566000:1234570000" + far_kernel + "40 ";

using PlantedFault = std::array<std::string, 3>;  // the fault, the verdict and the place
class Far : public testing::TestWithParam<PlantedFault> {};

TEST_P(Far, APlantedErrorIsNamedAndReplays) {
  const auto& [fault, verdict, where] = GetParam();
  const std::string before = "FAR_FAULT=" + fault + " ";
  for (const char* jobs : {"--jobs 1", "--jobs 3"}) {
    Result r = exhaustive(far_range + jobs, before);
    r.out = unwrapped(r.out);
    EXPECT_EQ(r.code, 1) << r.out << r.err;
    for (const char* pairing : {"half_split", "interleaved"})
      EXPECT_TRUE(contains(r.out, std::string(" test_far (") + pairing)) << r.out;
    EXPECT_TRUE(r.out.starts_with(verdict)) << r.out;
    EXPECT_TRUE(contains(r.out, where)) << r.out;
    const auto at = r.out.find("ropewalk replay '");
    ASSERT_NE(at, std::string::npos) << r.out;
    const std::string line = r.out.substr(at + 9, r.out.find('\n', at) - at - 9);
    const Result again = ropewalk(line, before);
    EXPECT_EQ(again.code, 1) << again.out << again.err;
    EXPECT_TRUE(again.out.starts_with(verdict)) << again.out;
    EXPECT_TRUE(contains(again.out, where)) << again.out;
    EXPECT_EQ(ropewalk(line).code, 0) << "without the fault it holds";
    if (fault == "hang") return;  // each hang takes seconds
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, Far,
    testing::Values(PlantedFault{"wrong", "FAIL", "position 1234567890, pair 17, column"},
                    PlantedFault{"nan", "FAIL", "position 1234567890, pair 17, column"},
                    PlantedFault{"crash", "CRASH", "position 1234567890"},
                    PlantedFault{"hang", "HANG", "positions 1234566000:1234568389"}),
    [](const auto& planted) { return planted.param[0]; });

// What storing allows depends on the pair. One result is stored as the neighbour of the right one.
TEST(Exhaustive, A16BitKernelIsHeldToTheDistancesOfItsType) {
  for (const auto& [dtype, where] :
       {std::pair<std::string, std::string>{"bf16", "pair 0, column 1 (e1): 1.139 times its bound"},
        {"f16", "pair 6, the full vector: 1.085 times its bound"}}) {
    const std::string range = far_range + "--dtype " + dtype;
    const Result right = exhaustive(range);
    EXPECT_EQ(right.code, 0) << right.out << right.err;
    EXPECT_TRUE(contains(right.out, "PASS  test_far (interleaved " + dtype + " exact)"));
    EXPECT_TRUE(contains(right.out, " of 1 bound at position")) << right.out;
    Result r = exhaustive(range, "FAR_FAULT=next ");
    r.out = unwrapped(r.out);
    EXPECT_EQ(r.code, 1) << r.out << r.err;
    EXPECT_TRUE(contains(r.out, "position 1234567890, " + where)) << r.out;
    const auto at = r.out.find("ropewalk replay '");
    ASSERT_NE(at, std::string::npos) << r.out;
    const std::string line = r.out.substr(at + 9, r.out.find('\n', at) - at - 9);
    EXPECT_TRUE(contains(line, " dtype=" + dtype)) << line;
    EXPECT_EQ(ropewalk(line, "FAR_FAULT=next ").code, 1);
    EXPECT_EQ(ropewalk(line).code, 0);
  }
}

TEST(Exhaustive, TakesNoF64) {
  const Result wide = exhaustive("--positions 0:9 --kernel phase --dtype f64");
  EXPECT_EQ(wide.code, 2) << wide.out;
  EXPECT_TRUE(contains(wide.err, "--dtype f64 cannot be combined with --exhaustive")) << wide.err;
  const Result line =
      ropewalk("replay 'kernel=phase property=exhaustive contract=exact dtype=f64'");
  EXPECT_EQ(line.code, 2) << line.out;
  EXPECT_EQ(line.err, "ropewalk: replay line: property=exhaustive takes no dtype=f64\n");
}

/// A fault, and what the replay line must hold.
class WrongCalls : public testing::TestWithParam<std::pair<std::string, std::string>> {};

// Each position alone, forward and with int32 positions, is right.
TEST_P(WrongCalls, AreFoundThoughEachPositionAloneIsRight) {
  const auto& [fault, words] = GetParam();
  const std::string range =
      "--positions 1234400001:1234699999" + far_kernel + (fault == "large" ? "128" : "40");
  const std::string before = "FAR_FAULT=" + fault + " ";
  Result r = exhaustive(range, before);
  r.out = unwrapped(r.out);
  EXPECT_EQ(r.code, 1) << r.out << r.err;
  EXPECT_TRUE(contains(r.out, "a pair is too far from the exact rotation")) << r.out;
  const auto at = r.out.find("ropewalk replay '");
  ASSERT_NE(at, std::string::npos) << r.out;
  const std::string line = r.out.substr(at + 9, r.out.find('\n', at) - at - 9);
  EXPECT_TRUE(contains(line, words)) << line;
  const Result again = ropewalk(line, before);
  EXPECT_EQ(again.code, 1) << again.out << again.err;
  EXPECT_EQ(ropewalk(line).code, 0) << "without the fault it holds";
  EXPECT_EQ(exhaustive(range).code, 0);
}

INSTANTIATE_TEST_SUITE_P(All, WrongCalls,
                         testing::Values(std::pair("crossing", " tokens=2 "),
                                         std::pair("long", " tokens=4097 "),
                                         std::pair("large", " tokens=5462 "),
                                         std::pair("int64", " position_dtype=i64"),
                                         std::pair("backward", " op=transpose")),
                         [](const auto& kind) { return kind.param.first; });

TEST(Exhaustive, ARightKernelHoldsAndTableKernelsHaveNothingToEnumerate) {
  const Result far = exhaustive(far_range);
  EXPECT_EQ(far.code, 0) << far.out << far.err;
  const Result r = exhaustive("--positions -9000:9000 --kernel 'p*' --rotary-dim 16");
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  EXPECT_TRUE(contains(r.out, "PASS  phase (interleaved f32 exact): 18001 positions -9000:9000"));
  EXPECT_TRUE(contains(r.out, "PASS  plain_f32_angle (half_split f32 f32_angle)")) << r.out;
  EXPECT_TRUE(contains(r.out, "UNSUPPORTED plain (half_split f32 table): ")) << r.out;
  EXPECT_EQ(exhaustive("--positions 0:9 --kernel plain").code, 3);
}

TEST(Exhaustive, FourShardsAreTheWholeByteForByte) {
  const std::string what = "--kernel phase --positions 5:65535 --rotary-dim 32 ";
  const fs::path whole = fresh("whole"), merged = fresh("merged");
  ASSERT_EQ(exhaustive(what + "--out " + whole.string()).code, 0);
  std::string files;
  for (const char* shard : {"3", "1", "4", "2"}) {
    const fs::path out = fresh(std::string("shard") + shard);
    const Result r = exhaustive(what + "--shard " + shard + "/4 --out " + out.string());
    ASSERT_EQ(r.code, 0) << r.out << r.err;
    EXPECT_FALSE(fs::exists(out / "certificate.jsonl")) << "a shard is no certificate";
    if (std::string(shard) != "2") files += (out / "results.jsonl").string() + " ";
  }
  const Result gap = ropewalk("merge " + files + "--out " + merged.string());
  EXPECT_EQ(gap.code, 2);
  EXPECT_TRUE(contains(gap.err, "are in no file")) << gap.err;
  EXPECT_FALSE(fs::exists(merged));
  files += (scratch() / "shard2" / "results.jsonl").string() + " ";
  const Result r = ropewalk("merge " + files + "--out " + merged.string());
  ASSERT_EQ(r.code, 0) << r.out << r.err;
  for (const char* file : {"certificate.jsonl", "certificate.md"}) {
    EXPECT_EQ(slurp(merged / file), slurp(whole / file)) << file;
    EXPECT_NE(slurp(merged / file), "");
  }
  const Result twice =
      ropewalk("merge " + files + (whole / "results.jsonl").string() + " --out " + merged.string());
  EXPECT_EQ(twice.code, 2) << twice.err;
}

TEST(Exhaustive, RowsOfAnotherDivisionNeitherMergeNorResume) {
  const fs::path old = fresh("old");
  const std::string what = "--kernel phase --positions 0:9 --rotary-dim 2 --out " + old.string();
  ASSERT_EQ(exhaustive(what).code, 0);
  const std::string file = (old / "results.jsonl").string();
  shell(R"(sed -i 's/"division":"[^"]*",//' )" + file);
  for (const Result& r : {exhaustive(what + " --resume"),
                          ropewalk("merge " + file + " --out " + fresh("of_old").string())}) {
    EXPECT_EQ(r.code, 2) << r.out;
    EXPECT_TRUE(contains(r.err, "field 'division' is missing")) << r.err;
  }
}

TEST(Exhaustive, JobsDoNotChangeTheCertificate) {
  const std::string what = "--kernel phase --positions -5000000:0 --rotary-dim 2 --out ";
  const fs::path one = fresh("one"), three = fresh("three");
  ASSERT_EQ(exhaustive(what + one.string() + " --jobs 1").code, 0);
  ASSERT_EQ(exhaustive(what + three.string() + " --jobs 3").code, 0);
  EXPECT_EQ(slurp(one / "certificate.jsonl"), slurp(three / "certificate.jsonl"));
}

// The run is killed once the first piece is written. The second run must complete the same
// certificate.
TEST(Exhaustive, AKilledRunGoesOn) {
  const std::string what = "--kernel phase --positions 0:16777215 --rotary-dim 2 --jobs 2 --out ";
  const fs::path cut = fresh("cut"), whole = fresh("whole");
  shell(std::string(ROPEWALK_EXECUTABLE) + " verify --exhaustive " + what + cut.string() +
        " >/dev/null & pid=$!; for i in $(seq 3000); do sleep 0.02; grep -q "
        "'\"row\":\"certificate\"' " +
        (cut / "results.jsonl").string() + " 2>/dev/null && break; done; kill -9 $pid; wait $pid");
  const std::string before = slurp(cut / "results.jsonl");
  ASSERT_TRUE(contains(before, "\"row\":\"certificate\"")) << before;
  ASSERT_FALSE(contains(before, "\"row\":\"end\"")) << "it ended before it was killed";
  const Result other = exhaustive(what + cut.string() + " --resume --rope-theta 500000");
  EXPECT_EQ(other.code, 2) << other.out;
  EXPECT_TRUE(contains(other.err, "cannot be resumed: rope_theta: 10000, not 500000")) << other.err;
  const Result r = exhaustive(what + cut.string() + " --resume");
  ASSERT_EQ(r.code, 0) << r.out << r.err;
  EXPECT_TRUE(slurp(cut / "results.jsonl").starts_with(before.substr(0, before.rfind('\n'))));
  ASSERT_EQ(exhaustive(what + whole.string()).code, 0);
  EXPECT_EQ(slurp(cut / "certificate.jsonl"), slurp(whole / "certificate.jsonl"));
  const Result ended = exhaustive(what + cut.string() + " --resume --kernel plain_f32_angle");
  EXPECT_EQ(ended.code, 2);
  EXPECT_TRUE(contains(ended.err, "that run has ended")) << ended.err;
}

}  // namespace
