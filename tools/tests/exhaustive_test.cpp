// verify --exhaustive and merge as their users meet them. A planted error at one position is named
// and replays, shards join to the whole byte for byte, and what is missing of them is named.
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>

#include "tools/tests/shell.h"

namespace {

namespace fs = std::filesystem;

Result exhaustive(const std::string& arguments, const std::string& before = "") {
  return ropewalk("verify --exhaustive " + arguments, before);
}

// The command of the first replay line.
std::string replay_of(const std::string& out) {
  const auto at = out.find("replay '");
  EXPECT_NE(at, std::string::npos) << out;
  return at == std::string::npos ? "" : out.substr(at, out.find('\n', at) - at);
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
    const std::string line = replay_of(r.out);
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
                    PlantedFault{"hang", "HANG", "positions 1234566000:1234570000"}),
    [](const auto& planted) { return planted.param[0]; });

// What storing allows depends on the pair. One result is stored as the neighbour of the right one.
TEST(Exhaustive, A16BitKernelIsHeldToTheDistancesOfItsType) {
  for (const auto& [dtype, where] :
       {std::pair<std::string, std::string>{"bf16", "pair 0, column 1 (e1)"},
        {"f16", "pair 6, the full vector"}}) {
    const std::string range = far_range + "--dtype " + dtype;
    const Result right = exhaustive(range);
    expect(right, 0,
           {"PASS  test_far (interleaved " + dtype + " exact)", " of 1 bound at position"});
    Result r = exhaustive(range, "FAR_FAULT=next ");
    r.out = unwrapped(r.out);
    expect(r, 1, {"position 1234567890, " + where});
    const std::string line = replay_of(r.out);
    EXPECT_TRUE(contains(line, " dtype=" + dtype)) << line;
    EXPECT_EQ(ropewalk(line, "FAR_FAULT=next ").code, 1);
    EXPECT_EQ(ropewalk(line).code, 0);
  }
}

/// A fault, what the replay line must hold, and how many tokens it needs at least.
using WrongCall = std::tuple<std::string, std::string, int>;
class WrongCalls : public testing::TestWithParam<WrongCall> {};

// Each position alone, forward and with int32 positions, is right.
TEST_P(WrongCalls, AreFoundThoughEachPositionAloneIsRight) {
  const auto& [fault, words, least_tokens] = GetParam();
  const std::string range =
      "--positions 1234400001:1234699999" + far_kernel + (fault == "large" ? "128" : "40");
  const std::string before = "FAR_FAULT=" + fault + " ";
  Result r = exhaustive(range, before);
  r.out = unwrapped(r.out);
  expect(r, 1, {"a pair is too far from the exact rotation"});
  const std::string line = replay_of(r.out);
  EXPECT_TRUE(contains(line, words)) << line;
  const auto at = line.find(" tokens=");
  EXPECT_GE(at == line.npos ? 1 : std::stoi(line.substr(at + 8)), least_tokens) << line;
  const Result again = ropewalk(line, before);
  EXPECT_EQ(again.code, 1) << again.out << again.err;
  EXPECT_EQ(ropewalk(line).code, 0) << "without the fault it holds";
  EXPECT_EQ(exhaustive(range).code, 0);
}

INSTANTIATE_TEST_SUITE_P(All, WrongCalls,
                         testing::Values(WrongCall("crossing", " tokens=2 ", 2),
                                         WrongCall("long", " tokens=", 4097),
                                         WrongCall("large", " tokens=", 5462),
                                         WrongCall("int64", " position_dtype=i64", 1),
                                         WrongCall("backward", " op=transpose", 1)),
                         [](const auto& kind) { return std::get<0>(kind.param); });

TEST(Exhaustive, ARightKernelHoldsAndTableKernelsHaveNothingToEnumerate) {
  const Result far = exhaustive(far_range);
  EXPECT_EQ(far.code, 0) << far.out << far.err;
  const Result r = exhaustive("--positions -9000:9000 --kernel 'p*' --rotary-dim 16");
  expect(r, 0,
         {"PASS  phase (interleaved f32 exact): 18001 positions -9000:9000",
          "PASS  plain_f32_angle (half_split f32 f32_angle)",
          "UNSUPPORTED plain (half_split f32 table): "});
  EXPECT_EQ(exhaustive("--positions 0:9 --kernel plain").code, 3);
}

TEST(Exhaustive, JobsDoNotChangeTheCertificate) {
  const std::string what = "--kernel phase --positions -5000000:0 --rotary-dim 2 --out ";
  const fs::path one = fresh("one"), three = fresh("three");
  ASSERT_EQ(exhaustive(what + one.string() + " --jobs 1").code, 0);
  ASSERT_EQ(exhaustive(what + three.string() + " --jobs 3").code, 0);
  EXPECT_EQ(slurp(one / "certificate.jsonl"), slurp(three / "certificate.jsonl"));
}

/// Six shards of a small range, each in a folder of its own.
class Shards : public testing::Test {
 protected:
  Result shard(int i, const std::string& more = "") const {
    return exhaustive(what + more + " --shard auto/6 --out " + parts.string(),
                      "OMPI_COMM_WORLD_RANK=" + std::to_string(i - 1) + " ");
  }
  void SetUp() override {
    for (const int i : {3, 1, 6, 4, 2, 5}) ASSERT_EQ(shard(i).code, 0) << i;
    ASSERT_EQ(exhaustive(what + "--out " + whole.string()).code, 0);
  }
  fs::path results(int i) const { return parts / ("shard" + std::to_string(i)) / "results.jsonl"; }
  Result missing() const {
    return ropewalk("merge --missing " + parts.string() + " --out " + merged.string());
  }
  void expect_whole() const {
    for (const char* file : {"certificate.jsonl", "certificate.md"}) {
      EXPECT_EQ(slurp(merged / file), slurp(whole / file)) << file;
      EXPECT_NE(slurp(merged / file), "");
    }
  }
  const std::string what = "--kernel 'phas*' --positions 5:65535 ";
  const fs::path parts = fresh("parts"), whole = fresh("whole"), merged = fresh("merged");
};

TEST_F(Shards, AreTheWholeByteForByte) {
  EXPECT_FALSE(fs::exists(parts / "shard1" / "certificate.jsonl")) << "a shard is no certificate";
  const Result all = missing();
  ASSERT_EQ(all.code, 0) << all.out << all.err;
  EXPECT_TRUE(all.out.starts_with("6 of 6 shards are there\n")) << all.out;
  expect_whole();
  const std::string to = " --out " + fresh("merged").string();
  std::string files = "merge";
  for (const int i : {2, 4, 6, 3, 5}) files += " " + results(i).string();
  const Result gap = ropewalk(files + to);
  expect(gap, 2, {}, {"are in no file"});
  EXPECT_FALSE(fs::exists(merged));
  files += " " + results(1).string();
  ASSERT_EQ(ropewalk(files + to).code, 0);
  expect_whole();
  EXPECT_EQ(ropewalk(files + " " + (whole / "results.jsonl").string() + to).code, 2);
}

// One was cut off within a row, one is of another binary, one has no row, and one has no folder.
TEST_F(Shards, ThatAreMissingAreNamedWithTheLinesThatMakeThem) {
  const std::string rows = slurp(results(1));
  spill(results(1), rows.substr(0, rows.find('\n', rows.find(R"("row":"verdict")")) + 9));
  shell("sed -i 's/ code=fnv1a128:../ code=fnv1a128:/' " + results(2).string());
  spill(results(3), rows.substr(0, 9));
  fs::remove_all(results(4).parent_path());
  const Result named = missing();
  expect(named, 3,
         {"shard1 was cut off (rows: 1)\n", "shard2 is of another binary: code: fnv1a128:",
          "shard 4/6 is not there\n  ropewalk verify --exhaustive --kernel 'phas*' ",
          "\n2 of 6 shards are there\n"});
  EXPECT_FALSE(fs::exists(merged));
  std::istringstream lines(named.out);
  int commands = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("  ropewalk ")) continue;
    ++commands;
    EXPECT_EQ(ropewalk(line.substr(std::string("  ropewalk ").size())).code, 0) << line;
  }
  EXPECT_EQ(commands, 4);
  EXPECT_EQ(missing().code, 0);
  expect_whole();
}

TEST_F(Shards, OfSeveralRunsAreRefusedInALine) {
  const std::string to = " --out " + (parts / "shard7").string();
  const auto refused = [&](const std::string& words) { expect_one_line(missing(), {words}); };
  ASSERT_EQ(exhaustive("--kernel phase --positions 5:65534 --shard 6/6" + to).code, 0);
  refused("shard7 is not part of the same run as most: tokens: 65530, not 65531");
  ASSERT_EQ(exhaustive(what + "--shard 4/4" + to).code, 0);
  refused("shard1 is one of 6 shards, ");
  fs::remove_all(parts / "shard7");
  shell(R"(sed -i 's/"part_of":"[^"]*"/"part_of":"kernel=phase tokens=0"/' )" +
        results(6).string());
  refused("phase half_split f32: replay line: ");
  shell(R"(sed -i 's/,"part_of":"[^"]*"//' )" + results(6).string());
  refused("holds no certificate rows");
  fs::remove_all(parts);
  fs::create_directories(parts);
  refused("no folder in it is of verify --exhaustive --shard");
}

TEST(ShardIndex, ComesFromTheOneEngineThatSetsIt) {
  const std::string array = "SLURM_ARRAY_TASK_MIN=10 SLURM_ARRAY_TASK_STEP=5 SLURM_ARRAY_TASK_ID=";
  const struct {
    std::string environment, shard, words;
  } lines[] = {
      {array + "15 ", "auto/2", "shard 2/2 by SLURM_ARRAY_TASK_ID=15\n"},
      {"PMI_RANK=1 ", "auto/2", "shard 2/2 by PMI_RANK=1\n"},
      {"JOB_COMPLETION_INDEX=0 ", "auto/2", "shard 1/2 by JOB_COMPLETION_INDEX=0\n"},
      {array + "16 ", "auto/2", "name no task of an array"},
      {"SLURM_ARRAY_TASK_ID=1 ", "auto/2", "name no task of an array"},
      {"PMI_RANK=x ", "auto/2", "PMI_RANK=x is not a rank"},
      {"PMI_RANK=2 ", "auto/2", "PMI_RANK=2: must be i/n"},
      {"PMI_RANK=0 ", "auto/0", "must be i/n with 1 <= i <= n"},
      {"PMI_RANK=0 " + array + "10 ", "auto/2", "SLURM_ARRAY_TASK_ID and PMI_RANK are both set"},
      {"", "auto/2", "JOB_COMPLETION_INDEX is set, so give i as a number"},
  };
  for (const auto& [environment, shard, words] : lines) {
    const Result r = exhaustive(
        "--kernel phase --positions 0:65535 --rotary-dim 2 --shard " + shard, environment);
    const bool taken = words.starts_with("shard ");
    EXPECT_EQ(r.code, taken ? 0 : 2) << environment << r.err;
    EXPECT_TRUE(taken ? r.out.starts_with(words) : contains(r.err, words)) << r.out << r.err;
    EXPECT_TRUE(taken || (lines_in(r.err) == 1 && r.out.empty())) << r.err;
  }
}

}  // namespace
