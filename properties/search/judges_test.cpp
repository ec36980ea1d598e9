// Several judges find what one judge finds, in the same order.
#include "properties/search/judges.h"

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <stdexcept>

namespace ropewalk::properties {
using namespace harness;
using namespace report;
namespace {

WorkerOptions options() {
  WorkerOptions o;
  o.executable = ROPEWALK_EXECUTABLE;
  o.plugins = {ROPEWALK_MUTANTS};
  return o;
}

VerifyPlan plan_for(const std::vector<std::string>& kernels) {
  VerifyPlan plan;
  plan.kernels = kernels;
  plan.properties = {"norm", "strides", "identity_at_zero"};
  plan.profile = Profile::smoke;
  plan.cases = 4;
  plan.shrink = false;  // the smallest case depends on the time
  return plan;
}

std::vector<std::string> rows_of(const VerifyPlan& plan, int judges) {
  std::vector<std::string> rows;
  verify_with_judges(
      options(), plan, judges,
      [&](VerdictRow row) {
        row.seconds = 0;                                  // only this may differ,
        if (row.property == "threads") row.compared = 0;  // and how many calls overlapped
        rows.push_back(to_json_line(row));
      },
      [](const std::string&) {});
  return rows;
}

TEST(Judges, FindTheSameInTheSameOrder) {
  VerifyPlan plan = plan_for({"elementwise", "mutant_segfault", "mutant_other_pairing*",
                              "mutant_whole*", "control_*_only_table"});
  plan.dtypes = {Dtype::f32};
  const auto alone = rows_of(plan, 1);
  EXPECT_GT(alone.size(), 60u);
  EXPECT_EQ(rows_of(plan, 2), alone) << "each takes a kernel";
  EXPECT_EQ(rows_of(plan, 8), alone) << "all share one";
}

// One kernel is shared out among threads: the rows of its array, then its properties.
TEST(Judges, ShareOutTheRowsOfOneKernel) {
  for (const char* kernel : {"plain", "mutant_segfault", "mutant_cache_by_last_8_exact"}) {
    VerifyPlan plan = plan_for({kernel});
    plan.properties = {"clean_call", "agreement", "norm", "composition", "history", "threads"};
    plan.dtypes = {Dtype::f32};
    plan.array_cases = 24;
    const auto alone = rows_of(plan, 1);
    EXPECT_GE(alone.size(), 6u);
    for (const int judges : {2, 8}) EXPECT_EQ(rows_of(plan, judges), alone) << kernel;
  }
}

TEST(JudgeThreads, WorkAtTheSameTimeAndThrowTheFirstException) {
  JudgeThreads threads(3);
  for (int repeat = 0; repeat < 100; ++repeat) {
    std::barrier all(3);  // waits for ever unless each has its own thread
    std::atomic<std::size_t> sum = 0;
    threads.run([&](std::size_t i) {
      all.arrive_and_wait();
      sum += i;
    });
    EXPECT_EQ(sum, 3u);
    const auto fail = [](std::size_t i) {
      if (i == 1) throw std::out_of_range("1");
      if (i == 2) throw std::length_error("2");
    };
    EXPECT_THROW(threads.run(fail), std::out_of_range);
  }
}

TEST(Judges, NothingToJudgeIsNoRow) {
  EXPECT_TRUE(rows_of(plan_for({"no_such_kernel"}), 3).empty());
}

TEST(Judges, APluginThatCannotBeLoadedIsThrown) {
  WorkerOptions bad = options();
  bad.plugins = {"/no/such/plugin.so"};
  EXPECT_THROW(verify_with_judges(
                   bad, plan_for({}), 2, [](const VerdictRow&) {}, [](const std::string&) {}),
               WorkerError);
}

TEST(Judges, AnErrorWhileRowsAreTakenEndsAllJudges) {
  VerifyPlan plan = plan_for({"plain", "dense"});
  int rows = 0;
  EXPECT_THROW(verify_with_judges(
                   options(), plan, 2,
                   [&](const VerdictRow&) {
                     if (++rows == 2) throw std::runtime_error("the disk is full");
                   },
                   [](const std::string&) {}),
               std::runtime_error);
  EXPECT_EQ(rows, 2);
}

TEST(Judges, AreAtLeastOneAndAtMostEight) {
  EXPECT_GE(usual_judges(), 1);
  EXPECT_LE(usual_judges(), 8);
}

}  // namespace
}  // namespace ropewalk::properties
