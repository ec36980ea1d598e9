#include "harness/judge/widen.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "harness/cases/stored.h"

namespace ropewalk::harness {
namespace {

// Of f16 the processor converts all but the last three elements, where it can.
TEST(Widen, GivesEachPatternAsItIsReadAlone) {
  constexpr std::size_t patterns = 65536, more = 3;
  std::vector<std::byte> bytes(2 * (patterns + more));
  for (std::size_t i = 0; i < patterns + more; ++i) {
    const auto pattern = static_cast<std::uint16_t>(i);
    std::memcpy(bytes.data() + 2 * i, &pattern, sizeof pattern);
  }
  std::vector<float> wide(patterns + more);
  for (const Dtype dtype : {Dtype::f16, Dtype::bf16}) {
    widen(dtype, bytes.data(), wide);
    for (std::size_t i = 0; i < wide.size(); ++i) {
      const auto alone = static_cast<float>(load(bytes, dtype, static_cast<std::int64_t>(i)));
      if (std::isnan(alone))
        EXPECT_TRUE(std::isnan(wide[i])) << i;
      else
        EXPECT_EQ(std::bit_cast<std::uint32_t>(wide[i]), std::bit_cast<std::uint32_t>(alone)) << i;
    }
  }
}

}  // namespace
}  // namespace ropewalk::harness
