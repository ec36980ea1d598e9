// Kernels of a device in bench, with the stand-in for the CUDA driver. Little memory makes the gate
// short, as it leaves out what needs more.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tools/tests/shell.h"
#include "tools/tests/timings.h"

namespace {

const std::string kernel = "control_device_table";

Result bench(const std::string& words, const std::string& more = "") {
  return ropewalk("bench --profile smoke --no-cuda --no-baselines --launches 1 --rounds 6 " +
                      ("--workload llama-3-8b/decode-1 --kernel " + kernel) + " --plugin " +
                      ROPEWALK_DEVICE_MUTANTS + more,
                  std::string("ROPEWALK_CUDA_DRIVER='") + ROPEWALK_STANDIN_DRIVER +
                      "' ROPEWALK_STANDIN=" + words + " ");
}

TEST(DeviceBench, AKernelHasABoardBesideFloorsAndCeiling) {
  const std::filesystem::path out = fresh();
  const Result r = bench("memory=10200000", " --out '" + out.string() + "'");
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  std::string timed;
  for (const Timing& row : timings_of(out / "results.jsonl")) {
    timed += row.kernel + ", ";
    EXPECT_EQ(row.outcome, "MEASURED") << row.line;
    EXPECT_EQ(row.board, "half_split / f32 / in place / table / cuda");
    EXPECT_EQ(field(row.line, "device"), "stand-in, sm_90, 4 multiprocessors, L2 1024 KiB");
    EXPECT_TRUE(contains(row.line, "\"sets\":1")) << row.line;
    const bool is_kernel = row.role == "baseline" || row.role == "null_twin";
    EXPECT_EQ(field(row.line, "judged_on"), is_kernel ? "cuda: stand-in" : "");
    EXPECT_GT(row.ns_per_token_median, 0);
  }
  EXPECT_EQ(timed, "ceiling_update, " + kernel + ", " + kernel + " (twin), floor, floor_copy, ");
  const Result page = ropewalk("report '" + (out / "results.jsonl").string() + "'");
  EXPECT_EQ(page.code, 0) << page.err;
  const std::string text = slurp(out / "report.md");
  for (const char* part : {"half_split / f32 / in place / table / cuda", "stand-in", "floor_copy"})
    EXPECT_TRUE(contains(text, part)) << part;
}

TEST(DeviceBench, WhatIsMissingIsTold) {
  for (const auto& [words, reason] :
       {std::pair{"memory=3000000", "SKIPPED the table needs 3 MiB of device memory, and 0 are "},
        {"no_graphs", "SKIPPED control_device_table: the CUDA driver captures no graphs: CUDA "}}) {
    const Result r = bench(words);
    expect(r, 3, {reason});
  }
}

}  // namespace
