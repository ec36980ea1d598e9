// No kernel ends the judging of others, and nothing that comes from outside is a kernel's failure.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tools/tests/shell.h"
#include "tools/tests/timings.h"

namespace {

const std::string plugin = std::string(" --plugin ") + ROPEWALK_SURVIVAL_PLUGIN + " ";

Result verify(const std::string& words, const std::string& environment = "") {
  return ropewalk("verify --profile smoke --jobs 1 --dtype f32 " + words + plugin, environment);
}
bool says(const Result& r, const std::string& verdict, const std::string& kernel) {
  return contains("\n" + r.out, "\n" + verdict + " " + kernel + " ");
}

TEST(Survival, AnErrorAtTheLastPositionEndsNoRun) {
  const Result r = verify("--property position_sweep --kernel s_last_position --kernel s_right");
  EXPECT_EQ(r.code, 1) << r.out << r.err;
  EXPECT_TRUE(says(r, "FAIL ", "s_last_position") && says(r, "PASS ", "s_right")) << r.out;
  EXPECT_FALSE(contains(r.out + r.err, "position outside")) << r.out << r.err;
}

TEST(Survival, SizesRoundedUpKeepPositionsInRange) {
  const Result r = verify("--property position_sweep --kernel s_tokens_of_256");
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  EXPECT_TRUE(says(r, "PASS ", "s_tokens_of_256")) << r.out;
  EXPECT_FALSE(contains(r.out + r.err, "is outside")) << r.out << r.err;
}

TEST(Survival, AKernelKilledTwiceIsNotJudged) {
  const std::string words = "--property norm --property linearity --cases 2 --kernel s_killed";
  const Result twice = verify(words);
  expect(twice, 3, {"ended from"});
  EXPECT_FALSE(contains(twice.out, "CRASH")) << twice.out;
  const auto mark = fresh("mark");
  const Result once = verify(words, "SURVIVAL_MARK='" + mark.string() + "' ");
  EXPECT_EQ(once.code, 0) << once.out << once.err;
  EXPECT_TRUE(std::filesystem::exists(mark));
  EXPECT_TRUE(says(once, "PASS ", "s_killed")) << once.out;
}

// The limit of a wide head allows for such work.
TEST(Survival, WorkThatGrowsWithTheSquareOfAHeadIsNoHang) {
  const Result r = ropewalk(
      "replay 'kernel=s_takes_long property=agreement tokens=50 rotary_dim=512 q.head_dim=512 "
      "plugin=" ROPEWALK_SURVIVAL_PLUGIN "'");
  EXPECT_EQ(r.code, 0) << r.out << r.err;
}

TEST(Survival, APollingThreadIsChargedToItsOwnKernel) {
  const auto out = fresh();
  const Result r = ropewalk(
      "bench --profile smoke --launches 1 --rounds 8 --shape q=4,d=64,tokens=16 --kernel s_polls "
      "--kernel s_right --kernel plain --out " +
      out.string() + plugin);
  EXPECT_NE(r.code, 2) << r.out << r.err;
  for (const Timing& row : timings_of(out / "results.jsonl"))
    EXPECT_NE(row.outcome, "BROKEN") << row.line;
}

TEST(Survival, ACutOffLibraryIsToldInALine) {
  const auto cut = fresh("cut.so");
  std::filesystem::copy_file(ROPEWALK_SURVIVAL_PLUGIN, cut);
  std::filesystem::resize_file(cut, std::filesystem::file_size(cut) / 3);
  const Result r = ropewalk("list --plugin '" + cut.string() + "'");
  EXPECT_EQ(r.code, 2);
  EXPECT_EQ(r.err, "ropewalk: plugin " + cut.string() +
                       ": is cut off: the file is shorter than its header says\n");
}

}  // namespace
