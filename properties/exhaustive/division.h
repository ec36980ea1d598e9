// How the exhaustive check divides positions into calls. Where a call begins and how long it is
// must not follow from multiples of a power of two: a kernel that is wrong where a run of positions
// crosses a multiple of 4096 is right in calls that all begin at such multiples.
//
// Calls come in groups, and the seed draws where a group begins, from more than 4096 places. So
// calls begin anywhere. The first call of a group is long: the longest_call() of the plan, or up to
// a quarter less. Kernels may take another path for it. 63 short calls follow, of less than half as
// many positions. They have one length, since a new length takes a new state, and with it 0.3 ms.
// Only the last may be up to 62 positions shorter. One call of each group is cut in two anywhere:
// the long one in one group of four, else the last. The call of a position depends on the position
// and the division alone. So a kernel gets the same calls whatever the range, and in shards.
//
// Calls of at most 1024 positions took 4.65 s for 2^23 positions of `avx512_phase`, where these
// take 4.25 s: a call costs some 50 us beside its positions (two processors of a Xeon).
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "harness/judge/chunk_runner.h"

namespace ropewalk::properties {

/// Positions first .. last, both included.
struct PositionRange {
  std::int64_t first = 0, last = 0;
  std::int64_t count() const { return last - first + 1; }
  bool operator==(const PositionRange&) const = default;
};

/// What decides where calls begin and end.
struct Division {
  explicit Division(const harness::ChunkPlan& plan)
      : seed(plan.seed),
        longest(plan.longest_call()),
        least_long(longest / 4 * 3),
        longest_short(longest / 2 - 1),
        usual_short(longest / 16 * 7) {}
  std::uint64_t seed;
  std::int64_t longest, least_long;         ///< positions of a long call
  std::int64_t longest_short, usual_short;  ///< positions of a short call
  std::string text() const;                 ///< as certificates say it
};

/// The n parts of a range, cut where calls end. None if the range has too few calls for n.
std::vector<PositionRange> shards_of(PositionRange whole, std::int64_t n, const Division& division);

/// The pieces of a range, of about 2^22 positions, which are judged and recorded one by one. Each
/// takes a few seconds. They are cut where a group ends.
std::vector<PositionRange> pieces_of(PositionRange range, const Division& division);

/// The calls that take each position of a range once.
std::vector<PositionRange> calls_of(PositionRange range, const Division& division);

/// A call beside those that take each position once: other positions' types, or backward.
struct SampledCall {
  PositionRange positions;
  harness::ChunkForm form;
};
/// The samples that follow a call: for one call in 32, and for the first of the whole range, up to
/// 256 positions with int64 positions and as many backward, each from anywhere in the call on.
std::vector<SampledCall> samples_after(PositionRange call, PositionRange whole,
                                       const Division& division);

}  // namespace ropewalk::properties
