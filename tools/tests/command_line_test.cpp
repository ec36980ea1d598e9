// What the command line accepts and refuses besides the table of bad input: names that are empty.
// Also rows and examples that other parts of the project must be able to read.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tools/tests/shell.h"

namespace {

TEST(CommandLine, AnEmptyTextNamesNothing) {
  const auto folder = fresh("empty");
  std::filesystem::create_directories(folder);
  const std::string in_folder = "cd " + folder.string() + " && ";
  for (const char* arguments :
       {"run --out ''", "verify --out ''", "bench --out ''", "report x --out ''", "report ''",
        "merge x --out ''", "bench --export ''", "report x --export ''",
        "compare x y --markdown ''", "mutants --markdown ''", "verify --ledger ''",
        "verify --write-ledger ''", "verify --known-failures ''", "verify --plugin ''",
        "list --workload-file ''", "bench --config ''", "bench --shape ''", "bench --baseline ''",
        "verify --seed ''", "verify --exhaustive --shard ''", "verify --exhaustive --positions ''",
        "verify --kernel ''", "verify --property ''", "list --workload ''", "replay ''",
        // not only in the last place
        "merge '' --out y", "compare '' ''"}) {
    SCOPED_TRACE(arguments);
    expect_one_line(ropewalk(arguments, in_folder), {"is empty"});
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  EXPECT_EQ(ropewalk("list --cpu-features '' --kernel plain").code, 0);
}

TEST(CommandLine, AMisspelledWordGetsASuggestion) {
  for (const auto& [arguments, meant] : {std::pair{"verify --kernal=plain", "--kernel"},
                                         {"bench --workload-fil x", "--workload-file"},
                                         {"merge a b --uot c", "--out"},
                                         {"verfy", "verify"},
                                         {"exhaustiv", ""},
                                         {"verify --colour", ""},
                                         {"list plain", ""}}) {
    const Result r = ropewalk(arguments);
    expect_one_line(r, {meant});
    EXPECT_EQ(contains(r.err, "did you mean"), *meant != '\0') << arguments << r.err;
  }
}

// A verdict names the library by the path that was given, however the kernel was judged.
TEST(Verify, RowsNameThePluginByItsPath) {
  const std::string plugin = std::string(" --plugin ") + ROPEWALK_FAR_PLUGIN + " ";
  const std::string row = std::string(R"("plugin":")") + ROPEWALK_FAR_PLUGIN + '"';
  for (const char* how : {"--property norm --cases 2", "--exhaustive --positions 0:99"}) {
    const Result r = ropewalk("verify --json --kernel test_far " + std::string(how) + plugin);
    EXPECT_EQ(r.code, 0) << how << r.err;
    EXPECT_TRUE(contains(r.out, row)) << how << r.out;
  }
}

TEST(Verify, WhatCannotRunHereIsNoProperty) {
  const auto out = fresh();
  const Result r = ropewalk(
      "verify --cpu-features '' --kernel plain --kernel avx2 --property norm --cases 2 --out " +
      out.string());
  ASSERT_EQ(r.code, 0) << r.out << r.err;
  EXPECT_TRUE(contains(slurp(out / "results.jsonl"), R"("property":"everything")"));
  ASSERT_EQ(ropewalk("report " + (out / "results.jsonl").string()).code, 0);
  const std::string page = slurp(out / "report.md");
  const auto column = page.find("| kernel | rotation |");
  ASSERT_NE(column, std::string::npos) << page;
  const auto begin = page.rfind('\n', column) + 1;
  const std::string head = page.substr(begin, page.find('\n', begin) - begin);
  EXPECT_FALSE(contains(head, "any")) << head;
  EXPECT_FALSE(contains(head, "everything")) << head;
}

TEST(Replay, TheExamplesOfTheDocumentHold) {
  std::ifstream document(ROPEWALK_SOURCE_DIR "/docs/replay.md");
  int count = 0;
  for (std::string line; std::getline(document, line);) {
    if (!line.starts_with("ropewalk replay '")) continue;
    ++count;
    const Result r = ropewalk(line.substr(std::string("ropewalk ").size()));
    EXPECT_EQ(r.code, 0) << line << r.out << r.err;
  }
  EXPECT_GE(count, 7);
}

}  // namespace
