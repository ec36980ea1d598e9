// Covering arrays against brute force, which shares no code with them: it makes every row of a
// small model, keeps those that the constraints allow, and collects the tuples that occur.
#include "properties/covering/covering.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "harness/cases/data.h"

namespace ropewalk::properties {
namespace {

using Tuples = std::set<LevelTuple>;

bool allows(const CoveringModel& model, const Row& row) {
  return std::all_of(model.constraints.begin(), model.constraints.end(), [&](const auto& each) {
    std::vector<int> levels;
    for (const int factor : each.factors) levels.push_back(row[static_cast<std::size_t>(factor)]);
    return each.allows(levels);
  });
}

std::vector<Row> allowed_rows(const CoveringModel& model) {
  std::vector<Row> rows;
  Row row(model.levels.size(), 0);
  for (std::size_t f = 0; f < row.size();) {
    if (f == 0 && allows(model, row)) rows.push_back(row);
    if (++row[f] < model.levels[f]) {
      f = 0;
    } else {
      row[f++] = 0;
    }
  }
  return rows;
}

void add_tuples(const Row& row, const std::vector<int>& factors, std::size_t from, int t,
                LevelTuple& tuple, Tuples& tuples) {
  if (t == 0) {
    tuples.insert(tuple);
    return;
  }
  for (std::size_t i = from; i < factors.size(); ++i) {
    tuple.push_back({factors[i], row[static_cast<std::size_t>(factors[i])]});
    add_tuples(row, factors, i + 1, t - 1, tuple, tuples);
    tuple.pop_back();
  }
}

Tuples tuples_of(const std::vector<Row>& rows, const Strength& strength) {
  Tuples tuples;
  for (const Row& row : rows) {
    std::vector<int> factors = strength.factors;
    for (int f = 0; strength.factors.empty() && f < static_cast<int>(row.size()); ++f)
      factors.push_back(f);
    LevelTuple tuple;
    add_tuples(row, factors, 0, strength.t, tuple, tuples);
  }
  return tuples;
}

Tuples without(const Tuples& from, const Tuples& tuples) {
  Tuples left;
  std::set_difference(from.begin(), from.end(), tuples.begin(), tuples.end(),
                      std::inserter(left, left.end()));
  return left;
}

// Rows that meet every possible tuple together with those that the cover has taken.
std::vector<Row> rest(Cover& cover) {
  std::vector<Row> rows;
  while (const auto row = cover.next()) {
    cover.took(*row);
    rows.push_back(*row);
  }
  return rows;
}
std::vector<Row> rows_of(const CoveringModel& model, const std::vector<Strength>& strengths,
                         std::uint64_t seed = 1) {
  Cover cover(model, strengths, seed);
  return rest(cover);
}

std::uint64_t hash_of(const std::vector<Row>& rows) {
  std::uint64_t hash = rows.size();
  for (const Row& row : rows)
    for (const std::uint8_t level : row) hash = harness::hash(hash, level);
  return hash;
}

bool less_or_equal(std::span<const int> levels) {
  return levels[0] <= levels[1];
}

struct NamedModel {
  const char* name;
  CoveringModel model;
};
void PrintTo(const NamedModel& named, std::ostream* out) {
  *out << named.name;
}

const NamedModel free_model{"free", {{4, 3, 3, 2, 2, 3}, {}}};
// Level 2 of factor 0 forces level 2 of factor 3, and no constraint has both.
const NamedModel chain{
    "chain",
    {{3, 3, 3, 3, 2, 2},
     {{{0, 1}, less_or_equal}, {{1, 2}, less_or_equal}, {{2, 3}, less_or_equal}}}};
// Factors 4 and 5 follow from others, so most tuples with them are impossible.
const NamedModel determined{"determined",
                            {{3, 2, 4, 3, 3, 2},
                             {{{4, 0, 3}, [](auto l) { return l[0] == (l[1] + l[2]) % 3; }},
                              {{5, 4, 2}, [](auto l) { return l[0] == (l[1] + l[2]) % 2; }}}}};
// Few of the tuples of the wide constraint are allowed.
const NamedModel wide{
    "wide",
    {{3, 3, 2, 3, 2, 3, 2},
     {{{6, 5, 4, 3, 1, 0},
       [](auto l) { return (l[0] + 2 * l[1] + l[2] + l[3] + 3 * l[4] + l[5]) % 5 == 0; }},
      {{2, 0}, [](auto l) { return l[0] + l[1] != 2; }}}}};
// A level that no row has, a factor of one level, and a constraint without factors.
const NamedModel narrow{"narrow",
                        {{4, 1, 3, 2, 3},
                         {{{0}, [](auto l) { return l[0] != 1; }},
                          {{}, [](auto) { return true; }},
                          {{0, 2}, [](auto l) { return l[0] != 3 || l[1] == 1; }},
                          {{2, 4, 3}, [](auto l) { return l[0] != 1 || l[1] > l[2]; }}}}};
// Different levels of all factors: search must go back often.
const NamedModel different{
    "different",
    {{5, 4, 4, 5, 5},
     {{{0, 1}, [](auto l) { return l[0] != l[1]; }},
      {{0, 2, 1}, [](auto l) { return l[0] != l[1] && l[1] != l[2]; }},
      {{3, 0, 1, 2}, [](auto l) { return l[0] != l[1] && l[0] != l[2] && l[0] != l[3]; }},
      {{4, 3, 2}, [](auto l) { return l[0] != l[1] && l[0] != l[2]; }},
      {{4, 0, 1}, [](auto l) { return l[0] != l[1] && l[0] != l[2]; }}}}};

// With the last level of factor 4, four factors need four different levels of three. No constraint
// says so, and only a search finds it.
CoveringModel pigeons_without_room(int last_levels) {
  CoveringModel model{{3, 3, 3, 3, last_levels, 2}, {}};
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < i; ++j)
      model.constraints.push_back(
          {{i, j, 4}, [=](auto l) { return l[0] != l[1] || l[2] + 1 < last_levels; }});
  return model;
}
const NamedModel pigeons{"pigeons", pigeons_without_room(2)};

class EveryTuple : public testing::TestWithParam<std::tuple<NamedModel, int>> {
 public:
  const CoveringModel& model() const { return std::get<0>(GetParam()).model; }
  Strength strength() const { return {std::get<1>(GetParam()), {}}; }
};

TEST_P(EveryTuple, ThatIsPossibleIsMet) {
  const Tuples possible = tuples_of(allowed_rows(model()), strength());
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    Cover cover(model(), {strength()}, seed);
    const std::vector<Row> rows = rest(cover);
    for (const Row& row : rows) EXPECT_TRUE(allows(model(), row));
    EXPECT_EQ(tuples_of(rows, strength()), possible);
    EXPECT_EQ(cover.coverage().possible, static_cast<std::int64_t>(possible.size()));
    EXPECT_EQ(cover.coverage().met, cover.coverage().possible);
    EXPECT_TRUE(cover.missing().empty());
  }
}

// Each second row counts as given, and one that the constraints exclude.
TEST_P(EveryTuple, ThatIsNotMetIsNamedAndMetByTheRest) {
  const Tuples possible = tuples_of(allowed_rows(model()), strength());
  const std::vector<Row> all = rows_of(model(), {strength()}, 5);
  std::vector<Row> given{Row(model().levels.size(), 0)};
  for (std::size_t i = 0; i < all.size(); i += 2) given.push_back(all[i]);
  Cover cover(model(), {strength()}, 6);
  for (const Row& row : given) cover.took(row);
  const Tuples left = without(possible, tuples_of(given, strength()));
  const std::vector<LevelTuple> named = cover.missing();
  EXPECT_EQ(Tuples(named.begin(), named.end()), left);
  EXPECT_EQ(named.size(), left.size());
  EXPECT_EQ(cover.coverage().possible, static_cast<std::int64_t>(possible.size()));
  EXPECT_EQ(cover.coverage().met, static_cast<std::int64_t>(possible.size() - left.size()));
  const std::vector<Row> rows = rest(cover);
  EXPECT_LT(rows.size(), all.size());
  EXPECT_TRUE(without(left, tuples_of(rows, strength())).empty());
}

INSTANTIATE_TEST_SUITE_P(All, EveryTuple,
                         testing::Combine(testing::Values(free_model, chain, determined, wide,
                                                          narrow, different, pigeons),
                                          testing::Values(1, 2, 3, 4)),
                         [](const auto& all) {
                           return std::string(std::get<0>(all.param).name) + "_" +
                                  std::to_string(std::get<1>(all.param));
                         });

TEST(CoveringArray, MixesStrengths) {
  const std::vector<Strength> strengths{{2, {}}, {3, {5, 0, 2, 3}}, {4, {1, 2, 3, 4}}};
  for (const NamedModel& named : {free_model, chain, determined}) {
    const std::vector<Row> rows = rows_of(named.model, strengths);
    for (Strength strength : strengths) {
      std::sort(strength.factors.begin(), strength.factors.end());
      EXPECT_EQ(tuples_of(rows, strength), tuples_of(allowed_rows(named.model), strength));
    }
    EXPECT_LE(rows.size(), rows_of(named.model, {{4, {}}}).size());
  }
}

// More lanes than a word has bits. Without constraints, every tuple is possible.
TEST(CoveringArray, CoversManyFactors) {
  CoveringModel model;
  for (int f = 0; f < 24; ++f) model.levels.push_back(2 + f * 7 % 9);
  std::size_t pairs = 0;
  for (std::size_t f = 0; f < 24; ++f)
    for (std::size_t g = 0; g < f; ++g)
      pairs += static_cast<std::size_t>(model.levels[f] * model.levels[g]);
  EXPECT_EQ(tuples_of(rows_of(model, {{2, {}}}), {2, {}}).size(), pairs);
}

TEST(CoveringArray, IsSmall) {
  const auto rows = [](std::size_t factors, int levels, int t) {
    return rows_of({std::vector<int>(factors, levels), {}}, {{t, {}}}).size();
  };
  EXPECT_EQ(rows(4, 2, 3), 8u);
  EXPECT_LE(rows(4, 3, 2), 10u);
  EXPECT_LE(rows(5, 4, 2), 21u);
  EXPECT_LE(rows(8, 7, 2), 71u);
  EXPECT_LE(rows(10, 4, 2), 32u);
  EXPECT_LE(rows(10, 4, 3), 150u);
}

// A hash of the rows: when the search is changed on purpose, it changes too.
TEST(CoveringArray, IsTheSameOnEveryMachine) {
  CoveringModel model = determined.model;
  model.levels.insert(model.levels.end(), {8, 7, 8, 8, 5, 2});
  const std::vector<Strength> strengths{{2, {}}, {3, {0, 1, 6, 7}}};
  EXPECT_EQ(hash_of(rows_of(model, strengths)), 6620134371361120569u);
  EXPECT_NE(hash_of(rows_of(model, strengths, 2)), 6620134371361120569u);
}

// A kernel refuses some tuples, and each refusal is learned when a row meets it.
TEST(Cover, LearnsWhatIsRefused) {
  for (const NamedModel& named : {free_model, chain, wide}) {
    const std::vector<LevelTuple> refused{
        {{0, 1}}, {{1, 0}, {2, 1}}, {{0, 2}, {3, 1}, {4, 1}}, {{2, 0}, {4, 0}, {5, 1}, {3, 0}}};
    CoveringModel full = named.model;
    for (const LevelTuple& tuple : refused) {
      Constraint constraint;
      for (const auto& [factor, level] : tuple) constraint.factors.push_back(factor);
      constraint.allows = [tuple](std::span<const int> levels) {
        for (std::size_t i = 0; i < tuple.size(); ++i)
          if (levels[i] != tuple[i].level) return true;
        return false;
      };
      full.constraints.push_back(constraint);
    }
    Cover cover(named.model, {{3, {}}}, 1);
    std::vector<Row> rows;
    while (const auto row = cover.next()) {
      EXPECT_TRUE(allows(named.model, *row));
      std::size_t found = refused.size();
      for (std::size_t i = 0; i < refused.size(); ++i)
        if (!allows({{}, {full.constraints[named.model.constraints.size() + i]}}, *row)) found = i;
      if (found < refused.size()) {
        cover.forbid(refused[found]);
      } else {
        cover.took(*row);
        rows.push_back(*row);
      }
    }
    const Tuples possible = tuples_of(allowed_rows(full), {3, {}});
    EXPECT_EQ(tuples_of(rows, {3, {}}), possible);
    EXPECT_EQ(cover.coverage().possible, static_cast<std::int64_t>(possible.size()));
    EXPECT_EQ(cover.coverage().met, static_cast<std::int64_t>(possible.size()));
    EXPECT_TRUE(cover.missing().empty());
  }
}

// Tuples that only a forbidden row had are not possible any more.
TEST(Cover, ForgetsWhatATakenRowHad) {
  Cover cover(free_model.model, {{2, {}}}, 1);
  const Row row{3, 2, 2, 1, 1, 2};
  cover.took(row);
  EXPECT_EQ(cover.coverage().met, 15);
  const std::int64_t before = cover.coverage().possible;
  cover.forbid({{1, 2}, {0, 3}});
  EXPECT_EQ(cover.coverage().met, 14);
  EXPECT_EQ(cover.coverage().possible, before - 1);
  cover.forbid({{5, 2}, {5, 2}});
  EXPECT_EQ(cover.coverage().met, 9);
}

// A tuple of a row that violates a constraint counts while another row can have it.
TEST(Cover, CountsThePossibleTuplesOfAnExcludedRow) {
  const auto is_sum = [](auto l) { return (l[0] + l[1]) % 2 == l[2]; };
  Cover cover({{2, 2, 2}, {{{0, 1, 2}, is_sum}}}, {{2, {}}, {3, {}}}, 1);
  cover.took({0, 0, 1});
  EXPECT_EQ(cover.coverage().possible, 12 + 4);
  EXPECT_EQ(cover.coverage().met, 3);
  cover.forbid({{0, 0}, {2, 0}});
  cover.took({0, 0, 1});
  EXPECT_EQ(cover.coverage().possible, 9 + 3);
  EXPECT_EQ(cover.coverage().met, 2);
}

TEST(Cover, EndsWhenAllRowsAreForbidden) {
  Cover cover({{2, 2, 2}, {}}, {{2, {}}}, 1);
  int rows = 0;
  while (const auto row = cover.next()) {
    LevelTuple whole;
    for (const std::uint8_t level : *row) whole.push_back({static_cast<int>(whole.size()), level});
    cover.forbid(whole);
    ++rows;
  }
  EXPECT_EQ(rows, 8);
  EXPECT_EQ(cover.coverage().possible, 0);
}

TEST(Cover, RejectsWhatMakesNoSense) {
  const auto throws = [](const CoveringModel& model, const Strength& strength) {
    EXPECT_THROW(Cover(model, {strength}, 1), std::invalid_argument);
  };
  const auto never = [](auto) { return false; };
  const auto equal = [](auto l) { return l[0] == l[1]; };
  const auto unequal = [](auto l) { return l[0] != l[1]; };
  throws({{2, 2}, {{{0}, never}}}, {2, {}});
  throws({{2, 2}, {{{}, never}}}, {2, {}});
  throws({{2, 2, 2}, {{{0, 1}, equal}, {{1, 2}, equal}, {{2, 0}, unequal}}}, {2, {}});
  throws(pigeons_without_room(1), {2, {}});
  throws({{2, 0}, {}}, {2, {}});
  throws({{2, 65}, {}}, {2, {}});
  throws({{2, 2}, {{{0, 2}, equal}}}, {2, {}});
  throws({{2, 2}, {{{0, 0}, equal}}}, {2, {}});
  throws({std::vector<int>(9, 8), {{{0, 1, 2, 3, 4, 5, 6, 7}, never}}}, {2, {}});
  throws({{2, 2}, {}}, {3, {}});
  throws({{2, 2}, {}}, {0, {}});
  throws({{2, 2}, {}}, {1, {2}});
  throws({{2, 2}, {}}, {2, {0, 0}});
  EXPECT_THROW(Cover({{2, 2}, {}}, {}, 1), std::invalid_argument);
  Cover cover({{2, 2}, {}}, {{2, {}}}, 1);
  EXPECT_THROW(cover.took({0}), std::invalid_argument);
  EXPECT_THROW(cover.took({0, 2}), std::invalid_argument);
  EXPECT_THROW(cover.forbid({}), std::invalid_argument);
  EXPECT_THROW(cover.forbid({{2, 0}}), std::invalid_argument);
  EXPECT_THROW(cover.forbid({{0, -1}}), std::invalid_argument);
}

}  // namespace
}  // namespace ropewalk::properties
