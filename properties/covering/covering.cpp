#include "properties/covering/covering.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/cases/data.h"
#include "properties/covering/partial_row.h"

namespace ropewalk::properties {
namespace {

// Sets of tuples of lanes.

/// Tuples of t lanes of different factors. A stem is t - 1 of the lanes of a tuple. Each stem has a
/// bit for each lane that completes it to a tuple of the set, so a tuple is held t times. A stem is
/// a number with a digit for each of its lanes, ascending: the place of the lane among those of the
/// set's factors.
class TupleSet {
 public:
  /// An empty set. Throws std::invalid_argument unless the strength has t or more different factors
  /// of the model, and if there are too many stems to hold.
  TupleSet(const Lanes& lanes, const Strength& strength)
      : t_(strength.t), words_(lanes.words), positions_(lanes.factor.size(), -1) {
    std::vector<int> factors = strength.factors;
    if (factors.empty()) {
      factors.resize(lanes.first.size());
      std::iota(factors.begin(), factors.end(), 0);
    }
    std::ranges::sort(factors);
    const bool has_factors = t_ >= 1 && t_ <= std::ssize(factors) && factors.front() >= 0 &&
                             factors.back() < std::ssize(lanes.first) &&
                             std::ranges::adjacent_find(factors) == factors.end();
    if (!has_factors)
      throw std::invalid_argument("a strength of " + std::to_string(t_) +
                                  " needs as many different factors of the model");
    for (const int factor : factors) {
      const int first = lanes.first[index(factor)];
      for (int lane = first; lane < first + std::popcount(lanes.masks[index(factor)]); ++lane) {
        positions_[index(lane)] = static_cast<int>(lanes_.size());
        lanes_.push_back(lane);
      }
    }
    constexpr std::size_t most_words = std::size_t{1} << 26;  // 512 MiB
    std::size_t stems = 1;
    for (int i = 1; i < t_; ++i)
      if ((stems *= lanes_.size()) * words_ > most_words)
        throw std::invalid_argument("a strength of " + std::to_string(t_) + " has too many tuples");
    bits_.assign(stems * words_, 0);
  }

  int t() const { return t_; }
  std::int64_t size() const { return size_; }
  std::size_t stems() const { return bits_.size() / words_; }
  /// The lanes of a stem. Only stems whose lanes ascend have completions.
  std::vector<int> stem_lanes(std::size_t stem) const {
    std::vector<int> lanes(index(t_ - 1));
    for (std::size_t i = lanes.size(); i-- > 0; stem /= lanes_.size())
      lanes[i] = lanes_[stem % lanes_.size()];
    return lanes;
  }
  /// The lanes that complete a stem to a tuple of the set.
  std::span<const std::uint64_t> completions(std::size_t stem) const {
    return std::span(bits_).subspan(stem * words_, words_);
  }
  /// The tuple of a stem and a lane, ascending.
  std::vector<int> tuple(std::size_t stem, int lane) const {
    std::vector<int> tuple = stem_lanes(stem);
    tuple.insert(std::upper_bound(tuple.begin(), tuple.end(), lane), lane);
    return tuple;
  }
  /// The place of a lane among the lanes of the set's factors, or -1.
  int position_of(int lane) const { return positions_[index(lane)]; }

  /// Both take ascending lanes.
  void insert(std::span<const int> tuple) {
    for (std::size_t i = 0; i < tuple.size(); ++i) word(tuple, i) |= bit_of(tuple[i]);
    ++size_;
  }
  void erase(std::span<const int> tuple) {
    for (std::size_t i = 0; i < tuple.size(); ++i) word(tuple, i) &= ~bit_of(tuple[i]);
    --size_;
  }
  /// Removes all tuples of ascending lanes. Returns their number.
  std::int64_t erase_all(std::span<const int> lanes) {
    std::vector<std::uint64_t> set(words_, 0);
    std::vector<int> positions;
    for (const int lane : lanes) {
      set[word_with(lane)] |= bit_of(lane);
      if (position_of(lane) >= 0) positions.push_back(position_of(lane));
    }
    std::int64_t erased = 0;
    each_stem(positions, -1, [&](std::size_t stem) {
      for (std::size_t word = 0; word < words_; ++word) {
        std::uint64_t& bits = bits_[stem * words_ + word];
        erased += std::popcount(bits & set[word]);
        bits &= ~set[word];
      }
    });
    erased /= t_;
    size_ -= erased;
    return erased;
  }
  void clear() {
    std::ranges::fill(bits_, 0);
    size_ = 0;
  }

  /// Calls use(stem) for each stem that has t - 1 of these ascending positions, and among them the
  /// position `with` unless that is -1.
  template <class Use>
  void each_stem(std::span<const int> positions, int with, const Use& use) const {
    each(t_ - 1, 0, positions, with, use);
  }

 private:
  static std::size_t index(int value) { return static_cast<std::size_t>(value); }
  std::size_t longer(std::size_t stem, int position) const {
    return stem * lanes_.size() + index(position);
  }

  template <class Use>
  void each(int more, std::size_t stem, std::span<const int> left, int with, const Use& use) const {
    if (more == 0) {
      if (with < 0) use(stem);
      return;
    }
    for (std::size_t i = 0; i < left.size() && (with < 0 || left[i] <= with); ++i)
      each(more - 1, longer(stem, left[i]), left.subspan(i + 1), left[i] == with ? -1 : with, use);
  }

  std::uint64_t& word(std::span<const int> tuple, std::size_t last) {
    std::size_t stem = 0;
    for (std::size_t i = 0; i < tuple.size(); ++i)
      if (i != last) stem = longer(stem, position_of(tuple[i]));
    return bits_[stem * words_ + word_with(tuple[last])];
  }

  int t_;
  std::size_t words_;  ///< of a stem
  std::int64_t size_ = 0;
  std::vector<int> positions_, lanes_;  ///< by lane; by position
  std::vector<std::uint64_t> bits_;
};

constexpr int candidates_max = 24;
constexpr std::int64_t conflicts_max = 100;

bool is_empty(std::span<const std::uint64_t> set) {
  return std::ranges::all_of(set, [](std::uint64_t word) { return word == 0; });
}

std::vector<TupleSet> sets_of(const Lanes& lanes, const std::vector<Strength>& strengths) {
  if (strengths.empty()) throw std::invalid_argument("a covering array needs a strength");
  std::vector<TupleSet> sets;
  for (const Strength& strength : strengths) sets.emplace_back(lanes, strength);
  return sets;
}

// Completes rows so that they meet many tuples of the sets. Both must outlive this.
class Candidates {
 public:
  Candidates(PartialRow& row, std::span<const TupleSet> sets)
      : row_(row), sets_(sets), positions_(sets.size()) {}

  // Completes the row, always by a lane that meets most. Returns false after too many conflicts,
  // which proves nothing.
  bool complete(std::uint64_t random) {
    begin();
    const auto choose = [&] {
      count_fixed();
      std::vector<int> best;
      std::int64_t most = -1;
      for (std::size_t word = 0; word < row_.lanes().words; ++word)
        for (std::uint64_t open = row_.open(word); open != 0; open &= open - 1) {
          const int lane = static_cast<int>(word) * 64 + std::countr_zero(open);
          const std::int64_t met = counts_[static_cast<std::size_t>(lane)];
          if (met < most) continue;
          if (met > most) best.clear();
          most = met;
          best.push_back(lane);
        }
      return best[harness::hash(random, row_.fixed().size()) % best.size()];
    };
    return row_.finish(choose, conflicts_max);
  }

  // How many tuples the row meets, after complete().
  std::int64_t gain() {
    count_fixed();
    std::int64_t sum = 0;
    for (const int lane : row_.fixed()) sum += counts_[static_cast<std::size_t>(lane)];
    return sum;
  }

 private:
  void begin() {
    counts_.assign(row_.lanes().factor.size(), 0);
    counted_.clear();
    for (auto& positions : positions_) positions.clear();
  }

  // Counts, for each lane, the tuples that it completes with fixed lanes. After a conflict, some
  // that were counted are fixed no longer.
  void count_fixed() {
    const auto fixed = row_.fixed();
    const bool goes_on = counted_.size() <= fixed.size() &&
                         std::equal(counted_.begin(), counted_.end(), fixed.begin());
    if (!goes_on) begin();
    while (counted_.size() < fixed.size()) count(fixed[counted_.size()]);
  }

  void count(int lane) {
    counted_.push_back(lane);
    for (std::size_t s = 0; s < sets_.size(); ++s) {
      const int position = sets_[s].position_of(lane);
      if (position < 0) continue;
      auto& all = positions_[s];
      all.insert(std::upper_bound(all.begin(), all.end(), position), position);
      sets_[s].each_stem(all, position, [&](std::size_t stem) {
        const auto lanes = sets_[s].completions(stem);
        for (std::size_t word = 0; word < lanes.size(); ++word)
          for (std::uint64_t bits = lanes[word]; bits != 0; bits &= bits - 1)
            ++counts_[word * 64 + static_cast<std::size_t>(std::countr_zero(bits))];
      });
    }
  }

  PartialRow& row_;
  std::span<const TupleSet> sets_;
  std::vector<std::int64_t> counts_;         // by lane
  std::vector<int> counted_;                 // lanes, in the order of row_.fixed()
  std::vector<std::vector<int>> positions_;  // by set: those of the counted lanes, ascending
};

// Never rounded up to 100.
std::string percent(const Coverage& coverage) {
  if (coverage.met == coverage.possible) return "100";
  const double share = static_cast<double>(coverage.met) / static_cast<double>(coverage.possible);
  return fmt::format("{:.1f}", std::floor(1000 * share) / 10);
}

}  // namespace

class Cover::State {
 public:
  State(const CoveringModel& model, const std::vector<Strength>& strengths, std::uint64_t seed)
      : row_(model),
        wanted_(sets_of(row_.lanes(), strengths)),
        candidates_(row_, wanted_),
        seed_(seed) {
    if (!reach({}, candidates_, 0))
      throw std::invalid_argument("the constraints of the model allow no row");
    for (TupleSet& set : wanted_) fill(set);
  }

  std::optional<Row> next();
  void took(const Row& row);
  void forbid(const LevelTuple& tuple);
  Coverage coverage() {
    count_all();
    return {met_ + wanted_size(), met_};
  }
  std::vector<LevelTuple> missing();

 private:
  struct Stem {
    std::size_t set = 0, id = 0;
  };

  std::uint64_t random() { return harness::hash(seed_, ++draws_); }
  std::int64_t wanted_size() const {
    std::int64_t size = 0;
    for (const TupleSet& set : wanted_) size += set.size();
    return size;
  }
  void fill(TupleSet& set);
  void count(const std::vector<int>& lanes);
  bool reach(std::span<const int> tuple, Candidates& candidates, std::uint64_t random);
  void settle();
  void count_all();
  std::vector<Stem> stems() const;
  bool begin_with(const Stem& stem);
  std::optional<Row> any_row(const std::vector<Stem>& stems);

  PartialRow row_;
  /// The tuples of each strength that are not met and not known to be impossible.
  std::vector<TupleSet> wanted_;
  Candidates candidates_;
  std::vector<std::vector<int>> taken_;
  std::uint64_t seed_, draws_ = 0;
  std::int64_t met_ = 0;
  bool settled_ = false;     ///< all wanted tuples are possible
  bool all_allowed_ = true;  ///< the constraints allow all taken rows
  bool counted_ = true;      ///< met_ is right
};

// Puts all tuples into a set but those that the constraints exclude at once.
void Cover::State::fill(TupleSet& set) {
  const Lanes& lanes = row_.lanes();
  set.clear();
  for (std::size_t stem = 0; stem < set.stems(); ++stem) {
    const std::vector<int> fixed = set.stem_lanes(stem);
    const bool ascends = std::ranges::adjacent_find(fixed, std::greater_equal<>()) == fixed.end();
    if (!ascends || !row_.restart() || !row_.fix(fixed)) continue;
    const int begin = fixed.empty() ? 0 : fixed.back() + 1;
    for (int lane = begin; lane < static_cast<int>(lanes.factor.size()); ++lane) {
      if (set.position_of(lane) < 0 || !row_.is_live(lane)) continue;
      if (!fixed.empty() && lanes.factor_of(lane) == lanes.factor_of(fixed.back())) continue;
      set.insert(set.tuple(stem, lane));
    }
  }
}

// Completes a row with these lanes, if there is one.
bool Cover::State::reach(std::span<const int> tuple, Candidates& candidates, std::uint64_t random) {
  if (!row_.restart() || !row_.fix(tuple)) return false;
  if (candidates.complete(random)) return true;
  return row_.restart() && row_.fix(tuple) && row_.finish_exactly(random);
}

// Removes the impossible tuples. Each row that is found proves all its tuples possible.
void Cover::State::settle() {
  if (settled_) return;
  settled_ = true;
  std::vector<TupleSet> unproven = wanted_;
  Candidates candidates(row_, unproven);
  if (!reach({}, candidates, seed_))
    for (TupleSet& set : wanted_) set.clear();
  for (std::size_t s = 0; s < wanted_.size() && wanted_size() > 0; ++s) {
    for (std::size_t stem = 0; stem < unproven[s].stems(); ++stem) {
      while (!is_empty(unproven[s].completions(stem))) {
        const auto tuple = unproven[s].tuple(stem, lane_at(unproven[s].completions(stem), 0));
        if (reach(tuple, candidates, harness::hash(seed_, s, stem))) {
          const std::vector<int> lanes = row_.lanes().of(row_.row());
          for (TupleSet& set : unproven) set.erase_all(lanes);
        } else {
          unproven[s].erase(tuple);
          wanted_[s].erase(tuple);
        }
      }
    }
  }
}

std::vector<Cover::State::Stem> Cover::State::stems() const {
  std::vector<Stem> stems;
  for (std::size_t s = 0; s < wanted_.size(); ++s)
    for (std::size_t id = 0; wanted_[s].size() > 0 && id < wanted_[s].stems(); ++id)
      if (!is_empty(wanted_[s].completions(id))) stems.push_back({s, id});
  return stems;
}

// Begins a row with a wanted tuple of the stem. Removes a tuple that is impossible.
bool Cover::State::begin_with(const Stem& stem) {
  TupleSet& set = wanted_[stem.set];
  const auto lanes = set.completions(stem.id);
  const auto count = static_cast<std::uint64_t>(lane_count(lanes));
  if (count == 0) return false;
  const auto tuple = set.tuple(stem.id, lane_at(lanes, static_cast<int>(random() % count)));
  if (row_.restart() && row_.fix(tuple)) return true;
  set.erase(tuple);
  return false;
}

std::optional<Row> Cover::State::next() {
  if (wanted_size() == 0) return {};
  std::optional<Row> best;
  std::int64_t best_gain = 0;
  const std::vector<Stem> all = stems();
  for (int i = 0; i < candidates_max; ++i) {
    if (!begin_with(all[random() % all.size()]) || !candidates_.complete(random())) continue;
    if (candidates_.gain() <= best_gain) continue;
    best_gain = candidates_.gain();
    best = row_.row();
  }
  return best ? best : any_row(all);
}

// Decides tuple by tuple, until a row has one.
std::optional<Row> Cover::State::any_row(const std::vector<Stem>& stems) {
  if (!reach({}, candidates_, random()))
    for (TupleSet& set : wanted_) set.clear();
  for (const Stem& stem : stems) {
    TupleSet& set = wanted_[stem.set];
    while (!is_empty(set.completions(stem.id))) {
      const auto tuple = set.tuple(stem.id, lane_at(set.completions(stem.id), 0));
      if (reach(tuple, candidates_, random())) return row_.row();
      set.erase(tuple);
    }
  }
  return {};
}

void Cover::State::took(const Row& row) {
  taken_.push_back(row_.lanes().of(row));
  count(taken_.back());
}

// Of a row that the constraints exclude, only the possible tuples count.
void Cover::State::count(const std::vector<int>& lanes) {
  if (!row_.restart() || !row_.fix(lanes)) {
    all_allowed_ = false;
    settle();
  }
  for (TupleSet& set : wanted_) met_ += set.erase_all(lanes);
}

void Cover::State::forbid(const LevelTuple& tuple) {
  const std::vector<int> lanes = row_.lanes().of(tuple);
  if (lanes.empty()) throw std::invalid_argument("a forbidden tuple needs a level");
  row_.forbid(lanes);
  settled_ = false;
  all_allowed_ = all_allowed_ && std::ranges::none_of(taken_, [&](const auto& row) {
                   return std::includes(row.begin(), row.end(), lanes.begin(), lanes.end());
                 });
  // An allowed row proves its tuples possible. A tuple of another row may be impossible now.
  counted_ = counted_ && all_allowed_;
}

void Cover::State::count_all() {
  if (!counted_) {
    met_ = 0;
    settled_ = false;
    for (TupleSet& set : wanted_) fill(set);
    for (const auto& row : taken_) count(row);
    counted_ = true;
  }
  settle();
}

std::vector<LevelTuple> Cover::State::missing() {
  count_all();
  const Lanes& lanes = row_.lanes();
  std::vector<LevelTuple> all;
  for (const TupleSet& set : wanted_) {
    for (std::size_t stem = 0; stem < set.stems(); ++stem) {
      const auto completions = set.completions(stem);
      for (int i = lane_count(completions) - 1; i >= 0; --i) {
        const int last = lane_at(completions, i);
        if (set.t() > 1 && last < set.stem_lanes(stem).back()) break;  // held by another stem too
        LevelTuple tuple;
        for (const int lane : set.tuple(stem, last))
          tuple.push_back({static_cast<int>(lanes.factor_of(lane)), lanes.level_of(lane)});
        std::ranges::sort(tuple);
        all.push_back(std::move(tuple));
      }
    }
  }
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

Cover::Cover(const CoveringModel& model, const std::vector<Strength>& strengths, std::uint64_t seed)
    : state_(std::make_unique<State>(model, strengths, seed)) {}
Cover::~Cover() = default;
Cover::Cover(Cover&&) noexcept = default;
Cover& Cover::operator=(Cover&&) noexcept = default;

std::optional<Row> Cover::next() {
  return state_->next();
}
void Cover::took(const Row& row) {
  state_->took(row);
}
void Cover::forbid(const LevelTuple& tuple) {
  state_->forbid(tuple);
}
Coverage Cover::coverage() {
  return state_->coverage();
}
std::vector<LevelTuple> Cover::missing() {
  return state_->missing();
}

std::string words_of(const std::vector<ArrayCoverage>& coverage) {
  std::string out;
  for (const ArrayCoverage& each : coverage)
    out += fmt::format("{}{} % of {}-way", out.empty() ? "covered " : ", ", percent(each.count),
                       each.strength);
  return out.empty() ? out : out + " interactions of what the kernel offers";
}

}  // namespace ropewalk::properties
