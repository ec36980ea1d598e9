// Several judges find what one judge finds, in the same order.
#include "properties/search/judges.h"

#include <gtest/gtest.h>

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
