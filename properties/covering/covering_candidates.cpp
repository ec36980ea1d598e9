#include "properties/covering/covering_candidates.h"

#include <algorithm>
#include <bit>

#include "harness/cases/data.h"

namespace ropewalk::properties {
namespace {

constexpr std::int64_t conflicts_max = 100;

}  // namespace

Candidates::Candidates(PartialRow& row, std::span<const TupleSet> sets)
    : row_(row), sets_(sets), counts_(row.lanes().factor.size()), positions_(sets.size()) {}

// Counts the tuples that each lane would complete with this one and with the counted ones.
void Candidates::count(int lane, std::int64_t sign) {
  for (std::size_t s = 0; s < sets_.size(); ++s) {
    const int position = sets_[s].position_of(lane);
    if (position < 0) continue;
    auto& all = positions_[s];
    if (sign > 0) all.insert(std::upper_bound(all.begin(), all.end(), position), position);
    sets_[s].each_stem(all, position, [&](std::size_t stem) {
      const std::int64_t weight = sign * (std::int64_t{1} << sets_[s].weight_log(stem));
      const auto lanes = sets_[s].completions(stem);
      for (std::size_t word = 0; word < lanes.size(); ++word)
        for (std::uint64_t bits = lanes[word]; bits != 0; bits &= bits - 1)
          counts_[word * 64 + static_cast<std::size_t>(std::countr_zero(bits))] += weight;
    });
    if (sign < 0) all.erase(std::lower_bound(all.begin(), all.end(), position));
  }
}

std::int64_t Candidates::weighted(int lane) const {
  return counts_[static_cast<std::size_t>(lane)] << row_.lanes().weight_logs[word_with(lane)];
}

// Counts, for each lane, the tuples that it has with the fixed lanes. Some that were counted may be
// undone.
void Candidates::count_fixed() {
  const auto fixed = row_.fixed();
  const auto same = std::mismatch(counted_.begin(), counted_.end(), fixed.begin(), fixed.end());
  const auto kept = static_cast<std::size_t>(same.first - counted_.begin());
  for (; counted_.size() > kept; counted_.pop_back()) count(counted_.back(), -1);
  for (; counted_.size() < fixed.size(); counted_.push_back(fixed[counted_.size()]))
    count(fixed[counted_.size()], 1);
}

bool Candidates::complete(std::uint64_t random) {
  std::fill(counts_.begin(), counts_.end(), 0);
  counted_.clear();
  for (auto& positions : positions_) positions.clear();
  const auto choose = [&] {
    count_fixed();
    best_.clear();
    std::int64_t most = -1;
    for (std::size_t word = 0; word < row_.lanes().words; ++word)
      for (std::uint64_t open = row_.open(word); open != 0; open &= open - 1) {
        const int lane = static_cast<int>(word) * 64 + std::countr_zero(open);
        if (weighted(lane) < most) continue;
        if (weighted(lane) > most) best_.clear();
        most = weighted(lane);
        best_.push_back(lane);
      }
    return best_[harness::hash(random, row_.fixed().size()) % best_.size()];
  };
  return row_.finish(choose, conflicts_max);
}

std::int64_t Candidates::gain() {
  count_fixed();
  std::int64_t sum = 0;
  for (const int lane : row_.fixed()) sum += weighted(lane);
  return sum;
}

}  // namespace ropewalk::properties
