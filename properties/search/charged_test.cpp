// A failure is charged to the pairing and data type that have the error, and to no other.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "harness/judge/offer.h"
#include "properties/search/judges.h"
#include "properties/search/run_property.h"
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
  VerifyPlan plan;
  plan.kernels = {GetParam().first};
  plan.profile = Profile::smoke;
  plan.cases = 3;
  plan.shrink = false;
  plan.dtypes = {Dtype::f32};
  bool other_fails = false, history_ran = false;
  verify_with_judges(
      options, plan, 1,
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

// Fails in the first call, and throws in each that is made to shrink and explain it.
Finding fails_then_throws(Subject&, const Case&) {
  static int calls = 0;
  if (calls++ > 0) throw std::out_of_range("beyond");
  Finding f;
  f.margin = 7;
  f.compared = 1;
  return f;
}

TEST(Charged, AFailureStandsWhateverTheSearchForItsCauseThrows) {
  WorkerOptions options;
  options.executable = ROPEWALK_EXECUTABLE;
  Worker worker(options);
  Oracle oracle;
  Property property;
  property.name = "agreement";
  property.fixed_cases = [](const Offer& offer, Profile) { return std::vector<Case>{offer.base}; };
  property.check = fails_then_throws;
  for (const KernelFacts& facts : worker.kernels()) {
    if (facts.name != "plain") continue;
    Subject subject{worker, oracle, facts};
    const Probe probe = probe_base(subject, Pairing::half_split, Dtype::f32);
    ASSERT_TRUE(probe.offer.has_value());
    const PropertyRun run =
        run_property(subject, property, *probe.offer, Profile::smoke, {}, nullptr, nullptr);
    ASSERT_TRUE(run.failing.has_value());
    EXPECT_EQ(run.worst.margin, 7);
    EXPECT_EQ(run.worst.diagnosis, "the search for a cause broke off: beyond");
    return;
  }
  FAIL() << "no kernel plain";
}

}  // namespace
}  // namespace ropewalk::properties
