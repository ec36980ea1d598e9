#include "base/fingerprint.h"

#include <gtest/gtest.h>

namespace ropewalk {
namespace {

// The values of the draft's authors.
TEST(Fingerprint, IsThatOfTheDraft) {
  const auto digits_of = [](std::string_view text) {
    Fingerprint print;
    print.add(text);
    return print.digits();
  };
  EXPECT_EQ(digits_of(""), "6c62272e07bb014262b821756295c58d");
  EXPECT_EQ(digits_of("a"), "d228cb696f1a8caf78912b704e4a8964");
  EXPECT_EQ(digits_of("foobar"), "343e1662793c64bf6f0d3597ba446f18");
  EXPECT_EQ(Fingerprint().text(), "fnv1a128:" + digits_of(""));
}

}  // namespace
}  // namespace ropewalk
