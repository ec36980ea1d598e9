#include "benchmarks/configs/config.h"

#include <gtest/gtest.h>

#include <set>

namespace ropewalk::bench {
namespace {

TEST(ModelTypes, TheTableHolds) {
  for (const auto& [name, type] : all_model_types()) {
    EXPECT_EQ(find_model_type(name), &type);
    EXPECT_TRUE(type.part.empty() == type.part_type.empty() || !type.refused.empty()) << name;
    EXPECT_FALSE(type.axes == Axes::one && !type.sections.empty()) << name;
    EXPECT_TRUE(type.pairing || !type.refused.empty() || !type.part.empty()) << name;
    const std::set<std::string_view> sizes = {"heads",         "kv_heads",      "width",
                                              "head_dim",      "rotary_dim",    "positions",
                                              "nope_head_dim", "rope_head_dim", "original"};
    for (const auto& [fact, value] : type.facts)
      EXPECT_TRUE(sizes.contains(fact)
                      ? std::holds_alternative<std::int64_t>(value)
                      : fact == "theta" || fact == "share" || fact == "share_alone")
          << name << ' ' << fact;
    for (const auto& [fact, keys] : type.names)
      EXPECT_TRUE(sizes.contains(fact) || fact == "theta" || fact == "share") << name << fact;
  }
}

}  // namespace
}  // namespace ropewalk::bench
