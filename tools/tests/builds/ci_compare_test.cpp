// tools/ci_compare as a project uses it: a repository whose plugin becomes twice as slow.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tools/tests/shell.h"

namespace {

const std::string usual = "'cp \"$(cat which)\" plugin.so' plugin.so ";

/// A repository with two revisions, `once` and `twice`; the working tree is the second.
class CiCompare : public testing::Test {
 protected:
  void SetUp() override {
    if (shell("command -v git").code != 0) GTEST_SKIP() << "needs git";
    std::filesystem::create_directories(project_);
    const Result r = in_project(
        "git init -q . && git config user.email a@b.c && git config user.name a && "
        "echo out >.gitignore && echo plugin.so >>.gitignore && echo " +
        std::string(ROPEWALK_BUILD_ONCE) + " >which && git add . && git commit -qm 1 && " +
        "git tag once && echo " + ROPEWALK_BUILD_TWICE +
        " >which && git commit -qam 2 && git tag twice");
    ASSERT_EQ(r.code, 0) << r.out << r.err;
  }

  Result in_project(const std::string& line) const {
    return shell("cd " + project_.string() + "; " + line);
  }

  Result compare(const std::string& arguments, const std::string& before = "") const {
    return in_project(before + " CI_COMPARE_OUT=out ROPEWALK=" + ROPEWALK_EXECUTABLE + " " +
                      ROPEWALK_SOURCE_DIR + "/tools/ci_compare/ci_compare.sh " + arguments);
  }

  std::filesystem::path project_ = fresh("project");
};

const std::string smoke = " -- --profile smoke --shape q=8,d=128,tokens=256 --quiet";

TEST_F(CiCompare, TheSlowerBuildRegressesAndEqualOnesDoNot) {
#ifdef ROPEWALK_SANITIZED
  GTEST_SKIP() << "sanitized ceilings are slower than kernels, which are then IMPLAUSIBLE";
#endif
  const Result twice = compare(usual + "once" + smoke);
  expect(twice, 1, {"| seen: at least "});
  EXPECT_TRUE(std::filesystem::exists(project_ / "out/results.jsonl"));
  EXPECT_EQ(lines_in(in_project("git worktree list").out), 1) << "no tree is left";
  const Result equal = compare(usual + "twice twice" + smoke);
  EXPECT_EQ(equal.code, 0) << equal.out << equal.err;
  EXPECT_FALSE(contains(equal.out, "| seen")) << equal.out;
  EXPECT_EQ(contains(equal.out, "| cannot tell |"), contains(equal.err, "warning: ")) << equal.err;
  const Result allowed =
      compare(usual + "once" + smoke, "CI_COMPARE_OPTIONS='--max-regression 900'");
  EXPECT_EQ(allowed.code, 0) << allowed.out << allowed.err;
  // No answer is no success if the job says so.
  const std::string skipped =
      "sed '/\"row\":\"timing\"/{/\"head:turn\"/s/\"MEASURED\"/\"SKIPPED\"/}' out/results.jsonl "
      ">skipped; " ROPEWALK_EXECUTABLE " compare skipped";
  const Result passes = in_project(skipped), strict = in_project(skipped + " --unresolved fail");
  expect(passes, 0, {" SKIPPED | cannot tell | turn | "}, {"warning: cannot tell"});
  EXPECT_EQ(strict.code, 3) << strict.out << strict.err;
  EXPECT_EQ(strict.err, "");
}

TEST_F(CiCompare, WhatCannotBeBuiltIsBadInput) {
  for (const auto& [arguments, said] :
       {std::pair(std::string("only two"), "usage: "),
        {usual + "nowhere", "no revision nowhere"},
        {"false plugin.so once", "base cannot be built"},
        {"true plugin.so once", "the build of base makes no plugin.so"},
        {usual + "once twice thrice", "no OPTION stands before --: thrice"},
        {usual + "once -- --colour", "bench ended with exit code 2"}}) {
    const Result r = compare(arguments);
    EXPECT_EQ(r.code, 2) << arguments << r.out << r.err;
    EXPECT_TRUE(contains(r.err, "ci_compare.sh: " + std::string(said))) << arguments << r.err;
    EXPECT_EQ(lines_in(in_project("git worktree list").out), 1) << arguments;
  }
  std::filesystem::remove_all(project_ / "out");
  spill(project_ / "out/mine", "x");
  const Result foreign = compare(usual + "once");
  EXPECT_EQ(foreign.code, 2);
  EXPECT_TRUE(std::filesystem::exists(project_ / "out/mine")) << "a foreign folder stays";
}

}  // namespace
