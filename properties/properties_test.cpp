// Tests the list of properties, and that the documents name each of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "properties/property.h"

namespace ropewalk::properties {
namespace {

// Table rows of a Markdown text.
std::vector<std::string> rows_of(std::istream& document) {
  std::vector<std::string> rows;
  for (std::string line; std::getline(document, line);)
    if (line.starts_with('|')) rows.push_back(line);
  return rows;
}

// The names that no row has as whole words.
std::set<std::string> unnamed(const std::vector<std::string>& rows) {
  std::set<std::string> missing;
  for (const Property* property : all_properties()) {
    const std::string name(property->name);
    const std::regex word("(^|[^a-z_])" + name + "($|[^a-z_])");
    bool found = false;
    for (const std::string& row : rows) found = found || std::regex_search(row, word);
    if (!found) missing.insert(name);
  }
  return missing;
}

TEST(Properties, AreRegistered) {
  EXPECT_EQ(all_properties().size(), 32u);
  EXPECT_EQ(all_properties().front()->name, "agreement");
  EXPECT_EQ(all_properties().back()->name, "growth");
  EXPECT_EQ(find_property("exhaustive")->for_replay_alone, true);
  EXPECT_EQ(find_property("nothing"), nullptr);
  EXPECT_THROW(property_named("nothing"), std::logic_error);
}

// A sweep of positions takes every position of small heads, and as many of large ones as the
// profile has time for, in cases of bounded size.
TEST(Properties, ASweepOfManyHeadsIsCut) {
  harness::Offer offer;
  offer.tokens = true;
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

// The faults of the listed properties, in words.
std::vector<std::string> faults_in(const std::vector<const Property*>& list) {
  std::vector<std::string> faults;
  std::set<std::string_view> names, claims;
  std::set<int> orders;
  for (const Property* p : list) {
    const auto need = [&](bool holds, const char* what) {
      if (!holds) faults.push_back(std::string(p->name) + ": " + what);
    };
    need(std::regex_match(std::string(p->name), std::regex("[a-z_]+")), "no name");
    need(names.insert(p->name).second, "another property has its name");
    need(claims.insert(p->claim).second, "another property has its claim");
    need(orders.insert(p->order).second, "another property has its order");
    need(p->check != nullptr, "no check");
    need((p->applies == nullptr) == p->needs.empty(), "`needs` does not fit `applies`");
    need(p->shape != nullptr || p->fixed_cases != nullptr, "no cases");
  }
  return faults;
}

TEST(Properties, HaveANameAnOrderAndAClaimOfTheirOwn) {
  EXPECT_EQ(faults_in(all_properties()), std::vector<std::string>{});
  Property twin = property_named("norm");
  twin.claim = "another";
  twin.name = "norms";
  EXPECT_EQ(faults_in({&property_named("norm"), &twin}),
            std::vector<std::string>{"norms: another property has its order"});
  twin.order += 1;
  twin.name = "norm";
  twin.needs = "luck";
  EXPECT_EQ(faults_in({&property_named("norm"), &twin}),
            (std::vector<std::string>{"norm: another property has its name",
                                      "norm: `needs` does not fit `applies`"}));
}

TEST(Properties, EachHasARowInEachDocument) {
  for (const char* document : {"README.md", "METHODOLOGY.md", "docs/contract-clauses.md"}) {
    std::ifstream file(std::string(ROPEWALK_SOURCE_DIR) + "/" + document);
    ASSERT_TRUE(file.is_open()) << document;
    for (const std::string& name : unnamed(rows_of(file)))
      ADD_FAILURE() << document << ": no row of a table names " << name;
  }
}

TEST(Properties, AMissingRowIsSeen) {
  std::stringstream document("| `norm`, position_types | strides_more |\nagreement\n");
  const std::set<std::string> missing = unnamed(rows_of(document));
  EXPECT_FALSE(missing.contains("norm"));
  EXPECT_FALSE(missing.contains("position_types"));
  EXPECT_TRUE(missing.contains("strides"));
  EXPECT_TRUE(missing.contains("agreement"));
  EXPECT_EQ(missing.size(), all_properties().size() - 2);
}

// The properties whose file names no mutant that the property kills by itself. tools/CMakeLists.txt
// makes a test of each such line.
std::vector<std::string> without_kills(const std::vector<const Property*>& properties,
                                       const std::filesystem::path& folder) {
  std::vector<std::string> out;
  for (const Property* p : properties) {
    bool found = false;
    for (const char* room : {"truth", "algebra", "memory"}) {
      std::ifstream file(folder / room / (std::string(p->name) + ".cpp"));
      for (std::string line; std::getline(file, line);)
        found = found || line.starts_with("// Kills by itself: ");
    }
    if (!found) out.emplace_back(p->name);
  }
  return out;
}

TEST(Properties, EachNamesWhatItKillsByItself) {
  const std::filesystem::path folder = std::filesystem::path(ROPEWALK_SOURCE_DIR) / "properties";
  EXPECT_EQ(without_kills(all_properties(), folder), std::vector<std::string>{});
  Property other = property_named("norm");
  other.name = "norms";
  EXPECT_EQ(without_kills({&other}, folder), std::vector<std::string>{"norms"});
}

}  // namespace
}  // namespace ropewalk::properties
