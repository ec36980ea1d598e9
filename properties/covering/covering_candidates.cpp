#include "properties/covering/covering_candidates.h"

#include <algorithm>

#include "harness/cases/data.h"

namespace ropewalk::properties {
namespace {

constexpr std::int64_t conflicts_max = 100;

}  // namespace

Candidates::Candidates(PartialRow& row, std::span<const TupleSet> sets)
    : row_(row),
      sets_(sets),
      counts_(row.lanes(), sets),
      positions_(sets.size()),
      open_(row.lanes().words) {}

void Candidates::add(int lane) {
  counted_.push_back(lane);
  for (std::size_t s = 0; s < sets_.size(); ++s) {
    const int position = sets_[s].position_of(lane);
    if (position < 0) continue;
    auto& all = positions_[s];
    all.insert(std::upper_bound(all.begin(), all.end(), position), position);
    sets_[s].each_stem(all, position, [&](std::size_t stem) { counts_.add(sets_[s], stem); });
  }
}

void Candidates::remove_last() {
  for (std::size_t s = 0; s < sets_.size(); ++s) {
    const int position = sets_[s].position_of(counted_.back());
    if (position < 0) continue;
    auto& all = positions_[s];
    sets_[s].each_stem(all, position, [&](std::size_t stem) { counts_.subtract(sets_[s], stem); });
    all.erase(std::lower_bound(all.begin(), all.end(), position));
  }
  counted_.pop_back();
}

// Counts, for each lane, the tuples that it has with the fixed lanes. Some that were counted may be
// undone.
void Candidates::count_fixed() {
  const auto fixed = row_.fixed();
  const auto same = std::mismatch(counted_.begin(), counted_.end(), fixed.begin(), fixed.end());
  const auto kept = static_cast<std::size_t>(same.first - counted_.begin());
  while (counted_.size() > kept) remove_last();
  while (counted_.size() < fixed.size()) add(fixed[counted_.size()]);
}

bool Candidates::complete(std::uint64_t random) {
  counts_.clear();
  counted_.clear();
  for (auto& positions : positions_) positions.clear();
  const auto choose = [&] {
    for (std::size_t word = 0; word < open_.size(); ++word) open_[word] = row_.open(word);
    count_fixed();
    counts_.keep_largest(open_);
    const auto count = static_cast<std::uint64_t>(lane_count(open_));
    return lane_at(open_, static_cast<int>(harness::hash(random, row_.fixed().size()) % count));
  };
  return row_.finish(choose, conflicts_max);
}

std::int64_t Candidates::gain() {
  count_fixed();
  return counts_.sum(row_.fixed());
}

}  // namespace ropewalk::properties
