#include "harness/cases/fused.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace ropewalk::harness {
namespace {

Case case_of(const std::string& words) {
  Case c = case_from_text(words);
  validate(c);
  return c;
}

TEST(Slots, AreThoseOfTheirRule) {
  const std::string size = "batch=3 tokens=7 page_size=4 q.append=1 positions=from:0:1 slot_rule=";
  for (const char* rule : {"in_order", "paged", "scattered", "skipping", "padded"})
    for (int seed = 1; seed < 9; ++seed) {
      const Case c = case_of(size + rule + " seed=" + std::to_string(seed));
      std::vector<std::int64_t> named = slots_of(c);
      ASSERT_EQ(named.size(), 21u) << rule;
      const auto skipped = static_cast<std::int64_t>(std::erase(named, -1));
      EXPECT_EQ(skipped > 0, c.slot_rule >= SlotRule::skipping) << rule;
      EXPECT_TRUE(!named.empty() || c.slot_rule == SlotRule::skipping);
      if (c.slot_rule == SlotRule::scattered) {  // the first page and the last
        EXPECT_EQ(std::ranges::min(named), 0);
        EXPECT_EQ(std::ranges::max(named), pages_of(c) * 4 - 1);
      }
      EXPECT_TRUE(c.slot_rule != SlotRule::padded || pages_of(c) * 4 < 21);
    }
  // Page by page: each batch row begins in the middle of a page, and goes on in the next of its
  // own.
  const std::vector<std::int64_t> paged = slots_of(case_of(size + "paged"));
  for (std::size_t t = 0; t < paged.size(); ++t) {
    const std::size_t in_row = t % 7 + 2;
    EXPECT_EQ(paged[t] % 4, static_cast<std::int64_t>(in_row % 4));
    EXPECT_TRUE(in_row % 4 == 0 || t % 7 == 0 || paged[t] == paged[t - 1] + 1) << t;
  }
}

TEST(Slots, OfTheSecondCallAreOthersOfTheSameCache) {
  Oracle oracle;
  const Problem p = make_problem(
      case_of("tokens=9 page_size=2 slot_rule=skipping q.append=1 q.heads=2 q.norm=1"), oracle);
  ASSERT_EQ(p.slots.size(), p.other_slots.size());
  EXPECT_NE(p.slots, p.other_slots);
  std::vector<std::int64_t> first = p.slots, second = p.other_slots;
  std::ranges::sort(first);
  std::ranges::sort(second);
  EXPECT_EQ(first, second);
  // What is owned are the rows of the slots, and nothing else.
  const Buffer& cache = p.buffers[static_cast<std::size_t>(p.output(0).buffer)];
  EXPECT_EQ(cache.name, "q.cache");
  const auto named = 9 - std::ranges::count(p.slots, -1);
  EXPECT_EQ(std::ranges::count(cache.owned, 1), named * 2 * 2);
  EXPECT_EQ(out_row(p, 0, {0, 0, std::ranges::find(p.slots, -1) - p.slots.begin(), 0}), -1);
  const auto weight = static_cast<std::size_t>(p.buffer(Operand::weight));
  EXPECT_NE(p.buffers[weight].content, p.other_inputs[weight]);
}

}  // namespace
}  // namespace ropewalk::harness
