#include "benchmarks/cells/pristine_input.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "benchmarks/workloads/traffic.h"

namespace ropewalk::bench {
namespace {

constexpr std::int64_t bytes = 3 * most_kept_bytes + 4 * 77;

std::vector<std::byte> copied(const PristineInput& input) {
  std::vector<std::byte> out(bytes);
  input.copy_to(out.data());
  return out;
}

float float_at(const std::vector<std::byte>& from, std::int64_t i) {
  float value = 0;
  std::memcpy(&value, from.data() + 4 * i, 4);
  return value;
}

TEST(PristineInput, ReadsWhatItCopiesAcrossItsRepetitions) {
  std::uint64_t random = 5;
  PristineInput input(bytes, Dtype::bf16, random);
  const std::vector<std::byte> all = copied(input);
  for (const std::int64_t at :
       {std::int64_t{0}, most_kept_bytes - 6, 2 * most_kept_bytes - 98, bytes - 200}) {
    std::vector<std::byte> row(200);
    input.read(at, row.size(), row.data());
    EXPECT_EQ(std::memcmp(row.data(), all.data() + at, row.size()), 0) << at;
  }
  EXPECT_EQ(all, copied(input)) << "copying changes nothing";
}

TEST(PristineInput, RepeatsNoNumbersAndLeavesNoBinade) {
  std::uint64_t random = 5;
  PristineInput input(bytes, Dtype::f32, random);
  const std::vector<std::byte> all = copied(input);
  input.refresh(9);
  const std::vector<std::byte> next = copied(input);
  for (std::int64_t i = 0; i < bytes / 4; ++i) {
    const float value = float_at(all, i);
    ASSERT_TRUE(std::abs(value) >= 0.5 && std::abs(value) < 1) << i;
    ASSERT_NE(value, float_at(next, i)) << "new inputs, " << i;
    for (const std::int64_t back : {most_kept_bytes / 4, most_kept_bytes / 2}) {
      if (i < back) continue;
      ASSERT_NE(value, float_at(all, i - back)) << i;
    }
  }
}

TEST(PristineInput, SeesEachByteThatDiffers) {
  std::uint64_t random = 5;
  PristineInput input(bytes, Dtype::f32, random);
  std::vector<std::byte> other = copied(input);
  for (const std::int64_t at : {std::int64_t{0}, most_kept_bytes, bytes - 1}) {
    EXPECT_TRUE(input.is_equal_to(other.data()));
    other[static_cast<std::size_t>(at)] ^= std::byte{1};
    EXPECT_FALSE(input.is_equal_to(other.data())) << at;
    other[static_cast<std::size_t>(at)] ^= std::byte{1};
  }
}

}  // namespace
}  // namespace ropewalk::bench
