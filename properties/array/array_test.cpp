// The factor table and its covering array: every level is reachable, every row is a valid case of
// its levels, what levels require of each other holds in the cases, and on real kernels the array
// meets every interaction.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "harness/cases/data.h"
#include "harness/cases/problem.h"
#include "harness/testing/own_worker.h"
#include "properties/array/accepted_cases.h"
#include "properties/array/array_run.h"
#include "properties/array/asking.h"
#include "properties/array/factor_table.h"
#include "properties/array/requirements.h"

namespace ropewalk::properties {
namespace {
using namespace harness;

Offer everything(Dtype dtype, std::int32_t contract) {
  Offer out;
  out.base.dtype = dtype;
  out.base.contract = contract;
  out.base.tokens = 2;
  out.base.rotary_dim = out.base.tensors[0].head_dim = 8;
  out.base.tensors[0].heads = 2;
  out.simplest = levels_of_base(out.base);
  for (std::size_t f = 0; f < factor_count; ++f) {
    const auto factor = static_cast<Factor>(f);
    const int count =
        is_of_tables(factor) && contract != ROPE_CONTRACT_TABLE ? 1 : level_count(factor);
    for (int level = 0; level < count; ++level) out.levels.add(factor, level);
  }
  for (int dim = 0; dim < level_count(Factor::rotary_dim); ++dim)
    for (int room = 0; room < level_count(Factor::room); ++room)
      for (int window = 0; window < level_count(Factor::window); ++window)
        if (heads_of(dim, room, window).empty()) out.no_such_head.push_back({dim, room, window});
  return out;
}

std::int64_t bytes_moved(const Case& c) {
  std::int64_t bytes = 0;
  for (const TensorCase& t : c.tensors)
    bytes += 2 * c.batch * c.tokens * t.heads * t.head_dim * data_type(tensor_dtype(c, t)).bytes;
  return bytes;
}

// How many types the tensors have, and whether the table has the usual one.
void expect_types(const Case& c, const Levels& levels) {
  std::set<Dtype> types;
  std::int64_t own = 0;
  for (const TensorCase& t : c.tensors) {
    types.insert(tensor_dtype(c, t));
    own += t.dtype ? 1 : 0;
    EXPECT_NE(t.dtype, c.dtype);
  }
  const int level = levels[Factor::types];
  const auto others = std::ssize(c.tensors) - 1;
  EXPECT_EQ(own, level == level::alike ? 0 : level == level::second_differs ? 1 : others);
  EXPECT_EQ(std::ssize(types), level == level::alike        ? 1
                               : level == level::all_differ ? others + 1
                                                            : 2);
  EXPECT_EQ(c.table_dtype.has_value(), levels[Factor::table_type] == level::another_table);
  EXPECT_NE(c.table_dtype, data_type(c.dtype).computed_in);
}

// What of a case its levels say.
void expect_levels(const Case& c, const Levels& levels) {
  const TensorCase* first = &c.tensors[0];
  if (levels[Factor::tensors] == level::copied_first) first = &c.tensors[1];
  EXPECT_EQ(level_of(Factor::tokens, c.tokens), levels[Factor::tokens]);
  EXPECT_EQ(level_of(Factor::batch, c.batch), levels[Factor::batch]);
  EXPECT_EQ(level_of(Factor::heads, first->heads), levels[Factor::heads]);
  EXPECT_EQ(level_of(Factor::bytes, c.tokens * c.batch * first->heads * first->head_dim *
                                        data_type(c.dtype).bytes),
            levels[Factor::bytes]);
  Levels window = levels;
  set_window_levels(window, {first->head_dim, c.rotary_dim, first->rotary_offset});
  EXPECT_EQ(window, levels);
  EXPECT_EQ(c.operation == Operation::transpose, levels[Factor::operation] == 1);
  EXPECT_EQ(c.table_spare_rows > 0, levels[Factor::spare_rows] == 1);
  EXPECT_EQ(c.position_batch_stride == 0 && c.position_token_stride == 0,
            levels[Factor::position_strides] == level::one_position);
  EXPECT_FALSE(first->dtype);
  expect_types(c, levels);
}

class EachForm : public testing::TestWithParam<std::tuple<Dtype, std::int32_t>> {};

TEST_P(EachForm, RowsAreValidCasesOfTheirLevels) {
  const auto [dtype, contract] = GetParam();
  const Offer offered = everything(dtype, contract);
  std::set<std::pair<std::size_t, int>> met;
  std::uint64_t seed = 0;
  std::int64_t callers = 0, share = 0, fresh = 0;
  Cover cover(search_of(offered), 2, 7);
  while (const std::optional<Levels> next = cover.next()) {
    const Levels& levels = *next;
    cover.took(levels);
    for (std::uint64_t other = 0; other < 20; ++other) {
      const auto drawn = case_of(levels, offered.base, offered.free, hash(seed, other));
      ASSERT_TRUE(drawn);
      EXPECT_LE(bytes_moved(*drawn), std::int64_t{64} << 20) << to_text(*drawn);
      if (drawn->callers == 1) continue;
      ++callers;
      share += drawn->callers_share ? 1 : 0;
      fresh += drawn->fresh ? 1 : 0;
    }
    const auto c = case_of(levels, offered.base, offered.free, hash(++seed));
    ASSERT_TRUE(c);
    SCOPED_TRACE(to_text(*c));
    EXPECT_TRUE(are_possible(levels, offered.base));
    expect_levels(*c, levels);
    EXPECT_LE(bytes_moved(*c), std::int64_t{64} << 20);
    EXPECT_NO_THROW(make_question(*c));
    EXPECT_EQ(case_from_text(to_text(*c)), *c);
    for (std::size_t f = 0; f < factor_count; ++f) met.emplace(f, levels.of[f]);
  }
  ASSERT_GT(callers, 100);
  for (const std::int64_t on : {share, fresh}) {  // either value in 40 % at least
    EXPECT_GE(10 * on, 4 * callers);
    EXPECT_LE(10 * on, 6 * callers);
  }
  for (std::size_t f = 0; f < factor_count; ++f)
    for (int level = 0; level < most_levels; ++level)
      EXPECT_EQ(met.contains({f, level}), offered.levels.has(static_cast<Factor>(f), level))
          << words_of({{static_cast<Factor>(f), level}});
}
INSTANTIATE_TEST_SUITE_P(
    All, EachForm,
    testing::Combine(testing::Values(Dtype::f64, Dtype::f32, Dtype::f16, Dtype::bf16),
                     testing::Values(ROPE_CONTRACT_TABLE, ROPE_CONTRACT_EXACT)));

TEST(Factors, HaveAtMostEightLevelsWithNamesOfTheirOwn) {
  std::set<std::string_view> names;
  for (const FactorRow& words : factor_table()) {
    EXPECT_TRUE(names.insert(words.name).second) << words.name;
    EXPECT_GE(words.levels.size(), 2u) << words.name;
    EXPECT_LE(words.levels.size(), 8u) << words.name;
    EXPECT_EQ(std::set<std::string_view>(words.levels.begin(), words.levels.end()).size(),
              words.levels.size())
        << words.name;
  }
}

// A kernel may take four equal tensors alone, or the three of one model. No level has such a set.
TEST(Factors, KeepTheTensorsOfABase) {
  for (const std::size_t count : {3U, 4U}) {
    Case base = everything(Dtype::f32, ROPE_CONTRACT_TABLE).base;
    base.tensors.resize(count, base.tensors[0]);
    base.tensors[1].heads = base.tensors[0].heads + 2;
    Offer offered = base_alone(base);
    EXPECT_EQ(case_of(offered.simplest, base, offered.accepted, 1).value().tensors, base.tensors);
    offered.simplest[Factor::placement] = level::in_place;
    for (TensorCase& t : base.tensors) t.in_place = true;
    EXPECT_EQ(case_of(offered.simplest, base, offered.accepted, 1).value().tensors, base.tensors);
  }
}

TEST(Factors, HoldABaseThatLiesBesideTheLevels) {
  EXPECT_EQ(nearest_level_of(Factor::tokens, 5), level_of(Factor::tokens, 5));
  EXPECT_EQ(nearest_level_of(Factor::tokens, 8192), level_count(Factor::tokens) - 1);
  EXPECT_EQ(nearest_level_of(Factor::batch, 300), level_of(Factor::batch, 100));
  Offer offered;
  Case base = everything(Dtype::f32, ROPE_CONTRACT_TABLE).base;
  const auto place = [&](std::int64_t tokens) {
    base.tokens = tokens;
    base.rotary_dim = 128;
    base.tensors.assign(2, base.tensors[0]);
    base.tensors[0].heads = 32;
    base.tensors[1].heads = 8;
    for (TensorCase& t : base.tensors) t.head_dim = 128;
    offered = base_alone(base);
    return case_of(offered.simplest, base, offered.accepted, 1);
  };
  for (const std::int64_t tokens : {2, 512}) {  // 512 tokens are 8 MiB, which no level has
    const auto c = place(tokens);
    EXPECT_EQ(offered.accepted.any_bytes, tokens == 512);
    ASSERT_TRUE(c);
    EXPECT_TRUE(are_possible(offered.simplest, base));
    EXPECT_EQ(c->tokens, tokens);
    EXPECT_EQ(c->tensors, base.tensors);
  }
  base.tensors[1].head_dim = 160;  // a K of another width
  base.tensors[1].rotary_offset = 32;
  offered = base_alone(base);
  const auto c = case_of(offered.simplest, base, offered.accepted, 1);
  ASSERT_TRUE(c);
  EXPECT_EQ(c->tensors, base.tensors);
}

// A negative control: levels that contradict each other are not taken for possible.
TEST(Factors, ThatContradictEachOtherAreImpossible) {
  const Offer offered = everything(Dtype::f32, ROPE_CONTRACT_TABLE);
  EXPECT_TRUE(are_possible(offered.simplest, offered.base));
  const auto with = [&](Factor f, int level) {
    Levels levels = offered.simplest;
    levels[f] = level;
    return levels;
  };
  for (const Levels& levels :
       {with(Factor::window, level::inside), with(Factor::tables, level::own_tables),
        with(Factor::in_layout, level::fused), with(Factor::position_range, level::negative),
        with(Factor::types, level::second_differs), with(Factor::types, level::all_differ),
        with(Factor::bytes, level::beyond), with(Factor::position_strides, level::one_row),
        with(Factor::position_strides, level::one_position)})
    EXPECT_FALSE(are_possible(levels, offered.base));
}

// ---- on real kernels

class Arrays : public testing::Test {
 protected:
  static std::vector<const Property*> judged() {
    std::vector<const Property*> out;
    for (const Property* each : all_properties())
      if (each->judge != nullptr) out.push_back(each);
    return out;
  }

  ArrayResult run(const std::string& kernel, std::int64_t most_cases = 0,
                  Profile profile = Profile::smoke) {
    std::vector<Subject> subject{subject_of(worker_, oracle_, kernel)};
    JudgeThreads one;
    ArrayLimits limits;
    limits.profile = profile;
    limits.most_cases = most_cases;
    return run_array(one, subject, first_offer(subject[0]).value(), judged(), limits);
  }

 private:
  Worker worker_{options()};
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
      EXPECT_GT(r.executed, 15) << property;
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
  EXPECT_EQ(words_of(std::vector<ArrayCoverage>{}), "");
  EXPECT_EQ(words_of(std::vector<ArrayCoverage>{{2, {1000, 1000}}, {3, {100'000, 99'999}}}),
            "covered 100 % of 2-way, 99.9 % of 3-way interactions of what the kernel offers");
}

}  // namespace
}  // namespace ropewalk::properties
