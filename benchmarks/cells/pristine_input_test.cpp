#include "benchmarks/cells/pristine_input.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>
#include <vector>

#include "benchmarks/cells/workload_memory.h"
#include "benchmarks/workloads/traffic.h"

namespace ropewalk::bench {
namespace {

constexpr std::int64_t bytes = 3 * most_kept_bytes + 4 * 77;

std::vector<std::byte> copied(const PristineInput& input) {
  std::vector<std::byte> out(bytes);
  input.copy_to(out.data());
  return out;
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

// So an output of the inputs before is not the answer, and sizes stay below those of a change.
TEST(PristineInput, RepeatsNoNumbersAndLeavesNoBinade) {
  for (const Dtype dtype : tensor_dtypes) {
    std::uint64_t random = 5;
    PristineInput input(bytes, dtype, random);
    const std::vector<std::byte> all = copied(input);
    input.refresh(9);
    const std::vector<std::byte> next = copied(input);
    std::set<double> first;
    for (std::int64_t i = 0; i < bytes / data_type(dtype).bytes; ++i) {
      const double value = harness::load(all, dtype, i), then = harness::load(next, dtype, i);
      for (const double each : {value, then})
        ASSERT_TRUE(std::abs(each) >= 0.5 && std::abs(each) < 1) << i;
      ASSERT_NE(value, then) << "new inputs, " << i;
      if (i < 60) first.insert(value);
      for (const std::int64_t back : {most_kept_bytes / 4, most_kept_bytes / 2}) {
        if (dtype != Dtype::f32 || i < back) continue;
        ASSERT_NE(value, harness::load(all, dtype, i - back)) << i;
      }
    }
    EXPECT_GT(first.size(), 40u);
    EXPECT_TRUE(*first.begin() < 0 && *first.rbegin() > 0) << "of both signs";
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
