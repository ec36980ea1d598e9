// A failure is charged to the pairing and data type that have the error, and to no other.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "properties/search/verify.h"

namespace ropewalk::properties {
using namespace harness;
using namespace report;
namespace {

using Charged = std::pair<std::string, Verdict>;
class OnePairing : public testing::TestWithParam<Charged> {};

// The kernel is correct in half_split and wrong in interleaved, and supports accepts both.
TEST_P(OnePairing, FailsAlone) {
  WorkerOptions options;
  options.executable = ROPEWALK_EXECUTABLE;
  options.plugins = {ROPEWALK_MUTANTS};
  Worker worker(options);
  Oracle oracle;
  VerifyPlan plan;
  plan.kernels = {GetParam().first};
  plan.profile = Profile::smoke;
  plan.cases = 3;
  plan.shrink = false;
  plan.dtypes = {Dtype::f32};
  bool other_fails = false, history_ran = false;
  verify(
      worker, oracle, plan,
      [&](const VerdictRow& row) {
        if (row.pairing == "interleaved") {
          other_fails = other_fails || row.verdict == GetParam().second;
          return;
        }
        EXPECT_FALSE(is_failure(row.verdict))
            << row.property << " " << row.verdict << ": " << row.reason << " " << row.where;
        history_ran = history_ran || (row.property == "history" && row.verdict == Verdict::pass);
      },
      [](const std::string&) {});
  EXPECT_TRUE(other_fails);
  EXPECT_TRUE(history_ran);
}

INSTANTIATE_TEST_SUITE_P(
    All, OnePairing,
    testing::Values(Charged{"mutant_other_pairing_forgotten_table", Verdict::fail},
                    Charged{"mutant_other_pairing_missing_table", Verdict::crash}),
    [](const auto& charged) { return charged.param.first; });

}  // namespace
}  // namespace ropewalk::properties
