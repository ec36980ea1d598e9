#include "harness/cases/fused.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/testing/refusal.h"

namespace ropewalk::harness {
namespace {

Case case_of(const std::string& words) {
  Case c = case_from_text(words);
  validate(c);
  return c;
}

std::string refusal(const std::string& words) {
  Oracle oracle;
  return refusal_by<BadCase>([&] { make_problem(case_from_text(words), oracle); });
}

TEST(Slots, AreThoseOfTheirRule) {
  const std::string size = "batch=3 tokens=7 page_size=4 q.append=1 positions=from:0:1 slot_rule=";
  for (const char* rule : {"in_order", "paged", "scattered", "skipping", "padded"}) {
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
      if (c.slot_rule == SlotRule::padded) {
        EXPECT_LT(pages_of(c) * 4, 21);
      }
    }
  }
  // Page by page: each batch row begins in the middle of a page, and goes on in the next of its
  // own.
  const std::vector<std::int64_t> paged = slots_of(case_of(size + "paged"));
  for (std::size_t t = 0; t < paged.size(); ++t) {
    const std::size_t in_row = t % 7 + 2;
    EXPECT_EQ(paged[t] % 4, static_cast<std::int64_t>(in_row % 4));
    if (in_row % 4 > 0 && t % 7 > 0) {
      EXPECT_EQ(paged[t], paged[t - 1] + 1);
    }
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

TEST(Slots, ThatMakeNoSenseAreRefused) {
  const struct {
    const char *words, *message;
  } bad[] = {
      {"q.append=1 tokens=2 positions=0,1 slots=3,3", "slot 3 is given to two tokens"},
      {"q.append=1 slots=16 pages=1", "slot 16 is outside the cache, which has 16 slots"},
      {"q.append=1 slots=-2", "slot -2 is outside"},
      {"q.append=1 slots=1,2", "slots needs batch * tokens = 1 slots, got 2"},
      {"q.append=1 page_size=0", "page_size must be 1 to 1048576, got 0"},
      {"q.append=1 pages=16777216 page_size=16 slot_rule=scattered", "at most 2^24 slots"},
      {"q.append=1 tokens=40 pages=2", "pages=2 are too few for slot_rule=in_order"},
      {"q.append=1 page_size=1 slots=9223372036854775807", "at most 2^24 slots"},
      {"q.append=1 q.heads=2 q.cache=64,2,2", "q: elements of the caches overlap"},
      {"q.append=1 k.append=1 one_cache=1 k.cache_at=1", "k: elements of the caches overlap"},
      {"q.append=1 slot_dtype=f32", "slot_dtype=f32 is not one of i32, i64"},
      {"q.append=1 op=transpose", "append needs op=forward"},
      {"q.append=1 one_buffer=1", "append and one_buffer exclude each other"},
      {"q.norm=1 op=transpose", "a norm needs op=forward"},
      {"q.norm=1 epsilon=0", "epsilon must be 8.673617379884035e-19 to 1, got 0"},
      {"q.norm=1 epsilon=-1", "epsilon must be 8.673617379884035e-19 to 1, got -1"},
      {"q.norm=1 epsilon=nan", "epsilon must be 8.673617379884035e-19 to 1, got nan"},
      {"q.norm=1 weight_dtype=f64", "weight_dtype must not be wider"},
  };
  for (const auto& [words, message] : bad)
    EXPECT_NE(refusal(words).find(message), std::string::npos) << words << ": " << refusal(words);
  EXPECT_EQ(refusal("slots=7,7"), "");  // of no account
}

}  // namespace
}  // namespace ropewalk::harness
