// Tests the list of properties, and that the documents name each of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <string>

#include "properties/fixed_cases.h"
#include "properties/property.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

TEST(Properties, AreRegistered) {
  EXPECT_EQ(all_properties().size(), 44u);
  EXPECT_EQ(all_properties().front()->name, "clean_call");
  EXPECT_EQ(all_properties().back()->name, "growth");
  EXPECT_EQ(find_property("exhaustive")->for_replay_alone, true);
  EXPECT_EQ(find_property("nothing"), nullptr);
  EXPECT_THROW(property_named("nothing"), std::logic_error);
}

TEST(Properties, AreChosenByProfileOrByName) {
  const auto has = [](const std::vector<const Property*>& chosen) {
    return std::find(chosen.begin(), chosen.end(), &property_named("attention")) != chosen.end();
  };
  EXPECT_EQ(chosen_properties({}, Profile::smoke).size(), 42u);
  EXPECT_FALSE(has(chosen_properties({}, Profile::smoke)));
  EXPECT_EQ(chosen_properties({}, Profile::standard), all_properties());
  EXPECT_TRUE(has(chosen_properties({"att*"}, Profile::smoke)));
  EXPECT_FALSE(has(chosen_properties({"norm"}, Profile::full)));
}

// A sweep of positions takes every position of small heads, and as many of large ones as the
// profile has time for, in cases of bounded size.
TEST(Properties, ASweepOfManyHeadsIsCut) {
  Offer offer;
  offer.several.push_back(Factor::tokens);
  const auto sweep = [&](std::int64_t heads, std::int64_t head_dim, Profile profile) {
    offer.base.tensors[0].heads = heads;
    offer.sizes = {{head_dim, head_dim}};
    std::int64_t most = 0, all = 0, positions = 0;
    for (const harness::Case& c : property_named("position_sweep").fixed_cases(offer, profile)) {
      if (c.position_rule != harness::PositionRule::consecutive) continue;
      most = std::max(most, c.tokens * heads * head_dim);
      all += c.tokens * heads * head_dim;
      positions += c.tokens;
    }
    EXPECT_LE(most, 1 << 23);
    if (profile == Profile::smoke) {
      EXPECT_LE(all, (1 << 26) + (1 << 23));
    }
    return positions;
  };
  EXPECT_EQ(sweep(2, 8, Profile::smoke), 131'072);
  EXPECT_LT(sweep(40, 128, Profile::smoke), 131'072);
  EXPECT_GT(sweep(40, 128, Profile::smoke), 10'000);
  EXPECT_GE(sweep(40, 128, Profile::full), 131'072);
}

TEST(Properties, HaveANameAnOrderAndAClaimOfTheirOwn) {
  std::set<std::string_view> names, claims;
  std::set<int> orders;
  for (const Property* p : all_properties()) {
    EXPECT_TRUE(std::regex_match(std::string(p->name), std::regex("[a-z_]+"))) << p->name;
    EXPECT_TRUE(names.insert(p->name).second) << p->name;
    EXPECT_TRUE(claims.insert(p->claim).second) << p->name;
    EXPECT_TRUE(orders.insert(p->place.order).second) << p->name;
    EXPECT_NE(p->check, nullptr) << p->name;
    EXPECT_TRUE(p->shape != nullptr || p->fixed_cases != nullptr) << p->name << " has no cases";
  }
}

bool has_word(const std::string& text, const std::string& word) {
  const auto goes_on = [&](std::size_t at) {
    return at < text.size() && (std::islower(text[at]) != 0 || text[at] == '_');
  };
  for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
    if (!goes_on(at - 1) && !goes_on(at + word.size())) return true;
  return false;
}

TEST(Properties, EachHasARowInEachDocument) {
  for (const char* document : {"METHODOLOGY.md", "docs/contract-clauses.md"}) {
    std::ifstream file(std::string(ROPEWALK_SOURCE_DIR) + "/" + document);
    ASSERT_TRUE(file.is_open()) << document;
    std::string rows;  // of tables
    for (std::string line; std::getline(file, line);)
      if (line.starts_with('|')) rows += line + "\n";
    for (const Property* p : all_properties())
      EXPECT_TRUE(has_word(rows, std::string(p->name)))
          << document << ": no row of a table names " << p->name;
  }
}

// The file of each property names a mutant that the property kills by itself. tools/CMakeLists.txt
// makes a test of each such line.
TEST(Properties, EachNamesWhatItKillsByItself) {
  const std::filesystem::path folder = std::filesystem::path(ROPEWALK_SOURCE_DIR) / "properties";
  for (const Property* p : all_properties()) {
    bool found = false;
    for (const char* room : {"truth", "algebra", "memory"})
      for (const auto& entry : std::filesystem::directory_iterator(folder / room)) {
        const std::string name(p->name),
            own = entry.path().stem() == name ? "Kills" : name + " kills";
        std::ifstream file(entry.path());
        for (std::string line; std::getline(file, line);)
          found = found || line.starts_with("// " + own + " by itself: ");
      }
    EXPECT_TRUE(found) << p->name;
  }
}

TEST(Adopted, TakesEachGroupWholeOrNotAtAll) {
  Offer offer;
  const auto text = [&](std::string_view patch) {
    const std::optional<Case> c = adopted(Case{}, patch, offer);
    return c ? to_text(*c) : "none";
  };
  const std::string plain = to_text(Case{});
  EXPECT_EQ(text("tokens=3; heads=2 position_from=5"), plain);
  EXPECT_EQ(text("position_from=5"), "positions=from:5:1 q.heads=1");
  EXPECT_EQ(text("!tokens=3"), "none");
  EXPECT_EQ(text("!tokens=1; !heads=1"), plain) << "the case has it";
  offer.several.push_back(Factor::tokens);
  offer.levels.add(Factor::tokens, 1);
  EXPECT_EQ(text("tokens=3; heads=2"), to_text(case_from_text("tokens=3")));
  EXPECT_EQ(text("!tokens=3; heads=2 batch=2"), to_text(case_from_text("tokens=3")));
  offer.several.push_back(Factor::heads);
  offer.levels.add(Factor::heads, 1);
  EXPECT_EQ(text("heads=2 batch=2"), plain) << "the group has a word that is not offered";
  EXPECT_EQ(text("heads=2 tokens=2; batch=2"), to_text(case_from_text("tokens=2 q.heads=2")));
  offer.levels.add(Factor::placement, level::in_place);
  EXPECT_EQ(text("in_place=1; in_place=0"), to_text(case_from_text("q.in_place=1")));
  EXPECT_EQ(adopted_lines(Case{}, offer, {"!batch=2", "heads=2", "!heads=2"}).size(), 2U);
}

}  // namespace
}  // namespace ropewalk::properties
