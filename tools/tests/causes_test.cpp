// What a run prints of failures: one block for each cause, and a line for all that it explains.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>

#include "tools/tests/shell.h"

namespace {

const std::string plugin = std::string(" --plugin ") + ROPEWALK_SENTENCES_PLUGIN;

// A block is at most a screen, and its replay line works in a shell as it is printed.
void expect_that_blocks_fit(const std::string& out) {
  std::istringstream lines(out);
  std::string replay;
  int block = 0;
  for (std::string line; std::getline(lines, line);) {
    EXPECT_TRUE(line.size() <= 100u || line.starts_with("not asked of ")) << line;
    block = line.starts_with("      ") ? block + 1 : 1;
    EXPECT_LE(block, 20) << line;
    if (line.starts_with("      replay ") || !replay.empty()) replay += line.substr(17) + "\n";
    if (!line.ends_with('\'') || replay.empty()) continue;
    const Result again = ropewalk(replay.substr(std::string("ropewalk ").size()));
    EXPECT_EQ(again.code, 1) << replay << again.out << again.err;
    replay.clear();
  }
  EXPECT_TRUE(replay.empty()) << replay;
}

std::string verify(const std::string& kernel, const std::string& words = "") {
  const Result r = ropewalk("verify --profile smoke --kernel " + kernel + plugin + words);
  EXPECT_EQ(r.code, 1) << r.out << r.err;
  if (words != " --all" && !contains(words, "--json")) expect_that_blocks_fit(r.out);
  return r.out;
}

int blocks_in(const std::string& text) {
  int blocks = 0;
  for (auto at = text.find("      claim "); at != std::string::npos;
       at = text.find("      claim ", at + 1))
    ++blocks;
  return blocks;
}

TEST(Causes, OneErrorIsOneBlock) {
  const std::string out = verify("causes_sign");
  EXPECT_EQ(blocks_in(out), 1) << out;
  EXPECT_LE(lines_in(out), 40) << out;
  const auto block = out.find("(half_split f32 table): agreement");
  ASSERT_NE(block, std::string::npos) << out;
  EXPECT_TRUE(contains(out, "cause      subtracts in second elements where it should add")) << out;
  const std::string joined = unwrapped(out);
  const auto line = joined.find("      same cause ");
  ASSERT_NE(line, std::string::npos) << out;
  const std::string same = joined.substr(line, joined.find('\n', line) - line);
  EXPECT_TRUE(contains(same, "agreement (interleaved f32)")) << same;
  for (const char* named_or_not : {"norm, ", "composition, ", "far_strides, ", "history"})
    EXPECT_TRUE(contains(same, named_or_not)) << same;
  EXPECT_TRUE(same.ends_with("; --all shows each")) << same;
  EXPECT_FALSE(contains(out, "start here")) << out;

  const std::string all = verify("causes_sign", " --all");
  EXPECT_GT(blocks_in(all), 20) << all;
  EXPECT_FALSE(contains(all, "same cause ")) << all;
}

// Dims beside the rotated ones are no pairs: they stay wrong when the pairs are put right. The
// block that has a cause stands first, and the last two lines say so.
TEST(Causes, AnotherErrorHasABlockOfItsOwn) {
  const std::string out = unwrapped(verify("causes_two_errors"));
  EXPECT_EQ(blocks_in(out), 2) << out;
  const std::string last = out.substr(std::min(out.rfind("start here: "), out.size()));
  EXPECT_TRUE(last.starts_with("start here: causes_two_errors (half_split f32 table), ")) << out;
  EXPECT_TRUE(contains(last, "subtracts in second elements")) << out;
  EXPECT_LE(lines_in(last), 2) << out;
  EXPECT_FALSE(contains(last, "ropewalk replay")) << out;
  EXPECT_FALSE(contains(verify("causes_two_errors", " --json --property norm"), "start here"));
  EXPECT_LT(out.find("      cause "), out.find("(half_split f32 table): untouched_dims")) << out;
  EXPECT_TRUE(contains(out, "(half_split f32 table): untouched_dims")) << out;
  for (auto at = out.find("same cause "); at != std::string::npos;
       at = out.find("same cause ", at + 1)) {
    const std::string line = out.substr(at, out.find('\n', at) - at);
    EXPECT_FALSE(contains(line, "untouched_dims") && contains(line, "norm")) << line;
  }
}

// The row of the law is first, since its line shows the failure; the others held when made again.
TEST(Causes, AStateOfEarlierCallsIsOneBlock) {
  const std::string out =
      ropewalk("verify --profile smoke --kernel causes_scale_kept" + plugin).out;
  const auto last = out.rfind("      claim ");
  EXPECT_LE(blocks_in(out), 2) << out;
  EXPECT_TRUE(contains(out.substr(last), "cause      keeps something of an earlier call")) << out;
  EXPECT_FALSE(contains(out.substr(last), "made again, alone")) << out;
  EXPECT_FALSE(contains(verify("causes_sign"), "keeps something")) << "control";
}

TEST(Causes, AReplayNamesItToo) {
  const Result r = ropewalk("replay 'kernel=causes_sign property=agreement positions=1 q.heads=1" +
                            (" plugin=" + std::string(ROPEWALK_SENTENCES_PLUGIN)) + "'");
  EXPECT_TRUE(contains(unwrapped(r.out), "cause      subtracts in second elements")) << r.out;
}

TEST(Causes, AnErrorOfTheFirstCallAloneIsCalledThat) {
  const std::string words = " (only in the first call of a process)\n";
  const std::string out = unwrapped(verify("causes_first_call", " --property order"));
  EXPECT_TRUE(contains(out, words)) << out;
  EXPECT_FALSE(contains(verify("causes_sign", " --property norm"), words));
}

}  // namespace
