// Output that cannot be written: full disks, closed streams, readers that leave.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "tools/tests/shell.h"

namespace {

const std::string quick = "--kernel plain --property norm --cases 2 ";

TEST(BadInput, AFullDiskIsOneLineAndNoHalfReport) {
  const auto out = fresh();
  std::filesystem::create_directories(out);
  std::filesystem::create_symlink("/dev/full", out / "results.jsonl");
  const Result r = ropewalk("verify " + quick + "--out " + out.string());
  expect_one_line(r, {"results.jsonl: cannot be written: No space left"});

  // No file of the report may be larger than 4 KiB. A larger file must not exist at all.
  const auto results = fresh("results"), report = fresh("report");
  ASSERT_EQ(ropewalk("verify " + quick + "--out " + results.string()).code, 0);
  const Result cut =
      ropewalk("report " + (results / "results.jsonl").string() + " --out " + report.string(),
               "ulimit -f 8;");
  expect_one_line(cut, {": cannot be written: File too large"});
  EXPECT_FALSE(std::filesystem::exists(report)) << "something is left behind";
}

// It is found before anything is measured, and leaves no file.
TEST(BadInput, AnExportThatCannotBeWrittenStopsTheRunAtOnce) {
  const auto out = fresh();
  const std::string bad = scratch().string();  // a folder
  for (const std::string& verb : {"run --out " + out.string(), std::string("bench")}) {
    const Result r = ropewalk(verb + " --export " + bad);
    EXPECT_EQ(r.code, 2) << r.out << r.err;
    EXPECT_EQ(r.err, "ropewalk: " + bad + ": cannot be written: Is a directory\n");
    EXPECT_FALSE(contains(r.out, "== ")) << r.out;
  }
  EXPECT_FALSE(std::filesystem::exists(out / "results.jsonl"));
}

TEST(BadInput, AClosedStandardOutputIsAnError) {
  const auto out = scratch() / "out";
  const std::string to_full = " >/dev/full", with_out = "verify " + quick + "--out " + out.string();
  const std::string lines[] = {
      "list" + to_full, "list --json" + to_full, "--help" + to_full, "--help >&-",
      "verify --json " + quick + to_full, "replay 'kernel=plain property=norm' >&- <&-",
      "mutants --kernel 'mutant_scaled_t*' --property norm --cases 2" + to_full, with_out + to_full,
      with_out + " >&-", with_out + " >&- <&-",
      // its own library prints the board
      "bench --kernel plain --profile smoke --workload llama-3-8b/decode-1 >/dev/full -- "
      "--benchmark_min_time=0.001"};
  for (const std::string& line : lines) {
    std::filesystem::remove_all(out);
    const Result r = ropewalk(line);
    EXPECT_EQ(r.code, 2) << line << r.err;
    EXPECT_TRUE(contains(r.err, "ropewalk: standard output cannot be written\n")) << line << r.err;
    EXPECT_TRUE(lines_in(r.err) == 1 || line.starts_with("bench")) << line << r.err;
    // Printed text must not end in the file that was opened in the place of the closed stream.
    const std::string rows = slurp(out / "results.jsonl");
    EXPECT_TRUE(rows.empty() || rows.starts_with("{\"schema\":1")) << rows;
    EXPECT_FALSE(contains(rows, "claims hold")) << rows;
  }
}

TEST(BadInput, AReaderThatLeavesEndsTheRun) {
  const auto out = fresh();
  // The command prints 28 rows, and the reader leaves after the first.
  const Result r =
      ropewalk("verify --profile smoke --json --property norm --property transpose --out " +
               out.string() + " | head -n 1");
  EXPECT_EQ(lines_in(r.out), 1) << r.out;
  EXPECT_EQ(r.err, "");  // it is not an error
  const std::string rows = slurp(out / "results.jsonl");
  EXPECT_LT(lines_in(rows), 20) << rows;
  EXPECT_FALSE(contains(rows, "\"row\":\"end\""));  // so a report says that it was cut off
}

// The reader leaves before anything is printed. The exit code is that of a SIGPIPE.
Result without_reader(const std::string& arguments) {
  const auto code = scratch() / "code";
  Result r = shell("{ sleep 0.2; " + std::string(ROPEWALK_EXECUTABLE) + " " + arguments +
                   "; echo $? >" + code.string() + "; } | true");
  r.code = std::atoi(slurp(code).c_str());
  return r;
}

TEST(BadInput, NoReaderIsNoError) {
  const auto results = fresh("results");
  ASSERT_EQ(ropewalk("verify " + quick + "--out " + results.string()).code, 0);
  const std::string file = (results / "results.jsonl").string();
  std::vector<std::string> verbs = {
      "list", "list --json", "--help", "doctor", "verify --json " + quick,
      // of one call, and of files
      "replay 'kernel=plain property=norm'", "report " + file + " --out " + results.string()};
  // Without /sys a run states no caches, and then `compare` refuses it.
  if (contains(slurp(file), "\"cpu_caches\":\"L")) verbs.push_back("compare " + file + " " + file);
  for (const std::string& verb : verbs) {
    const Result r = without_reader(verb);
    EXPECT_EQ(r.code, 141) << verb;
    EXPECT_EQ(r.err, "") << verb;
  }
}

}  // namespace
