// Shows that the claims of targets can break.
#include "tools/fuzz/target.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace ropewalk::fuzz {
namespace {

TEST(FuzzTargetDeathTest, AClaimThatDoesNotHoldEndsTheProcess) {
  claim(true, "fine");
  EXPECT_DEATH(claim(false, "one is two"), "claim broken: one is two");
}

TEST(FuzzTargetDeathTest, AMessageIsOneShortLine) {
  claim_message("replay line: 'x' is not of the form name=value");
  EXPECT_DEATH(claim_message(""), "claim broken");
  EXPECT_DEATH(claim_message("two\nlines"), "claim broken");
  EXPECT_DEATH(claim_message("an escape \x1b[31m"), "claim broken");
  EXPECT_DEATH(claim_message(std::string(1001, 'x')), "claim broken");
}

TEST(FuzzTargetDeathTest, OnlyTheDocumentedExceptionIsARefusal) {
  const auto throws = [](const std::string& what) {
    return [what]() -> int { throw std::invalid_argument(what); };
  };
  EXPECT_EQ(unless_refused<std::invalid_argument>([] { return 7; }), 7);
  EXPECT_EQ(unless_refused<std::invalid_argument>(throws("no")), std::nullopt);
  EXPECT_THROW(unless_refused<std::out_of_range>(throws("no")), std::invalid_argument);
  EXPECT_DEATH(unless_refused<std::invalid_argument>(throws("no\nno")), "claim broken");
}

}  // namespace
}  // namespace ropewalk::fuzz
