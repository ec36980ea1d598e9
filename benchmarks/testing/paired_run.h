// Runs toy kernels through the paired engine, for tests.
#pragma once
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "benchmarks/engine/paired.h"
#include "benchmarks/testing/toys.h"

namespace ropewalk::bench {
struct PairedOutcome {
  int status = -1;
  std::vector<report::TimingRow> rows;
  std::set<std::string> ran;
  const report::TimingRow* of(const std::string& kernel, int threads = 1) const {
    for (const report::TimingRow& row : rows)
      if (row.kernel == kernel && row.threads == threads) return &row;
    return nullptr;
  }
};

inline PairedOutcome run(const std::vector<const rope_kernel*>& kernels,
                         const std::function<void(PairedPlan&)>& change = {}) {
  PairedOutcome outcome;
  PairedPlan plan;
  plan.workloads = {small_workload("toy/a")};
  for (const rope_kernel* kernel : kernels)
    plan.kernels.push_back({kernel, kernel->name, "a toy", ""});
  plan.ceilings = {{"toy/a", {"16 bytes"}}};
  plan.rounds = 6;
  plan.epoch_s = 2e-5;
  plan.on_row = [&](const report::TimingRow& row) { outcome.rows.push_back(row); };
  plan.now_running = [&](const std::string& label) { outcome.ran.insert(label); };
  if (change) change(plan);
  outcome.status = run_paired(plan);
  return outcome;
}

inline void expect_measured(const PairedOutcome& outcome, const std::string& kernel) {
  const report::TimingRow* row = outcome.of(kernel);
  ASSERT_NE(row, nullptr) << kernel;
  EXPECT_EQ(row->outcome, report::Outcome::measured) << kernel << ": " << row->reason;
  EXPECT_FALSE(row->ns_per_token.empty()) << kernel;
}
/// Runs a kernel beside a right one, "good", the baseline, which must be measured.
inline PairedOutcome run_beside_good(const rope_kernel& kernel,
                                     const std::function<void(PairedPlan&)>& change = {}) {
  rope_kernel good = toy_kernel("good");
  good.extensions = kernel.extensions;
  const PairedOutcome outcome = run({&good, &kernel}, [&](PairedPlan& p) {
    p.baseline = "good";
    if (change) change(p);
  });
  expect_measured(outcome, "good");
  return outcome;
}
inline void expect_broken(const PairedOutcome& outcome, const std::string& kernel,
                          const std::string& why, int threads = 1) {
  const report::TimingRow* row = outcome.of(kernel, threads);
  ASSERT_NE(row, nullptr) << kernel;
  EXPECT_EQ(row->outcome, report::Outcome::broken);
  EXPECT_NE(row->reason.find(why), std::string::npos) << row->reason;
  EXPECT_TRUE(row->ns_per_token.empty());
  EXPECT_TRUE(row->iterations.empty());
  EXPECT_EQ(row->ns_per_token_median, 0);
  EXPECT_EQ(row->gb_per_s_median, 0);
}

}  // namespace ropewalk::bench
