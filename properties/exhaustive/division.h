// How the exhaustive check divides positions into calls. Where a call begins and how long it is
// must not follow from multiples of a power of two: a kernel that is wrong where a run of positions
// crosses a multiple of 4096 is right in calls that all begin at such multiples.
//
// The k-th group of eight calls begins at a place in [28672 k, 28672 k + 4089) that the seed draws.
// Its calls have one length, 3073 to 4095 positions, but the last, which may have up to seven less.
// So calls begin anywhere. Each length serves several calls, since a new length takes a new state,
// and with it 0.3 ms. One group in four has a call that is cut in two anywhere, which makes two
// calls of any length. The call of a position depends on the position and the seed alone. So a
// kernel gets the same calls whatever the range, and in shards.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "harness/judge/chunk_runner.h"

namespace ropewalk::properties {

/// Positions first .. last, both included.
struct PositionRange {
  std::int64_t first = 0, last = 0;
  std::int64_t count() const { return last - first + 1; }
  bool operator==(const PositionRange&) const = default;
};

/// The average length of a call.
inline constexpr std::int64_t usual_call = 3584;

/// Part i of n of a range. It is cut where a call ends. Empty if the range has too few calls.
std::optional<PositionRange> shard_of(PositionRange whole, std::int64_t i, std::int64_t n,
                                      std::uint64_t seed);

/// The pieces of a range, of about 2^22 positions, which are judged and recorded one by one. Each
/// takes a few seconds. They are cut where a group ends.
std::vector<PositionRange> pieces_of(PositionRange range, std::uint64_t seed);

/// The calls that take each position of a range once.
std::vector<PositionRange> calls_of(PositionRange range, std::uint64_t seed);

/// A call beside those that take each position once: other positions' types, or backward.
struct SampledCall {
  PositionRange positions;
  harness::ChunkForm form;
};
/// The samples that follow a call: for one call in 32, and for the first of the whole range, up to
/// 256 positions with int64 positions and as many backward, each from anywhere in the call on.
std::vector<SampledCall> samples_after(PositionRange call, PositionRange whole, std::uint64_t seed);

}  // namespace ropewalk::properties
