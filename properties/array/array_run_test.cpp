// A covering array on real kernels: a correct one passes and meets every interaction, and an error
// that shows only where conditions meet is found.
#include "properties/array/array_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

namespace ropewalk::properties {
namespace {
using namespace harness;

class Arrays : public testing::Test {
 protected:
  Arrays() : worker_(options()) {}

  ArrayResult run(const std::string& kernel, std::int64_t most_cases = 0) {
    for (const KernelFacts& facts : worker_.kernels())
      if (facts.name == kernel) {
        Subject subject{worker_, oracle_, facts};
        ArrayLimits limits;
        limits.most_cases = most_cases;
        return run_array(subject, first_offer(subject).value(), limits);
      }
    throw std::runtime_error("no kernel " + kernel);
  }

 private:
  static WorkerOptions options() {
    WorkerOptions o;
    o.executable = ROPEWALK_EXECUTABLE;
    return o;
  }
  Worker worker_;
  Oracle oracle_;
};

TEST_F(Arrays, OfACorrectKernelHoldAndMeetEverything) {
  for (const char* kernel : {"plain", "phase"}) {
    const ArrayResult result = run(kernel);
    EXPECT_EQ(result.strength, 2);
    EXPECT_GT(result.coverage.possible, 4000) << kernel;
    EXPECT_EQ(result.coverage.met, result.coverage.possible) << kernel;
    EXPECT_TRUE(result.not_met.empty()) << result.not_met.front();
    EXPECT_TRUE(result.not_offered.empty()) << result.not_offered.front();
    ASSERT_EQ(result.runs.size(), array_judges().size());
    for (const auto& [property, r] : result.runs) {
      EXPECT_FALSE(r.failing) << kernel << " " << property << " " << to_text(*r.failing);
      EXPECT_GT(r.executed, 20) << property;
      EXPECT_EQ(r.executed, r.planned);
      EXPECT_EQ(r.executed, r.compared);
    }
  }
}

// A negative control of the count: few cases do not meet everything.
TEST_F(Arrays, CutShortSayWhatTheyDidNotMeet) {
  const ArrayResult result = run("plain", 5);
  EXPECT_EQ(result.cases, 5);
  EXPECT_LT(result.coverage.met, result.coverage.possible);
  EXPECT_EQ(std::ssize(result.not_met), result.coverage.possible - result.coverage.met);
}

}  // namespace
}  // namespace ropewalk::properties
