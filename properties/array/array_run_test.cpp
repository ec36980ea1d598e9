// A covering array on real kernels: a correct one passes and meets every interaction, and an error
// that shows only where conditions meet is found.
#include "properties/array/array_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "properties/array/offered_features.h"

namespace ropewalk::properties {
namespace {
using namespace harness;

class Arrays : public testing::Test {
 protected:
  Arrays() : worker_(options()) {}

  static std::vector<const Property*> judged() {
    std::vector<const Property*> out;
    for (const Property* each : all_properties())
      if (each->judge != nullptr) out.push_back(each);
    return out;
  }

  ArrayResult run(const std::string& kernel, std::int64_t most_cases = 0,
                  Profile profile = Profile::smoke) {
    for (const KernelFacts& facts : worker_.kernels())
      if (facts.name == kernel) {
        std::vector<Subject> subject{{worker_, oracle_, facts}};
        JudgeThreads one;
        ArrayLimits limits;
        limits.profile = profile;
        limits.most_cases = most_cases;
        Asked asked(subject[0], first_offer(subject[0]).value());
        return run_array(one, subject, asked, judged(), limits);
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
    ASSERT_EQ(result.coverage.size(), 1u);
    EXPECT_EQ(result.coverage[0].strength, 2);
    EXPECT_GT(result.coverage[0].count.possible, 4000) << kernel;
    EXPECT_EQ(result.coverage[0].count.met, result.coverage[0].count.possible) << kernel;
    EXPECT_EQ(words_of(result.coverage),
              "covered 100 % of 2-way interactions of what the kernel offers");
    EXPECT_TRUE(result.not_met.empty()) << result.not_met.front();
    // plain takes all that the contract allows, phase takes one data type in a call
    const std::vector<std::string> refused(kernel == std::string("phase") ? 1 : 0,
                                           "tensors of several data types");
    EXPECT_EQ(result.not_offered, refused);
    EXPECT_GT(result.cases, 80);
    ASSERT_EQ(result.runs.size(), judged().size());
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
  ASSERT_EQ(result.coverage.size(), 1u);
  const Coverage& count = result.coverage[0].count;
  EXPECT_LT(count.met, count.possible);
  EXPECT_EQ(std::ssize(result.not_met), count.possible - count.met);
}

TEST(CoverageWords, AreNeverRoundedUp) {
  EXPECT_EQ(words_of({}), "");
  EXPECT_EQ(words_of({{2, {1000, 1000}}, {3, {100'000, 99'999}}}),
            "covered 100 % of 2-way, 99.9 % of 3-way interactions of what the kernel offers");
}

}  // namespace
}  // namespace ropewalk::properties
