// Covering arrays against brute force, which shares no code with them: it makes every row of a
// small model, keeps those that the constraints allow, and collects the tuples that occur.
#include "properties/array/generator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "harness/cases/data.h"

namespace ropewalk::properties {
namespace {

using Tuples = std::set<LevelTuple>;
using Row = std::vector<int>;

struct Constraint {
  std::vector<int> factors;
  std::function<bool(std::span<const int>)> allows;
};
// The first factors with these numbers of levels. The others have one level.
struct Model {
  std::vector<int> levels;
  std::vector<Constraint> constraints;
};

std::vector<Factor> factors_of(const std::vector<int>& numbers) {
  std::vector<Factor> out;
  for (const int f : numbers) out.push_back(static_cast<Factor>(f));
  return out;
}
std::vector<int> first(std::size_t count) {
  std::vector<int> out(count);
  std::iota(out.begin(), out.end(), 0);
  return out;
}

RowSearch search_of(const Model& model) {
  LevelSets levels;
  levels.of.fill(1);
  for (std::size_t f = 0; f < model.levels.size(); ++f)
    levels.of[f] = static_cast<std::uint8_t>((1 << model.levels[f]) - 1);
  RowSearch search(levels, {});
  for (const Constraint& each : model.constraints) {
    const std::vector<Factor> factors = factors_of(each.factors);
    search.require({factors, [=](const Levels& row) {
                      std::vector<int> levels_of_them;
                      for (const Factor f : factors) levels_of_them.push_back(row[f]);
                      return each.allows(levels_of_them);
                    }});
  }
  return search;
}

// A cover of the model's factors, or of some of them.
struct ModelCover {
  ModelCover(const Model& model, int t, std::uint64_t seed, std::vector<int> some = {})
      : count(model.levels.size()),
        cover(search_of(model), t, seed, factors_of(some.empty() ? first(count) : some)) {}
  std::optional<Row> next() {
    const auto row = cover.next();
    if (!row) return {};
    return Row(row->of.begin(), row->of.begin() + static_cast<std::ptrdiff_t>(count));
  }
  void took(const Row& row) {
    Levels levels;
    std::ranges::copy(row, levels.of.begin());
    cover.took(levels);
  }
  std::size_t count;
  Cover cover;
};

bool allows(const Model& model, const Row& row) {
  return std::all_of(model.constraints.begin(), model.constraints.end(), [&](const auto& each) {
    std::vector<int> levels;
    for (const int factor : each.factors) levels.push_back(row[static_cast<std::size_t>(factor)]);
    return each.allows(levels);
  });
}

std::vector<Row> allowed_rows(const Model& model) {
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
    tuple.push_back({static_cast<Factor>(factors[i]), row[static_cast<std::size_t>(factors[i])]});
    add_tuples(row, factors, i + 1, t - 1, tuple, tuples);
    tuple.pop_back();
  }
}

Tuples tuples_of(const std::vector<Row>& rows, int t, const std::vector<int>& some = {}) {
  Tuples tuples;
  for (const Row& row : rows) {
    LevelTuple tuple;
    add_tuples(row, some.empty() ? first(row.size()) : some, 0, t, tuple, tuples);
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
std::vector<Row> rest(ModelCover& cover) {
  std::vector<Row> rows;
  while (const auto row = cover.next()) {
    cover.took(*row);
    rows.push_back(*row);
  }
  return rows;
}
std::vector<Row> rows_of(const Model& model, int t, std::uint64_t seed = 1) {
  ModelCover cover(model, t, seed);
  return rest(cover);
}

std::uint64_t hash_of(const std::vector<Row>& rows) {
  std::uint64_t hash = rows.size();
  for (const Row& row : rows)
    for (const int level : row) hash = harness::hash(hash, level);
  return hash;
}

bool less_or_equal(std::span<const int> levels) {
  return levels[0] <= levels[1];
}

struct NamedModel {
  const char* name;
  Model model;
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
Model pigeons_without_room(int last_levels) {
  Model model{{3, 3, 3, 3, last_levels, 2}, {}};
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < i; ++j)
      model.constraints.push_back(
          {{i, j, 4}, [=](auto l) { return l[0] != l[1] || l[2] + 1 < last_levels; }});
  return model;
}
const NamedModel pigeons{"pigeons", pigeons_without_room(2)};

class EveryTuple : public testing::TestWithParam<std::tuple<NamedModel, int>> {
 public:
  const Model& model() const { return std::get<0>(GetParam()).model; }
  int strength() const { return std::get<1>(GetParam()); }
};

TEST_P(EveryTuple, ThatIsPossibleIsMet) {
  const Tuples possible = tuples_of(allowed_rows(model()), strength());
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    ModelCover cover(model(), strength(), seed);
    const std::vector<Row> rows = rest(cover);
    for (const Row& row : rows) EXPECT_TRUE(allows(model(), row));
    EXPECT_EQ(tuples_of(rows, strength()), possible);
    EXPECT_EQ(cover.cover.coverage().possible, static_cast<std::int64_t>(possible.size()));
    EXPECT_EQ(cover.cover.coverage().met, cover.cover.coverage().possible);
    EXPECT_TRUE(cover.cover.missing().empty());
  }
}

// Each second row counts as given, and one that the constraints exclude.
TEST_P(EveryTuple, ThatIsNotMetIsNamedAndMetByTheRest) {
  const Tuples possible = tuples_of(allowed_rows(model()), strength());
  const std::vector<Row> all = rows_of(model(), strength(), 5);
  std::vector<Row> given{Row(model().levels.size(), 0)};
  for (std::size_t i = 0; i < all.size(); i += 2) given.push_back(all[i]);
  ModelCover cover(model(), strength(), 6);
  for (const Row& row : given) cover.took(row);
  const Tuples left = without(possible, tuples_of(given, strength()));
  const std::vector<LevelTuple> named = cover.cover.missing();
  EXPECT_EQ(Tuples(named.begin(), named.end()), left);
  EXPECT_EQ(named.size(), left.size());
  EXPECT_EQ(cover.cover.coverage().possible, static_cast<std::int64_t>(possible.size()));
  EXPECT_EQ(cover.cover.coverage().met, static_cast<std::int64_t>(possible.size() - left.size()));
  const std::vector<Row> rows = rest(cover);
  EXPECT_LT(rows.size(), all.size());
  EXPECT_TRUE(without(left, tuples_of(rows, strength())).empty());
}

INSTANTIATE_TEST_SUITE_P(All, EveryTuple,
                         testing::Combine(testing::Values(free_model, chain, determined, wide,
                                                          narrow, different, pigeons),
                                          testing::Values(2, 3, 4)),
                         [](const auto& all) {
                           return std::string(std::get<0>(all.param).name) + "_" +
                                  std::to_string(std::get<1>(all.param));
                         });

TEST(CoveringArray, MayBeOfSomeFactors) {
  const std::vector<int> some{0, 2, 3, 5};
  for (const NamedModel& named : {free_model, chain, determined}) {
    ModelCover cover(named.model, 3, 1, {5, 0, 2, 3});
    const std::vector<Row> rows = rest(cover);
    EXPECT_EQ(tuples_of(rows, 3, some), tuples_of(allowed_rows(named.model), 3, some));
    EXPECT_LT(rows.size(), rows_of(named.model, 3).size());
  }
}

// Without constraints, every tuple is possible.
TEST(CoveringArray, CoversManyFactors) {
  Model model;
  for (int f = 0; f < 24; ++f) model.levels.push_back(2 + f * 5 % 7);
  std::size_t pairs = 0;
  for (std::size_t f = 0; f < 24; ++f)
    for (std::size_t g = 0; g < f; ++g)
      pairs += static_cast<std::size_t>(model.levels[f] * model.levels[g]);
  EXPECT_EQ(tuples_of(rows_of(model, 2), 2).size(), pairs);
}

TEST(CoveringArray, IsSmall) {
  const auto rows = [](std::size_t factors, int levels, int t) {
    return rows_of({std::vector<int>(factors, levels), {}}, t).size();
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
  Model model = determined.model;
  model.levels.insert(model.levels.end(), {8, 7, 8, 8, 5, 2});
  EXPECT_EQ(hash_of(rows_of(model, 2)), 14784972697455576595u);
  EXPECT_NE(hash_of(rows_of(model, 2, 2)), 14784972697455576595u);
}

// A kernel refuses some tuples, and each refusal is learned when a row meets it.
TEST(Cover, LearnsWhatIsRefused) {
  for (const NamedModel& named : {free_model, chain, wide}) {
    using Numbers = std::vector<std::pair<int, int>>;
    const std::vector<Numbers> refused{
        {{0, 1}}, {{1, 0}, {2, 1}}, {{0, 2}, {3, 1}, {4, 1}}, {{2, 0}, {4, 0}, {5, 1}, {3, 0}}};
    Model full = named.model;
    for (const Numbers& tuple : refused) {
      Constraint constraint;
      for (const auto& [factor, level] : tuple) constraint.factors.push_back(factor);
      constraint.allows = [tuple](std::span<const int> levels) {
        for (std::size_t i = 0; i < tuple.size(); ++i)
          if (levels[i] != tuple[i].second) return true;
        return false;
      };
      full.constraints.push_back(constraint);
    }
    ModelCover cover(named.model, 3, 1);
    std::vector<Row> rows;
    while (const auto row = cover.next()) {
      EXPECT_TRUE(allows(named.model, *row));
      std::size_t found = refused.size();
      for (std::size_t i = 0; i < refused.size(); ++i)
        if (!allows({{}, {full.constraints[named.model.constraints.size() + i]}}, *row)) found = i;
      if (found < refused.size()) {
        LevelTuple tuple;
        for (const auto& [f, level] : refused[found])
          tuple.push_back({static_cast<Factor>(f), level});
        cover.cover.forbid(tuple);
      } else {
        cover.took(*row);
        rows.push_back(*row);
      }
    }
    const Tuples possible = tuples_of(allowed_rows(full), 3);
    EXPECT_EQ(tuples_of(rows, 3), possible);
    EXPECT_EQ(cover.cover.coverage().possible, static_cast<std::int64_t>(possible.size()));
    EXPECT_EQ(cover.cover.coverage().met, static_cast<std::int64_t>(possible.size()));
    EXPECT_TRUE(cover.cover.missing().empty());
  }
}

// A row had these tuples, so a later refusal does not make them impossible.
TEST(Cover, KeepsWhatATakenRowHad) {
  ModelCover cover(free_model.model, 2, 1);
  cover.took({3, 2, 2, 1, 1, 2});
  EXPECT_EQ(cover.cover.coverage().met, 15);
  const std::int64_t before = cover.cover.coverage().possible;
  cover.cover.forbid({{Factor(1), 2}, {Factor(0), 3}});
  EXPECT_EQ(cover.cover.coverage().met, 15);
  EXPECT_EQ(cover.cover.coverage().possible, before);
  cover.cover.forbid({{Factor(5), 2}});
  EXPECT_EQ(cover.cover.coverage().met, 15);
  EXPECT_EQ(cover.cover.coverage().possible, before - 14 + 5);
}

// A tuple of a row that violates a constraint counts while another row can have it.
TEST(Cover, CountsThePossibleTuplesOfAnExcludedRow) {
  const Model sum{{2, 2, 2}, {{{0, 1, 2}, [](auto l) { return (l[0] + l[1]) % 2 == l[2]; }}}};
  for (const int t : {2, 3}) {
    ModelCover cover(sum, t, 1);
    cover.took({0, 0, 1});
    EXPECT_EQ(cover.cover.coverage().possible, t == 2 ? 12 : 4);
    EXPECT_EQ(cover.cover.coverage().met, t == 2 ? 3 : 0);
  }
}

TEST(Cover, EndsWhenAllRowsAreForbidden) {
  ModelCover cover({{2, 2, 2}, {}}, 2, 1);
  int rows = 0;
  while (const auto row = cover.next()) {
    LevelTuple whole;
    for (std::size_t f = 0; f < row->size(); ++f)
      whole.push_back({static_cast<Factor>(f), (*row)[f]});
    cover.cover.forbid(whole);
    ++rows;
  }
  EXPECT_EQ(rows, 8);
  EXPECT_EQ(cover.cover.coverage().possible, 0);
}

TEST(Cover, RejectsWhatMakesNoSense) {
  const auto throws = [](const Model& model, int t, const std::vector<int>& some = {}) {
    EXPECT_THROW(ModelCover(model, t, 1, some), std::invalid_argument);
  };
  const auto never = [](auto) { return false; };
  const auto equal = [](auto l) { return l[0] == l[1]; };
  const auto unequal = [](auto l) { return l[0] != l[1]; };
  throws({{2, 2}, {{{0}, never}}}, 2);
  throws({{2, 2}, {{{}, never}}}, 2);
  throws({{2, 2, 2}, {{{0, 1}, equal}, {{1, 2}, equal}, {{2, 0}, unequal}}}, 2);
  throws(pigeons_without_room(1), 2);
  throws({{2, 0}, {}}, 2);
  throws({std::vector<int>(8, 8), {{first(8), [](auto) { return true; }}}}, 2);
  throws({{2, 2}, {}}, 3);
  throws({{2, 2}, {}}, 1);
  throws({{2, 2, 2, 2, 2}, {}}, 5);
  throws({{2, 2}, {}}, 2, {0, 0});
  ModelCover cover({{2, 2}, {}}, 2, 1);
  EXPECT_THROW(cover.cover.forbid({}), std::invalid_argument);
}

// Rows that RapidCheck draws: they are allowed, differ, have each level, and repeat.
TEST(DrawnRows, AreAllowedAndHaveEveryLevel) {
  for (const NamedModel& named : {free_model, chain, determined, wide}) {
    const RowSearch search = search_of(named.model);
    std::vector<Row> rows;
    for (const DrawnRow& drawn : drawn_rows(search, "rows", 200, 7)) {
      const auto end =
          drawn.levels.of.begin() + static_cast<std::ptrdiff_t>(named.model.levels.size());
      rows.emplace_back(drawn.levels.of.begin(), end);
      EXPECT_TRUE(allows(named.model, rows.back()));
    }
    ASSERT_EQ(rows.size(), 200u);
    EXPECT_EQ(tuples_of(rows, 1), tuples_of(allowed_rows(named.model), 1)) << named.name;
    const auto again = drawn_rows(search, "rows", 200, 7),
               other = drawn_rows(search, "rows", 200, 8);
    std::size_t as_before = 0, as_other = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      as_before += std::equal(rows[i].begin(), rows[i].end(), again[i].levels.of.begin());
      as_other += std::equal(rows[i].begin(), rows[i].end(), other[i].levels.of.begin());
    }
    EXPECT_EQ(as_before, rows.size());
    EXPECT_LT(as_other, rows.size() / 2);
  }
}

}  // namespace
}  // namespace ropewalk::properties
