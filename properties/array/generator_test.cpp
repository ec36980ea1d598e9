// Covering arrays against brute force, which shares no code with them: it makes every row of a
// small model, keeps those that the constraints allow, and collects the tuples that occur.
#include "properties/array/generator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "harness/cases/data.h"

namespace ropewalk::properties {
namespace {

using Tuples = std::set<LevelTuple>;

// The first factors with these numbers of levels. The others have one level.
struct Model {
  std::vector<int> counts;
  std::vector<Rule> rules;

  RowSearch search() const {
    LevelSets levels;
    levels.of.fill(1);
    for (std::size_t f = 0; f < counts.size(); ++f)
      levels.of[f] = static_cast<std::uint8_t>((1 << counts[f]) - 1);
    RowSearch search(levels, {});
    for (const Rule& rule : rules) search.require(rule);
    return search;
  }
  std::vector<Factor> factors() const {
    std::vector<Factor> out;
    for (std::size_t f = 0; f < counts.size(); ++f) out.push_back(static_cast<Factor>(f));
    return out;
  }
  Cover cover(int t, std::uint64_t seed = 1) const { return {search(), t, seed, factors()}; }
  bool allows(const Levels& row) const {
    return std::ranges::all_of(rules, [&](const Rule& rule) { return rule.holds(row); });
  }
};

// Of numbers of factors.
std::vector<Factor> factors(std::initializer_list<int> numbers) {
  std::vector<Factor> out;
  for (const int f : numbers) out.push_back(static_cast<Factor>(f));
  return out;
}
template <class Holds>
Rule rule(std::initializer_list<int> numbers, const Holds& holds) {
  return {factors(numbers), [of = factors(numbers), holds](const Levels& row) {
            std::vector<int> l;
            for (const Factor f : of) l.push_back(row[f]);
            return holds(l);
          }};
}

std::vector<Levels> allowed_rows(const Model& model) {
  std::vector<Levels> rows;
  Levels row;
  for (std::size_t f = 0; f < model.counts.size();) {
    if (f == 0 && model.allows(row)) rows.push_back(row);
    if (++row.of[f] < model.counts[f])
      f = 0;
    else
      row.of[f++] = 0;
  }
  return rows;
}

void add_tuples(const Levels& row, const std::vector<Factor>& of, std::size_t from, int t,
                LevelTuple& tuple, Tuples& tuples) {
  if (t == 0) {
    tuples.insert(tuple);
    return;
  }
  for (std::size_t i = from; i < of.size(); ++i) {
    tuple.push_back({of[i], row[of[i]]});
    add_tuples(row, of, i + 1, t - 1, tuple, tuples);
    tuple.pop_back();
  }
}

Tuples tuples_of(const std::vector<Levels>& rows, int t, const std::vector<Factor>& of) {
  Tuples tuples;
  LevelTuple tuple;
  for (const Levels& row : rows) add_tuples(row, of, 0, t, tuple, tuples);
  return tuples;
}

Tuples without(const Tuples& from, const Tuples& tuples) {
  Tuples left;
  std::ranges::set_difference(from, tuples, std::inserter(left, left.end()));
  return left;
}

// Rows that meet every possible tuple together with those that the cover has taken.
std::vector<Levels> rest(Cover cover) {
  std::vector<Levels> rows;
  while (const auto row = cover.next()) {
    cover.took(*row);
    rows.push_back(*row);
  }
  return rows;
}

bool less_or_equal(const std::vector<int>& l) {
  return l[0] <= l[1];
}

struct NamedModel {
  const char* name;
  Model model;
};
void PrintTo(const NamedModel& named, std::ostream* out) {
  *out << named.name;
}

const NamedModel free_model{"free", {{4, 3, 3, 2, 2, 3}, {}}};
// Level 2 of factor 0 forces level 2 of factor 3, and no rule has both.
const NamedModel chain{
    "chain",
    {{3, 3, 3, 3, 2, 2},
     {rule({0, 1}, less_or_equal), rule({1, 2}, less_or_equal), rule({2, 3}, less_or_equal)}}};
// Factors 4 and 5 follow from others, so most tuples with them are impossible.
const NamedModel determined{"determined",
                            {{3, 2, 4, 3, 3, 2},
                             {rule({4, 0, 3}, [](auto l) { return l[0] == (l[1] + l[2]) % 3; }),
                              rule({5, 4, 2}, [](auto l) { return l[0] == (l[1] + l[2]) % 2; })}}};
// Few of the tuples of the wide rule are allowed.
const NamedModel wide{
    "wide",
    {{3, 3, 2, 3, 2, 3, 2},
     {rule({6, 5, 4, 3, 1, 0},
           [](auto l) { return (l[0] + 2 * l[1] + l[2] + l[3] + 3 * l[4] + l[5]) % 5 == 0; }),
      rule({2, 0}, [](auto l) { return l[0] + l[1] != 2; })}}};
// A level that no row has, a factor of one level, and a rule without factors.
const NamedModel narrow{
    "narrow",
    {{4, 1, 3, 2, 3},
     {rule({0}, [](auto l) { return l[0] != 1; }), rule({}, [](auto) { return true; }),
      rule({0, 2}, [](auto l) { return l[0] != 3 || l[1] == 1; }),
      rule({2, 4, 3}, [](auto l) { return l[0] != 1 || l[1] > l[2]; })}}};
// Different levels of all factors: search must go back often.
const NamedModel different{
    "different",
    {{5, 4, 4, 5, 5},
     {rule({0, 1}, [](auto l) { return l[0] != l[1]; }),
      rule({0, 2, 1}, [](auto l) { return l[0] != l[1] && l[1] != l[2]; }),
      rule({3, 0, 1, 2}, [](auto l) { return l[0] != l[1] && l[0] != l[2] && l[0] != l[3]; }),
      rule({4, 3, 2}, [](auto l) { return l[0] != l[1] && l[0] != l[2]; }),
      rule({4, 0, 1}, [](auto l) { return l[0] != l[1] && l[0] != l[2]; })}}};

// With the last level of factor 4, four factors need four different levels of three. No rule says
// so, and only a search finds it.
Model pigeons_without_room(int last_levels) {
  Model model{{3, 3, 3, 3, last_levels, 2}, {}};
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < i; ++j)
      model.rules.push_back(
          rule({i, j, 4}, [=](auto l) { return l[0] != l[1] || l[2] + 1 < last_levels; }));
  return model;
}
const NamedModel pigeons{"pigeons", pigeons_without_room(2)};

class EveryTuple : public testing::TestWithParam<std::tuple<NamedModel, int>> {
 public:
  const Model& model() const { return std::get<0>(GetParam()).model; }
  int t() const { return std::get<1>(GetParam()); }
  Tuples tuples(const std::vector<Levels>& rows) const {
    return tuples_of(rows, t(), model().factors());
  }
};

TEST_P(EveryTuple, ThatIsPossibleIsMet) {
  const Tuples possible = tuples(allowed_rows(model()));
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const std::vector<Levels> rows = rest(model().cover(t(), seed));
    EXPECT_EQ(tuples(rows), possible);
    Cover cover = model().cover(t(), seed + 9);
    for (const Levels& row : rows) {
      EXPECT_TRUE(model().allows(row));
      cover.took(row);
    }
    EXPECT_EQ(cover.coverage().possible, static_cast<std::int64_t>(possible.size()));
    EXPECT_EQ(cover.coverage().met, cover.coverage().possible);
    EXPECT_TRUE(cover.missing().empty());
  }
}

// Each second row counts as given, and one that the rules exclude.
TEST_P(EveryTuple, ThatIsNotMetIsNamedAndMetByTheRest) {
  const Tuples possible = tuples(allowed_rows(model()));
  const std::vector<Levels> all = rest(model().cover(t(), 5));
  std::vector<Levels> given{Levels{}};
  for (std::size_t i = 0; i < all.size(); i += 2) given.push_back(all[i]);
  Cover cover = model().cover(t(), 6);
  for (const Levels& row : given) cover.took(row);
  const Tuples left = without(possible, tuples(given));
  const std::vector<LevelTuple> named = cover.missing();
  EXPECT_EQ(Tuples(named.begin(), named.end()), left);
  EXPECT_EQ(named.size(), left.size());
  EXPECT_EQ(cover.coverage().possible, static_cast<std::int64_t>(possible.size()));
  EXPECT_EQ(cover.coverage().met, static_cast<std::int64_t>(possible.size() - left.size()));
  const std::vector<Levels> rows = rest(cover);
  EXPECT_LT(rows.size(), all.size());
  EXPECT_TRUE(without(left, tuples(rows)).empty());
}

INSTANTIATE_TEST_SUITE_P(All, EveryTuple,
                         testing::Combine(testing::Values(free_model, chain, determined, wide,
                                                          narrow, different, pigeons),
                                          testing::Values(2, 3, 4)),
                         [](const auto& all) {
                           return std::string(std::get<0>(all.param).name) + "_" +
                                  std::to_string(std::get<1>(all.param));
                         });

TEST(Cover, MayBeOfSomeFactors) {
  for (const NamedModel& named : {free_model, chain, determined}) {
    const auto rows = rest(Cover(named.model.search(), 3, 1, factors({5, 0, 2, 3})));
    EXPECT_EQ(tuples_of(rows, 3, factors({0, 2, 3, 5})),
              tuples_of(allowed_rows(named.model), 3, factors({0, 2, 3, 5})));
    EXPECT_LT(rows.size(), rest(named.model.cover(3)).size());
  }
}

// Without rules, every tuple is possible.
TEST(Cover, MeetsTheTuplesOfManyFactors) {
  Model model;
  std::size_t pairs = 0;
  for (int f = 0; f < 24; ++f) {
    model.counts.push_back(2 + f * 5 % 7);
    for (int g = 0; g < f; ++g)
      pairs += static_cast<std::size_t>(model.counts.back() * (2 + g * 5 % 7));
  }
  EXPECT_EQ(tuples_of(rest(model.cover(2)), 2, model.factors()).size(), pairs);
}

TEST(Cover, IsSmall) {
  const auto rows = [](std::size_t count, int levels, int t) {
    return rest(Model{std::vector<int>(count, levels), {}}.cover(t)).size();
  };
  EXPECT_EQ(rows(4, 2, 3), 8u);
  EXPECT_LE(rows(4, 3, 2), 10u);
  EXPECT_LE(rows(5, 4, 2), 21u);
  EXPECT_LE(rows(8, 7, 2), 71u);
  EXPECT_LE(rows(10, 4, 2), 32u);
  EXPECT_LE(rows(10, 4, 3), 150u);
}

// A hash of the rows: when the search is changed on purpose, it changes too.
TEST(Cover, IsTheSameOnEveryMachine) {
  const auto hashed = [](std::uint64_t seed) {
    Model model = determined.model;
    model.counts.insert(model.counts.end(), {8, 7, 8, 8, 5, 2});
    std::uint64_t hash = 0;
    for (const Levels& row : rest(model.cover(2, seed)))
      for (const int level : row.of) hash = harness::hash(hash, level);
    return hash;
  };
  EXPECT_EQ(hashed(1), 11962591468374959237u);
  EXPECT_NE(hashed(2), hashed(1));
}

// A kernel refuses some tuples, and each refusal is learned when a row meets it.
TEST(Cover, LearnsWhatIsRefused) {
  const auto refused = [](std::initializer_list<std::pair<int, int>> numbers) {
    LevelTuple tuple;
    for (const auto& [f, level] : numbers) tuple.push_back({static_cast<Factor>(f), level});
    return tuple;
  };
  const std::vector<LevelTuple> all{refused({{0, 1}}), refused({{1, 0}, {2, 1}}),
                                    refused({{0, 2}, {3, 1}, {4, 1}}),
                                    refused({{2, 0}, {4, 0}, {5, 1}, {3, 0}})};
  const auto has = [](const Levels& row, const LevelTuple& tuple) {
    return std::ranges::all_of(tuple, [&](const auto& of) { return row[of.factor] == of.level; });
  };
  for (const NamedModel& named : {free_model, chain, wide}) {
    Cover cover = named.model.cover(3);
    std::vector<Levels> rows;
    while (const auto row = cover.next()) {
      EXPECT_TRUE(named.model.allows(*row));
      const auto found = std::ranges::find_if(all, [&](auto& tuple) { return has(*row, tuple); });
      if (found != all.end()) {
        cover.forbid(*found);
        continue;
      }
      cover.took(*row);
      rows.push_back(*row);
    }
    std::vector<Levels> taken = allowed_rows(named.model);
    std::erase_if(taken, [&](const Levels& row) {
      return std::ranges::any_of(all, [&](auto& tuple) { return has(row, tuple); });
    });
    const Tuples possible = tuples_of(taken, 3, named.model.factors());
    EXPECT_EQ(tuples_of(rows, 3, named.model.factors()), possible);
    EXPECT_EQ(cover.coverage().possible, static_cast<std::int64_t>(possible.size()));
    EXPECT_EQ(cover.coverage().met, static_cast<std::int64_t>(possible.size()));
    EXPECT_TRUE(cover.missing().empty());
  }
}

// A row had these tuples, so a later refusal does not make them impossible.
TEST(Cover, KeepsWhatATakenRowHad) {
  Cover cover = free_model.model.cover(2);
  cover.took({{3, 2, 2, 1, 1, 2}});
  EXPECT_EQ(cover.coverage().met, 15);
  const std::int64_t before = cover.coverage().possible;
  cover.forbid({{Factor(1), 2}, {Factor(0), 3}});
  EXPECT_EQ(cover.coverage().met, 15);
  EXPECT_EQ(cover.coverage().possible, before);
  cover.forbid({{Factor(5), 2}});
  EXPECT_EQ(cover.coverage().met, 15);
  EXPECT_EQ(cover.coverage().possible, before - 14 + 5);
}

TEST(Cover, EndsWhenAllRowsAreForbidden) {
  const Model model{{2, 2, 2}, {}};
  Cover cover = model.cover(2);
  int rows = 0;
  for (; const auto row = cover.next(); ++rows) {
    LevelTuple whole;
    for (const Factor f : model.factors()) whole.push_back({f, (*row)[f]});
    cover.forbid(whole);
  }
  EXPECT_EQ(rows, 8);
  EXPECT_EQ(cover.coverage().possible, 0);
}

TEST(Cover, RejectsWhatMakesNoSense) {
  const auto never = [](auto) { return false; };
  const auto equal = [](auto l) { return l[0] == l[1]; };
  const auto unequal = [](auto l) { return l[0] != l[1]; };
  const auto throws = [](const Model& model, int t) {
    EXPECT_THROW(model.cover(t), std::invalid_argument);
  };
  throws({{2, 2}, {rule({0}, never)}}, 2);
  throws({{2, 2}, {rule({}, never)}}, 2);
  throws({{2, 2, 2}, {rule({0, 1}, equal), rule({1, 2}, equal), rule({2, 0}, unequal)}}, 2);
  throws(pigeons_without_room(1), 2);
  throws({{2, 0}, {}}, 2);
  throws({std::vector<int>(8, 8), {rule({0, 1, 2, 3, 4, 5, 6, 7}, [](auto) { return true; })}}, 2);
  throws({{2, 2}, {}}, 3);
  throws({{2, 2}, {}}, 1);
  throws({{2, 2, 2, 2, 2}, {}}, 5);
  const Model model{{2, 2}, {}};
  EXPECT_THROW(Cover(model.search(), 2, 1, factors({0, 0})), std::invalid_argument);
  EXPECT_THROW(model.cover(2).forbid({}), std::invalid_argument);
}

// Rows that RapidCheck draws are allowed, have every level, and are those of their seed.
TEST(DrawnRows, AreAllowedAndHaveEveryLevel) {
  for (const NamedModel& named : {free_model, chain, determined, wide}) {
    const auto drawn = [&](std::uint64_t seed) {
      std::vector<Levels> rows;
      for (const DrawnRow& row : drawn_rows(named.model.search(), "rows", 200, seed))
        rows.push_back(row.levels);
      return rows;
    };
    const std::vector<Levels> rows = drawn(7);
    ASSERT_EQ(rows.size(), 200u);
    for (const Levels& row : rows) EXPECT_TRUE(named.model.allows(row));
    EXPECT_EQ(tuples_of(rows, 1, named.model.factors()),
              tuples_of(allowed_rows(named.model), 1, named.model.factors()))
        << named.name;
    EXPECT_EQ(drawn(7), rows);
    EXPECT_NE(drawn(8), rows);
  }
}

}  // namespace
}  // namespace ropewalk::properties
