#include "properties/exhaustive/division.h"

#include <algorithm>

#include "harness/cases/data.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

constexpr std::int64_t group_calls = 8;
constexpr std::int64_t group_positions = group_calls * usual_call;
// The longest group has room for eight of the longest calls, and no more.
constexpr std::int64_t begin_width = group_calls * (ChunkRunner::tokens_most - usual_call) + 1;
constexpr std::int64_t piece_groups = (std::int64_t{1} << 22) / group_positions;

// What a number is drawn for.
enum class Drawn { begin, is_cut, which_call, cut, is_sampled, start, length };

std::int64_t draw(std::uint64_t seed, Drawn what, std::int64_t of, std::int64_t below) {
  const std::uint64_t bits = hash(seed, 0xca115, static_cast<std::uint64_t>(what), of);
  return static_cast<std::int64_t>(bits % static_cast<std::uint64_t>(below));
}

std::int64_t down_to_multiple(std::int64_t value, std::int64_t of) {  // also below 0
  const std::int64_t rest = value % of;
  return value - (rest < 0 ? rest + of : rest);
}

std::int64_t group_begin(std::int64_t k, std::uint64_t seed) {
  return k * group_positions + draw(seed, Drawn::begin, k, begin_width);
}

// The number of the group that holds a position.
std::int64_t group_of(std::int64_t position, std::uint64_t seed) {
  const std::int64_t k = down_to_multiple(position, group_positions) / group_positions;
  return group_begin(k, seed) <= position ? k : k - 1;
}

// The call that holds a position, in whichever range.
PositionRange call_of(std::int64_t position, std::uint64_t seed) {
  constexpr std::int64_t cut_one_in = 4;
  const std::int64_t k = group_of(position, seed);
  const std::int64_t from = group_begin(k, seed), to = group_begin(k + 1, seed);
  const std::int64_t length = (to - from + group_calls - 1) / group_calls;
  const std::int64_t which = (position - from) / length;
  PositionRange call{from + which * length, std::min(from + (which + 1) * length, to) - 1};
  if (draw(seed, Drawn::is_cut, k, cut_one_in) != 0 ||
      draw(seed, Drawn::which_call, k, group_calls) != which || call.count() == 1)
    return call;
  const std::int64_t cut = call.first + 1 + draw(seed, Drawn::cut, k, call.count() - 1);
  (position < cut ? call.last : call.first) = position < cut ? cut - 1 : cut;
  return call;
}

}  // namespace

std::optional<PositionRange> shard_of(PositionRange whole, std::int64_t i, std::int64_t n,
                                      std::uint64_t seed) {
  const auto begin = [&](std::int64_t part) {
    if (part == 0) return whole.first;
    if (part == n) return whole.last + 1;
    const std::int64_t near = whole.first + whole.count() / n * part + whole.count() % n * part / n;
    return std::max(whole.first, call_of(near, seed).first);
  };
  // An empty part is refused for every part, since a merge would look for its rows in vain.
  for (std::int64_t part = 0; part < n; ++part)
    if (begin(part) >= begin(part + 1)) return std::nullopt;
  return PositionRange{begin(i - 1), begin(i) - 1};
}

std::vector<PositionRange> pieces_of(PositionRange range, std::uint64_t seed) {
  const auto piece_above = [&](std::int64_t position) {
    const std::int64_t k = down_to_multiple(group_of(position, seed), piece_groups);
    return group_begin(k + piece_groups, seed);
  };
  std::vector<PositionRange> pieces;
  for (std::int64_t from = range.first; from <= range.last; from = pieces.back().last + 1)
    pieces.push_back({from, std::min(range.last, piece_above(from) - 1)});
  return pieces;
}

std::vector<PositionRange> calls_of(PositionRange range, std::uint64_t seed) {
  std::vector<PositionRange> calls;
  for (std::int64_t from = range.first; from <= range.last; from = calls.back().last + 1)
    calls.push_back({from, std::min(range.last, call_of(from, seed).last)});
  return calls;
}

std::vector<SampledCall> samples_after(PositionRange call, PositionRange whole,
                                       std::uint64_t seed) {
  constexpr std::int64_t one_in = 32, longest = 256;
  std::vector<SampledCall> samples;
  if (call.first != whole.first && draw(seed, Drawn::is_sampled, call.first, one_in) != 0)
    return samples;
  for (const ChunkForm& form :
       {ChunkForm{Operation::forward, Dtype::i64}, ChunkForm{Operation::transpose, Dtype::i32}}) {
    const auto of = 2 * call.first + (form.operation == Operation::transpose ? 1 : 0);
    const std::int64_t first = call.first + draw(seed, Drawn::start, of, call.count());
    const std::int64_t last = first + draw(seed, Drawn::length, of, longest);
    samples.push_back({{first, std::min(last, whole.last)}, form});
  }
  return samples;
}

}  // namespace ropewalk::properties
