#include "harness/watch/left_running.h"

#include <gtest/gtest.h>

namespace ropewalk::harness {

TEST(Unwatched, IsSaidInWords) {
  EXPECT_EQ(unwatched(1, true), "");
  EXPECT_EQ(unwatched(0, true), "not watched here: threads, as there is no /proc");
  EXPECT_EQ(unwatched(1, false),
            "not watched here: registers that a call must keep, and the floating-point unit, as "
            "the processor is not x86-64");
}

}  // namespace ropewalk::harness
