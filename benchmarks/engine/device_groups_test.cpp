// Kernels of a device. It is the stand-in for the driver, so nothing is claimed about times.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "benchmarks/machine/environment.h"
#include "benchmarks/testing/device_toys.h"
#include "benchmarks/testing/paired_run.h"

namespace ropewalk::bench {
using namespace report;
namespace {

const rope_kernel on_the_host = toy_kernel("on_the_host"), there = device_toy("there"),
                  there_too = device_toy("there_too");

PairedOutcome run_there(const std::vector<const rope_kernel*>& kernels,
                        const std::function<void(PairedPlan&)>& change,
                        const std::string& words = "l2=1024") {
  const auto device = open_stand_in(words);
  return run(kernels, [&](PairedPlan& p) {
    p.device = device.get();
    change(p);
  });
}

TEST(DeviceGroups, HaveATwinFloorsAndACeiling) {
  rope_kernel interpreted = device_toy("interpreted");
  interpreted.flags |= ROPE_INTERPRETED;
  const PairedOutcome outcome = run_there({&there_too, &interpreted, &there, &on_the_host},
                                          [](PairedPlan& p) { p.baseline = "there"; });
  EXPECT_EQ(outcome.status, 0);
  const struct {
    const char* kernel;
    Role role;
  } rows[] = {{"there", Role::baseline},        {"there (twin)", Role::null_twin},
              {"there_too", Role::kernel},      {"interpreted", Role::kernel},
              {"floor", Role::floor},           {"floor_copy", Role::floor},
              {"ceiling_update", Role::ceiling}};
  ASSERT_EQ(outcome.rows.size(), std::size(rows));
  std::vector<std::int64_t> calls;
  for (std::size_t i = 0; i < std::size(rows); ++i) {
    const TimingRow& row = outcome.rows[i];
    EXPECT_EQ(row.kernel, rows[i].kernel);
    EXPECT_EQ(row.role, rows[i].role) << row.kernel;
    EXPECT_EQ(row.outcome, Outcome::measured) << row.kernel << row.reason;
    EXPECT_EQ(row.board, "half_split / f32 / in place / table / cuda");
    EXPECT_EQ(row.device, "stand-in, sm_90, 4 multiprocessors, L2 1 KiB");
    EXPECT_EQ(row.sets, 6);
    EXPECT_GT(row.host_ns_per_token, 0);
    EXPECT_EQ(row.reverified > 0, !row.is_reference()) << row.kernel;
    EXPECT_GE(row.ns_per_token.size(), 6u);
    EXPECT_GT(row.ns_per_token_median, 0);
    for (const std::int64_t n : row.iterations) EXPECT_EQ(n % 6, 0);
    if (row.is_floor()) continue;
    if (calls.empty()) calls = row.iterations;
    EXPECT_EQ(row.iterations, calls) << row.kernel;
    EXPECT_EQ(row.iterations.back() / 6 % 2, 1) << "it ends turned forward";
  }
  EXPECT_EQ(outcome.of("interpreted")->summary, outcome.of("there")->summary) << "as a graph";
}

// Its buffers stay where they are, so a group is not placed anew.
TEST(DeviceGroups, KeepTheirRowsIfTheirTimeCounts) {
  const PairedOutcome outcome =
      run_there({&there, &there_too}, [](PairedPlan& p) { p.launch_s = 0.6; });
  EXPECT_EQ(outcome.status, 0);
  for (const char* kernel : {"there", "there_too"}) {
    expect_measured(outcome, kernel);
    EXPECT_GE(outcome.of(kernel)->ns_per_token.size(), 6u);
  }
}

TEST(DeviceGroups, OneThatBreaksHasNoNumberAndTheRestComplete) {
  const rope_kernel wrong = device_toy("plain", apply_there<turn_nothing>);
  const PairedOutcome outcome = run_there({&there, &wrong}, [](PairedPlan&) {});
  expect_broken(outcome, "plain", "the exact rotation");
  EXPECT_EQ(outcome.of("plain")->device, outcome.of("there")->device);
  EXPECT_EQ(outcome.of("there")->role, Role::baseline);
  expect_measured(outcome, "there");
}

TEST(DeviceGroups, WithoutRoomAllAreSkippedWithTheReason) {
  const PairedOutcome outcome = run_there(
      {&there, &there_too}, [](PairedPlan& p) { p.workloads[0].tokens = 1 << 16; },
      "memory=8912896");
  ASSERT_EQ(outcome.rows.size(), 2u);
  for (const TimingRow& row : outcome.rows) {
    EXPECT_EQ(row.outcome, Outcome::skipped);
    EXPECT_NE(row.reason.find("buffers needs 12 MiB of device memory, and 8 are free"),
              std::string::npos)
        << row.reason;
  }
}

TEST(DeviceGroups, ThreadsAreThoseOfTheHost) {
  if (allowed_cpus().size() < 2) GTEST_SKIP() << "one processor";
  const PairedOutcome outcome = run_there({&there}, [](PairedPlan& p) { p.threads = 2; });
  for (const TimingRow& row : outcome.rows) {
    const bool is_skipped = row.threads == 2 && row.kernel == "there";
    EXPECT_EQ(row.outcome, is_skipped ? Outcome::skipped : Outcome::measured) << row.kernel;
    EXPECT_EQ(row.reason, is_skipped ? "runs on a device: threads are those of the host" : "");
  }
  EXPECT_TRUE(outcome.of("there", 1) != nullptr && outcome.of("there", 2) != nullptr);
  EXPECT_EQ(outcome.of("floor", 2), nullptr);
}

}  // namespace
}  // namespace ropewalk::bench
