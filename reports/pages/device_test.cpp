// Kernels of a device in a report: boards of their own, floors beside them, and a banner that names
// the device.
#include <gtest/gtest.h>

#include "reports/numbers/compare.h"
#include "reports/numbers/summary.h"
#include "reports/pages/render.h"
#include "reports/testing/sample_results.h"

namespace ropewalk::report {
namespace {

/// The sample with a device, without its other launches and workloads, and a ceiling of the host
/// that names no part of a board.
Results small_results() {
  Results results = sample_device_results();
  std::erase_if(results.timings, [](const TimingRow& row) {
    return row.launch > 0 || row.workload != "llama-3-8b/decode-1";
  });
  TimingRow ceiling = sample_timing();
  ceiling.kernel = "ceiling_of_the_host";
  ceiling.role = Role::ceiling;
  ceiling.board = "f32";
  results.timings.push_back(ceiling);
  return results;
}

const Contest& contest_on(const Summary& summary, const std::string& board) {
  for (const Board& each : summary.boards)
    if (each.name == board) return each.contests.at(0);
  throw std::out_of_range(board);
}

const std::string on_device = "half_split / f32 / in place / table / cuda";

TEST(DeviceBoards, HoldNothingOfTheHost) {
  const Results results = small_results();
  const Summary summary = summarize(results);
  std::size_t of_device = 0, of_host = 0;
  for (const Board& board : summary.boards)
    for (const Contest& contest : board.contests)
      for (const BoardEntry& entry : contest.entries) {
        EXPECT_EQ(entry.row->device.empty(), !board.name.ends_with(" / cuda"))
            << board.name << " " << entry.row->kernel;
        ++(entry.row->device.empty() ? of_host : of_device);
      }
  EXPECT_EQ(of_device, 11u);
  EXPECT_GT(of_host, 11u);
}

TEST(Floors, AreNeitherRankedNorJudged) {
  Results results = small_results();
  for (TimingRow& row : results.timings)
    if (row.is_floor())  // far below the ceiling: no kernel could be so fast
      for (double& ns : row.ns_per_token) ns /= 100;
  const Summary summary = summarize(results);
  int floors = 0;
  for (const BoardEntry& entry : contest_on(summary, on_device).entries) {
    if (!entry.row->is_floor()) {
      EXPECT_GT(entry.percent_of_ceiling, 0);
      EXPECT_EQ(entry.of_floor > 1, !entry.row->is_reference()) << entry.row->kernel;
      continue;
    }
    ++floors;
    EXPECT_TRUE(entry.has_speed) << "without any verdict";
    EXPECT_EQ(entry.outcome, Outcome::measured);
    EXPECT_EQ(entry.rank, 0);
    EXPECT_EQ(entry.percent_of_ceiling, 0);
    EXPECT_FALSE(entry.is_compared());
  }
  EXPECT_EQ(floors, 2);
  for (const KernelSummary& kernel : summary.kernels) EXPECT_FALSE(contains(kernel.name, "floor"));
  EXPECT_GT(contest_on(summary, on_device).fastest_ns, 1000) << "no floor sets the bars";
}

TEST(Banner, NamesTheDeviceAndWhatRestsOnIt) {
  Results results = sample_device_results();
  const std::string told = "L2 50 MiB, driver 580.95; 9 verdicts rest on it";
  const std::string slowed =
      "its clock fell by more than 5 % in 22 of 132 rows, most on llama-3-8b/prefill-32768: 1,980 "
      "to 1,755 MHz; throttled in 22 of 132 rows: power cap";
  for (const std::string& text : {html_of(results), markdown_of(results)}) {
    EXPECT_TRUE(contains(text, told));
    EXPECT_TRUE(contains(text, slowed));
  }
  for (VerdictRow& row : results.verdicts)
    if (row.judged_on.starts_with(by_device)) row.judged_on = by_host_launcher;
  for (TimingRow& row : results.timings) {
    row.sm_mhz_after = 0.951 * row.sm_mhz_before;
    row.throttled.clear();
  }
  const Summary summary = summarize(results);
  ASSERT_EQ(summary.devices.size(), 1u);
  EXPECT_EQ(summary.devices[0].slowed, "");
  EXPECT_TRUE(contains(markdown_of(results), "driver 580.95; no verdict rests on it"));
  const Results host = sample_results();
  EXPECT_TRUE(summarize(host).devices.empty());
}

TEST(DeviceRows, StandInTheTables) {
  const Results results = small_results();
  EXPECT_TRUE(contains(html_of(results), "2.07 us a call, 1.078 × floor_copy, 1.720 × floor"));
  EXPECT_TRUE(contains(markdown_of(results), "floor_copy (floor)"));
  const std::string csv = csv_of(results);
  EXPECT_TRUE(contains(csv, ",floor,,1,MEASURED,"));
  EXPECT_FALSE(contains(junit_of(results), "floor"));
}

TEST(Compare, RefusesAnotherDevice) {
  Results a = sample_device_results(), b = a;
  a.run.environment["memory_total"] = b.run.environment["memory_total"] = "7800 MiB";
  const auto rename = [&b](const std::string& device) {
    for (TimingRow& row : b.timings)
      if (!row.device.empty()) row.device = device;
  };
  const auto compare = [&] { return compare_runs(a, b, "a.jsonl", "b.jsonl", 0.05); };
  EXPECT_TRUE(compare().place.ends_with("L2 50 MiB"));
  for (const ComparedCell& cell : compare().cells) EXPECT_FALSE(contains(cell.kernel, "floor"));
  rename("NVIDIA H100 80GB HBM3, sm_90, 132 multiprocessors, L2 50 MiB, driver 600.1");
  EXPECT_TRUE(compare().told.at(0).starts_with("device: ")) << "another driver is told";
  rename("NVIDIA H200, sm_90, 132 multiprocessors, L2 50 MiB, driver 580.95");
  EXPECT_THROW(compare(), BadFile);
  std::erase_if(b.timings, [](const TimingRow& row) { return !row.device.empty(); });
  EXPECT_TRUE(compare().place.ends_with("GiB")) << "the host's rows still compare";
}

}  // namespace
}  // namespace ropewalk::report
