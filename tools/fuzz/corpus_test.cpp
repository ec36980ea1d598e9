// Shows that the corpus tests can fail: a broken claim and a folder without inputs are found.
#include <gtest/gtest.h>

#include "tools/tests/shell.h"

namespace {

Result run_on(const std::filesystem::path& folder) {
  return shell(std::string(PLANTED_VIOLATION) + " '" + folder.string() + "'");
}

TEST(Corpus, ABrokenClaimFailsAndNamesItsInput) {
  const auto folder = scratch() / "corpus";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  spill(folder / "a", "fine");
  spill(folder / "empty", "");
  const Result fine = run_on(folder);
  EXPECT_EQ(fine.code, 0) << fine.err;
  EXPECT_TRUE(fine.out.ends_with("2 inputs\n")) << fine.out;
  spill(folder / "b", "bug");
  spill(folder / "c", "fine");
  const Result broken = run_on(folder);
  EXPECT_NE(broken.code, 0);
  EXPECT_TRUE(contains(broken.err, "claim broken: no input begins")) << broken.err;
  EXPECT_TRUE(broken.out.ends_with((folder / "b").string() + "\n")) << broken.out;
}

TEST(Corpus, NothingToRunIsAnError) {
  const auto folder = scratch() / "corpus";
  std::filesystem::remove_all(folder);
  EXPECT_EQ(run_on(folder).code, 2);
  std::filesystem::create_directories(folder / "below");
  EXPECT_EQ(run_on(folder).code, 2);
  spill(folder / "a", "fine");
  EXPECT_EQ(run_on(folder).code, 0);
  EXPECT_EQ(shell(PLANTED_VIOLATION).code, 2);
}

}  // namespace
