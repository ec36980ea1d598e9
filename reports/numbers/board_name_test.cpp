#include "reports/numbers/board_name.h"

#include <gtest/gtest.h>

namespace ropewalk::report {
namespace {

TEST(BoardName, HasTheWordsOfItsParts) {
  const BoardName name("half_split / bf16 / in place / table");
  EXPECT_EQ(name.pairing(), "half_split");
  EXPECT_EQ(name.dtype(), "bf16");
  EXPECT_EQ(name.angles(), "table");
  EXPECT_EQ(name.without_angles(), "half_split / bf16 / in place");
  EXPECT_TRUE(name.has("in place"));
  EXPECT_FALSE(name.has("place"));
  EXPECT_FALSE(name.is_of_device());
  EXPECT_TRUE(BoardName("half_split / bf16 / in place / table / cuda").is_of_device());
}

TEST(BoardName, OfACeilingIsPartOfItsBoards) {
  const BoardName ceiling("half_split / f32 / in place");
  EXPECT_TRUE(BoardName("half_split / f32 / in place / computed").has_all_of(ceiling));
  EXPECT_FALSE(BoardName("half_split / f64 / in place / computed").has_all_of(ceiling));
  EXPECT_EQ(ceiling.angles(), "");
  EXPECT_EQ(ceiling.without_angles(), "half_split / f32 / in place");
}

TEST(BoardName, OfAForeignFileMayBeAnything) {
  for (const char* name : {"", "/", " / / ", "mine", "//f32//"}) {
    const BoardName foreign(name);
    EXPECT_EQ(foreign.pairing(), "") << name;
    EXPECT_EQ(foreign.dtype(), foreign.has("f32") ? "f32" : "") << name;
    EXPECT_TRUE(foreign.has_all_of(BoardName("")));
  }
  EXPECT_EQ(BoardName("half_split/f32 /table").without_angles(), "half_split / f32");
}

}  // namespace
}  // namespace ropewalk::report
