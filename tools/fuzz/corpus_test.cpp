// Shows that the corpus tests can fail: a broken claim and a damaged file of frames are found. And
// what the runner packs, it unpacks.
#include <gtest/gtest.h>

#include <cstdint>

#include "tools/tests/shell.h"

namespace {

using namespace std::string_literals;

std::string quoted(const std::filesystem::path& path) {
  return " '" + path.string() + "' ";
}

Result run_on(const std::filesystem::path& file, const std::string& words = "") {
  return shell(PLANTED_VIOLATION + quoted(file) + words);
}

std::filesystem::path frames() {
  return scratch() / "corpus.frames";
}

std::filesystem::path empty_folder(const std::string& name) {
  const auto folder = scratch() / name;
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder;
}

void expect_refused(const Result& result, const std::string& what) {
  EXPECT_EQ(result.code, 2) << what;
  EXPECT_EQ(lines_in(result.err), 1) << what << result.err;
  EXPECT_TRUE(result.err.starts_with("run_corpus: ")) << what << result.err;
  EXPECT_EQ(result.out, "") << what;
}

TEST(Corpus, ABrokenClaimFailsAndNamesItsInput) {
  spill(frames(), "0\n\n4\nfine\n");
  const Result fine = run_on(frames());
  EXPECT_EQ(fine.code, 0) << fine.err;
  EXPECT_TRUE(fine.out.ends_with("2 inputs\n")) << fine.out;
  spill(frames(), "0\n\n3\nbug\n4\nfine\n");
  const Result broken = run_on(frames());
  EXPECT_NE(broken.code, 0);
  EXPECT_NE(broken.code, 2);
  EXPECT_TRUE(contains(broken.err, "claim broken: no input begins")) << broken.err;
  EXPECT_TRUE(broken.out.ends_with("\ninput 2 of 3, a68d716dbb8b5822836dbc797e46ce5d\n"))
      << broken.out;
}

TEST(Corpus, NothingToRunAndDamageAreOneLineBeforeAnyInputRuns) {
  std::filesystem::remove_all(frames());
  expect_refused(run_on(frames()), "no file");
  expect_refused(run_on(scratch()), "a folder");
  expect_refused(shell(PLANTED_VIOLATION), "no argument");
  const std::string line = "\na\n", begin = "1\na\n";
  for (const std::string& text :
       {""s, "2\na\n"s, "1\nab\n"s, "1\na"s, "1\n"s, "1"s, "\n"s, "-1\na\n"s, "1 \na\n"s, "a\n"s,
        "\0\n"s, "0x1\na\n"s, std::to_string(SIZE_MAX) + line, std::string(100'000, '9') + line,
        begin + "\n", begin + "2\nb\n"}) {
    spill(frames(), text);
    expect_refused(run_on(frames()), text.substr(0, 40));
  }
}

TEST(Corpus, AFolderIsPackedWithoutItsNamesAndUnpacked) {
  const auto folder = empty_folder("folder"), unpacked = empty_folder("unpacked");
  const auto again = scratch() / "again.frames";
  for (const auto& [name, input] : {std::pair{"1", "fine"}, {"2", ""}, {"3", "fine"}, {"4", "a\n"}})
    spill(folder / name, input);
  EXPECT_EQ(run_on(frames(), "--pack" + quoted(folder)).code, 0);
  EXPECT_EQ(slurp(frames()), "0\n\n2\na\n\n4\nfine\n");
  EXPECT_EQ(run_on(frames(), "--unpack" + quoted(unpacked)).code, 0);
  EXPECT_EQ(slurp(unpacked / "0880954523ab1be95aa0733055b71a5a"), "a\n");
  EXPECT_EQ(run_on(again, "--pack" + quoted(unpacked)).code, 0);
  EXPECT_EQ(slurp(again), slurp(frames()));
  expect_refused(run_on(frames(), "--unpack" + quoted(unpacked)), "a folder that is in use");
}

}  // namespace
