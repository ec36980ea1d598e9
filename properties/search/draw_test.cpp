// Drawn cases: every level that a kernel offers, no refusal, and the same cases again.
#include "properties/search/draw.h"
#include "properties/array/factor_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "properties/array/offered_features.h"

namespace ropewalk::properties {
namespace {

using namespace harness;

class DrawnCases : public testing::Test {
 protected:
  static WorkerOptions options() {
    WorkerOptions o;
    o.executable = ROPEWALK_EXECUTABLE;
    o.plugins = {ROPEWALK_MUTANTS};
    return o;
  }
  Subject subject(const std::string& name) {
    for (const KernelFacts& facts : worker_.kernels())
      if (facts.name == name) return {worker_, oracle_, facts};
    throw std::runtime_error("no kernel " + name);
  }
  static std::vector<std::string> texts(CaseDraws& draws, const char* property, int count) {
    std::vector<std::string> out;
    draws.begin(property_named(property));
    for (int i = 0; i < count; ++i) {
      const auto c = draws.next(any_levels(static_cast<std::uint64_t>(i)));
      out.push_back(c ? to_text(*c) : "none");
    }
    return out;
  }

  Worker worker_{options()};
  Oracle oracle_;
};

TEST_F(DrawnCases, HaveEveryLevelAndAreTaken) {
  for (const char* kernel : {"plain", "phase"}) {
    Subject of = subject(kernel);
    const Offer offer = first_offer(of).value();
    Asked asked(of, offer);
    CaseDraws draws(asked, offer);
    draws.begin(property_named("agreement"));
    std::set<std::pair<std::size_t, int>> drawn;
    for (std::uint64_t i = 0; i < 2000; ++i) {
      const auto c = draws.next(any_levels(i));
      ASSERT_TRUE(c) << i;
      // the first tensor, or the second where that is the one that turns
      const TensorCase& t = c->tensors[c->tensors[0].rotate ? 0 : 1];
      EXPECT_LE(c->batch * c->tokens * t.heads * t.head_dim, 4096);
      for (std::size_t f = 0; f < factor_count; ++f) drawn.emplace(f, draws.last().of[f]);
    }
    EXPECT_EQ(draws.refused(), 0) << kernel;
    for (std::size_t f = 0; f < factor_count; ++f)
      for (const int level : draws.offered().of[f])
        EXPECT_TRUE(drawn.contains({f, level}))
            << factor_table()[f].name << " "
            << factor_table()[f].levels[static_cast<std::size_t>(level)];
  }
}

TEST_F(DrawnCases, WantTheFirstLevelsWithZeros) {
  Subject of = subject("plain");
  const Offer offer = first_offer(of).value();
  Asked asked(of, offer);
  CaseDraws draws(asked, offer);
  draws.begin(property_named("agreement"));
  ASSERT_TRUE(draws.next({}));
  EXPECT_EQ(draws.last(), Levels{});
}

// A negative control: a level that the kernel refuses is taken for offered. It is learned, for one
// property, and gives way to others.
TEST_F(DrawnCases, LearnWhatIsRefusedWithinOneProperty) {
  Subject of = subject("control_one_head_only_table");
  const Offer offer = first_offer(of).value();
  Asked asked(of, offer);
  ASSERT_EQ(asked.levels.of[index_of(Factor::heads)], std::vector{0});
  asked.levels.of[index_of(Factor::heads)].push_back(1);
  CaseDraws draws(asked, offer);
  const auto first = texts(draws, "norm", 100);
  EXPECT_GT(draws.refused(), 0);
  EXPECT_LT(draws.refused(), 100);
  EXPECT_EQ(std::count(first.begin(), first.end(), "none"), 0);
  texts(draws, "transpose", 20);
  EXPECT_EQ(texts(draws, "norm", 100), first);
  EXPECT_GT(draws.refused(), 0);
  CaseDraws alone(asked, offer);
  EXPECT_EQ(texts(alone, "norm", 100), first);
}

// Sequences are made after supports was asked, and a property changes what levels say.
TEST_F(DrawnCases, AreValidForEachProperty) {
  for (const char* kernel : {"plain", "phase"}) {
    Subject of = subject(kernel);
    const Offer offer = first_offer(of).value();
    Asked asked(of, offer);
    CaseDraws draws(asked, offer);
    for (const Property* property : all_properties()) {
      if (property->shape == nullptr && property->add_calls == nullptr) continue;
      if (property->applies != nullptr && !property->applies(offer)) continue;
      draws.begin(*property);
      for (std::uint64_t i = 0; i < 300; ++i) {
        const auto c = draws.next(any_levels(i));
        ASSERT_TRUE(c) << property->name;
        EXPECT_NO_THROW(validate(*c)) << to_text(*c);
      }
      EXPECT_EQ(draws.refused(), 0) << property->name;
    }
  }
}

// A kernel that refuses its simplest levels gets no case, and no endless search for one.
TEST_F(DrawnCases, EndWhereNothingIsTaken) {
  Subject of = subject("plain");
  Offer offer = first_offer(of).value();
  Asked asked(of, offer);
  asked.levels.base.contract = ROPE_CONTRACT_EXACT;  // plain reads tables
  CaseDraws draws(asked, offer);
  draws.begin(property_named("agreement"));
  EXPECT_FALSE(draws.next(any_levels(1)));
  EXPECT_LE(draws.refused(), 300);
}

}  // namespace
}  // namespace ropewalk::properties
