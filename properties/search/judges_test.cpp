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

std::vector<std::string> rows_of(const std::vector<std::string>& kernels, int judges) {
  std::vector<std::string> rows;
  verify_with_judges(
      options(), plan_for(kernels), judges,
      [&](VerdictRow row) {
        row.seconds = 0;  // only this may differ
        rows.push_back(to_json_line(row));
      },
      [](const std::string&) {});
  return rows;
}

TEST(Judges, FindTheSameInTheSameOrder) {
  const std::vector<std::string> kernels = {"elementwise", "dense", "mutant_segfault",
                                            "mutant_whole*", "control_one_token*"};
  const auto alone = rows_of(kernels, 1);
  EXPECT_GT(alone.size(), 30u);
  EXPECT_EQ(rows_of(kernels, 2), alone);
  EXPECT_EQ(rows_of(kernels, 64), alone) << "more judges than kernels";
}

// One kernel is shared out among threads: the rows of its array, then its properties.
TEST(Judges, ShareOutTheRowsOfOneKernel) {
  VerifyPlan plan = plan_for({});
  plan.properties = {"clean_call", "agreement", "norm", "composition", "history", "threads"};
  plan.dtypes = {Dtype::f32};
  plan.array_cases = 24;
  for (const char* kernel : {"plain", "mutant_segfault", "mutant_cache_by_last_8_exact"}) {
    plan.kernels = {kernel};
    std::vector<std::string> one;
    for (const int judges : {1, 2, 8}) {
      std::vector<std::string> rows;
      verify_with_judges(
          options(), plan, judges,
          [&](VerdictRow row) {
            row.seconds = 0;
            if (row.property == "threads") row.compared = 0;  // how many calls overlapped
            rows.push_back(to_json_line(row));
          },
          [](const std::string&) {});
      if (judges == 1) one = rows;
      EXPECT_FALSE(rows.empty());
      EXPECT_EQ(rows, one) << kernel << ", judges: " << judges;
    }
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
    try {
      threads.run([](std::size_t i) {
        if (i > 0) throw std::runtime_error(std::to_string(i));
      });
      ADD_FAILURE() << "nothing was thrown";
    } catch (const std::runtime_error& e) {
      EXPECT_STREQ(e.what(), "1");
    }
  }
}

TEST(Judges, NothingToJudgeIsNoRow) {
  EXPECT_TRUE(rows_of({"no_such_kernel"}, 3).empty());
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
