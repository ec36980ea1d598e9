// Which rows of a large case are compared. Comparing 16 MiB takes longer than all small cases
// together, and a kernel's errors there are rarely confined to one row.
#pragma once
#include <algorithm>
#include <cstdint>

#include "harness/cases/case.h"
#include "harness/cases/data.h"

namespace ropewalk::harness {

/// Chooses whole tokens: all heads of all tensors at one [batch, token].
class RowSample {
 public:
  /// Every row.
  RowSample() = default;
  /// Every row of a case with few elements. Otherwise the first and the last tokens of a batch row
  /// near either end of the batch, and about as many others as have `enough` elements, drawn by the
  /// case's seed.
  static RowSample of(const Case& c) {
    constexpr std::int64_t enough = 1 << 16;
    const std::int64_t token = elements_of_token(c.tensors);  // a laid-out case has at most 2 GiB
    RowSample sample;
    sample.batch_ = c.batch;
    sample.tokens_ = c.tokens;
    sample.seed_ = c.seed;
    sample.one_in_ = std::max<std::int64_t>(c.batch * c.tokens * token / enough, 1);
    return sample;
  }

  bool has_all() const { return one_in_ == 1; }
  bool has(std::int64_t b, std::int64_t t) const {
    if (has_all()) return true;
    constexpr std::int64_t ends = 4;
    const bool outer_row = b < ends || b >= batch_ - ends;
    const bool end_of_row = t < 1 || t >= tokens_ - 1;
    const bool end_of_batch = (b == 0 && t < ends) || (b == batch_ - 1 && t >= tokens_ - ends);
    if ((outer_row && end_of_row) || end_of_batch) return true;
    return hash(seed_, 0x5a39, b, t) % static_cast<std::uint64_t>(one_in_) == 0;
  }

 private:
  std::int64_t batch_ = 0, tokens_ = 0, one_in_ = 1;
  std::uint64_t seed_ = 0;
};

}  // namespace ropewalk::harness
