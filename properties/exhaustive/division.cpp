#include "properties/exhaustive/division.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/cases/data.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

constexpr std::int64_t short_calls = 63;
constexpr std::int64_t about_a_piece = std::int64_t{1} << 22;

// The average length of a group.
std::int64_t group_positions(const Division& division) {
  return short_calls * division.usual_short + (division.least_long + division.longest) / 2;
}

// What a number is drawn for.
enum class Drawn { begin, long_call, cuts_long, cut, is_sampled, start, length };

std::int64_t draw(const Division& division, Drawn what, std::int64_t of, std::int64_t below) {
  const std::uint64_t bits = hash(division.seed, 0xca115, static_cast<std::uint64_t>(what), of);
  return static_cast<std::int64_t>(bits % static_cast<std::uint64_t>(below));
}

std::int64_t down_to_multiple(std::int64_t value, std::int64_t of) {  // also below 0
  const std::int64_t rest = value % of;
  return value - (rest < 0 ? rest + of : rest);
}

// The longest group has room for short calls of at most longest_short positions, and the shortest
// for as much less than usual_short.
std::int64_t group_begin(std::int64_t k, const Division& division) {
  const std::int64_t room = short_calls * (division.longest_short - division.usual_short);
  const std::int64_t width = room - (division.longest - division.least_long) / 2;
  return k * group_positions(division) + draw(division, Drawn::begin, k, width);
}

// The number of the group that holds a position.
std::int64_t group_of(std::int64_t position, const Division& division) {
  const std::int64_t size = group_positions(division);
  const std::int64_t k = down_to_multiple(position, size) / size;
  return group_begin(k, division) <= position ? k : k - 1;
}

// The call that holds a position, in whichever range.
PositionRange call_of(std::int64_t position, const Division& division) {
  constexpr std::int64_t long_cut_one_in = 4;
  const std::int64_t k = group_of(position, division);
  const std::int64_t from = group_begin(k, division), to = group_begin(k + 1, division);
  const std::int64_t lengths = division.longest - division.least_long + 1;
  const std::int64_t short_from =
      from + division.least_long + draw(division, Drawn::long_call, k, lengths);
  PositionRange call{from, short_from - 1};
  if (position >= short_from) {
    const std::int64_t length = (to - short_from + short_calls - 1) / short_calls;
    call.first = position - (position - short_from) % length;
    call.last = std::min(call.first + length, to) - 1;
  }
  const bool cuts_long = draw(division, Drawn::cuts_long, k, long_cut_one_in) == 0;
  if (cuts_long ? call.first != from : call.last != to - 1) return call;
  const std::int64_t cut = call.first + 1 + draw(division, Drawn::cut, k, call.count() - 1);
  (position < cut ? call.last : call.first) = position < cut ? cut - 1 : cut;
  return call;
}

}  // namespace

std::string Division::text() const {
  return fmt::format(
      "groups of one call of {} to {} positions and {} of {} to {}, one of them cut in two "
      "anywhere",
      least_long, longest, short_calls, 2 * usual_short - longest_short, longest_short);
}

std::vector<PositionRange> shards_of(PositionRange whole, std::int64_t n,
                                     const Division& division) {
  std::vector<PositionRange> shards;
  std::int64_t from = whole.first;
  for (std::int64_t part = 1; part <= n; ++part) {
    const std::int64_t near = whole.first + whole.count() / n * part + whole.count() % n * part / n;
    const std::int64_t to = part == n ? whole.last + 1 : call_of(near, division).first;
    if (to <= from) return {};  // a merge would look for the rows of an empty part in vain
    shards.push_back({from, to - 1});
    from = to;
  }
  return shards;
}

std::vector<PositionRange> pieces_of(PositionRange range, const Division& division) {
  const std::int64_t piece_groups = about_a_piece / group_positions(division);
  const auto piece_above = [&](std::int64_t position) {
    const std::int64_t k = down_to_multiple(group_of(position, division), piece_groups);
    return group_begin(k + piece_groups, division);
  };
  std::vector<PositionRange> pieces;
  for (std::int64_t from = range.first; from <= range.last; from = pieces.back().last + 1)
    pieces.push_back({from, std::min(range.last, piece_above(from) - 1)});
  return pieces;
}

std::vector<PositionRange> calls_of(PositionRange range, const Division& division) {
  std::vector<PositionRange> calls;
  for (std::int64_t from = range.first; from <= range.last; from = calls.back().last + 1)
    calls.push_back({from, std::min(range.last, call_of(from, division).last)});
  return calls;
}

std::vector<SampledCall> samples_after(PositionRange call, PositionRange whole,
                                       const Division& division) {
  constexpr std::int64_t one_in = 32, longest = 256;
  std::vector<SampledCall> samples;
  if (call.first != whole.first && draw(division, Drawn::is_sampled, call.first, one_in) != 0)
    return samples;
  for (const ChunkForm& form :
       {ChunkForm{Operation::forward, Dtype::i64}, ChunkForm{Operation::transpose, Dtype::i32}}) {
    const auto of = 2 * call.first + (form.operation == Operation::transpose ? 1 : 0);
    const std::int64_t first = call.first + draw(division, Drawn::start, of, call.count());
    const std::int64_t last = first + draw(division, Drawn::length, of, longest);
    samples.push_back({{first, std::min(last, whole.last)}, form});
  }
  return samples;
}

}  // namespace ropewalk::properties
