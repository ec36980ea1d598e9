#include "harness/judge/refusals.h"

#include <gtest/gtest.h>

namespace ropewalk::harness {
namespace {

TEST(Refusals, TheRarestOfACellCameFurthest) {
  Refusals cell;
  EXPECT_EQ(cell.furthest().different, 0u);
  for (const char* reason :
       {"head_dim must be 96", "heads must be 7", "head_dim must be 96", "needs two tensors"})
    cell.add(reason);
  EXPECT_EQ(cell.furthest().reason, "heads must be 7");
  EXPECT_EQ(cell.furthest().different, 3u);
}

TEST(Refusals, ACellWithMoreReasonsCameFurther) {
  EXPECT_EQ(furthest_reason({{"no", 1}, {"heads must be 7", 2}, {"only tables", 1}}),
            "heads must be 7");
  EXPECT_EQ(furthest_reason({}), "");
}

TEST(Refusals, AReasonThatNamesATypeOrPairingComesLast) {
  EXPECT_EQ(furthest_reason({{"only f16", 1}, {"head_dim must be 96", 1}, {"only f16", 1}}),
            "head_dim must be 96");
  // Although more cells gave the other.
  EXPECT_EQ(furthest_reason({{"d", 1}, {"d", 1}, {"takes no bf16 data", 1}}), "d");
  EXPECT_EQ(furthest_reason({{"Interleaved only", 1}, {"d", 1}}), "d");
  // No word is hidden in another.
  EXPECT_EQ(furthest_reason({{"only f16", 1}, {"behalf of half_dim", 1}}), "behalf of half_dim");
}

TEST(Refusals, ThatFewerCellsGaveComeFirst) {
  EXPECT_EQ(furthest_reason({{"a", 1}, {"a", 1}, {"b", 1}}), "b");
  EXPECT_EQ(furthest_reason({{"a", 1}, {"b", 1}}), "a");
}

}  // namespace
}  // namespace ropewalk::harness
