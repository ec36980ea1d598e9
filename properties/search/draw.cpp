#include "properties/search/draw.h"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "harness/cases/data.h"
#include "harness/cases/fused.h"
#include "properties/array/case_shape.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

constexpr std::int64_t usual_elements = 4096;  // of a tensor; more of them only take longer
constexpr std::int64_t most_refused = 300;     // cases of one property

// Levels that are for the cases of the covering array alone: algebraic laws do not hold with them,
// or they say what happens beside the call. The square of a far scale needs a wide range.
bool is_for_the_array(Factor f, int level, Dtype dtype) {
  if (f == Factor::scale)
    return (level == level::large || level == level::small) && !has_wide_range(dtype);
  if (f == Factor::tables) return level == level::own_sin || level == level::other_angles;
  if (f == Factor::in_layout) return level == level::broadcast;
  if (f == Factor::slots) return level == level::skipping || level == level::padded;
  if (f == Factor::data) return level == level::extreme || level == level::zero_heads;
  return level > 0 && (f == Factor::types || f == Factor::table_type || f == Factor::before ||
                       f == Factor::callers);
}

// Three of four shifts lead past a cache of 4096 rows, from position 0 on.
std::int64_t shift_of(std::uint64_t seed) {
  const auto any = static_cast<std::int64_t>(hash(seed, 0x5f) % 4096);
  return hash(seed, 0x60) % 4 == 0 ? 1 + any : 4096 + any % 64;
}

// Of a kernel that takes one number of heads, tokens or rows alone, the case has as many elements
// of each of these. It has at least those of the base.
std::int64_t most_elements(const OfferedLevels& offered) {
  constexpr std::int64_t most = 1 << 20;
  const Case& base = offered.base;
  const TensorCase& first = base.tensors[0];
  std::int64_t fixed = usual_elements;
  for (const auto& [f, count] :
       {std::pair{Factor::heads, first.heads}, std::pair{Factor::tokens, base.tokens},
        std::pair{Factor::batch, base.batch}})
    if (offered.of[index_of(f)].size() == 1 && fixed < most) fixed *= count;
  return std::max(std::min(fixed, most), base.batch * base.tokens * first.heads * first.head_dim);
}

// The smallest head_dim of a head of these levels.
std::int64_t least_dims(const Levels& l, const Sizes& sizes) {
  const int dim = l[Factor::rotary_dim], room = l[Factor::room], window = l[Factor::window];
  const std::vector<HeadWindow>& accepted = sizes.windows[dim][room][window];
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const HeadWindow& head : accepted.empty() ? heads_of(dim, room, window) : accepted)
    if (l[Factor::frequencies] != level::listed || head.rotary_dim <= widest_listed)
      least = std::min(least, head.head_dim);
  return least;
}

std::int64_t least_count(Factor f, int level, const std::vector<std::int64_t>* by_level) {
  const std::vector<std::int64_t>& accepted = by_level[level];
  return accepted.empty() ? range_of(f, level).least : *std::ranges::min_element(accepted);
}

// Whether a tensor of these levels can have few enough elements, where nothing else is asked for.
// Its head is looked up, as this is asked again and again.
class FewEnough {
 public:
  explicit FewEnough(const Sizes& sizes) : sizes_(sizes) {
    Levels l;
    for (std::size_t i = 0; i < dims_.size(); ++i) {
      l[Factor::rotary_dim] = static_cast<int>(i / 64);
      l[Factor::room] = static_cast<int>(i / 16 % 4);
      l[Factor::window] = static_cast<int>(i / 4 % 4);
      l[Factor::frequencies] = static_cast<int>(i % 4);
      dims_[i] = least_dims(l, sizes);
    }
  }
  bool operator()(const Levels& l) const {
    const int at = l[Factor::rotary_dim] * 64 + l[Factor::room] * 16 + l[Factor::window] * 4 +
                   l[Factor::frequencies];
    const std::int64_t counts = least_count(Factor::tokens, l[Factor::tokens], sizes_.tokens) *
                                least_count(Factor::batch, l[Factor::batch], sizes_.batch) *
                                least_count(Factor::heads, l[Factor::heads], sizes_.heads);
    return dims_[static_cast<std::size_t>(at)] <= sizes_.most_elements / counts;
  }

 private:
  const Sizes& sizes_;
  std::array<std::int64_t, 8 * 4 * 4 * 4> dims_{};
};

// Adds the heads of the fixed list, of which only some were asked for by level.
void add_heads(OfferedLevels& offered, const std::vector<HeadSize>& sizes) {
  for (const HeadSize& size : sizes) {
    const HeadWindow head{size.head_dim, size.rotary_dim, 0};
    Levels l;
    set_window_levels(l, head);
    for (Sizes* known : {&offered.free, &offered.accepted}) {
      auto& heads = known->windows[l[Factor::rotary_dim]][l[Factor::room]][l[Factor::window]];
      if (!heads.empty() && std::ranges::find(heads, head) == heads.end()) heads.push_back(head);
    }
  }
}

// The levels that cases are drawn of. Those of the base stay.
OfferedLevels drawn_levels(OfferedLevels offered, const Offer& offer) {
  const std::int64_t most = most_elements(offered);
  add_heads(offered, offer.sizes);
  for (std::size_t i = 0; i < factor_count; ++i) {
    const auto f = static_cast<Factor>(i);
    const bool of_model = f == Factor::frequencies || f == Factor::scale;
    std::erase_if(offered.of[i], [&](int level) {
      if (level == offered.simplest[f]) return false;
      if (f == Factor::bytes)
        return range_of(f, level).least > most * data_type(offered.base.dtype).bytes;
      return (offer.one_model && of_model) || is_for_the_array(f, level, offered.base.dtype);
    });
  }
  offered.free.most_elements = offered.accepted.most_elements = most;
  return offered;
}

CoveringModel drawn_model(const ArrayModel& levels) {
  CoveringModel model = levels.model();
  const Case& base = levels.offered().base;
  const Sizes& sizes = levels.offered().free;
  if (!sizes.any_bytes)
    model.constraints.push_back(
        levels.constraint({Factor::tokens, Factor::batch, Factor::heads, Factor::rotary_dim,
                           Factor::room, Factor::window, Factor::frequencies},
                          FewEnough(sizes)));
  model.constraints.push_back(
      levels.constraint({Factor::rows_by, Factor::position_range},
                        [&base](const Levels& l) { return !has_long_table(l, base.contract); }));
  return model;
}

}  // namespace

Wanted any_levels(std::uint64_t seed) {
  Wanted wanted{{}, seed};
  for (std::size_t f = 0; f < factor_count; ++f)
    wanted.levels[f] = static_cast<std::int64_t>(hash(seed, f) % Wanted::count);
  return wanted;
}

CaseDraws::CaseDraws(Answers& answers, const Offer& offer)
    : questions_(answers.questions),
      offer_(offer),
      levels_(drawn_levels(answers.levels, offer)),
      model_(levels_),
      nothing_refused_(drawn_model(model_)),
      row_(nothing_refused_) {}

void CaseDraws::begin(const Property& property) {
  property_ = &property;
  row_ = nothing_refused_;
  refused_ = tried_ = 0;
  questions_.heard = {};
}

// The factors are taken in an order of the seed: each should be the first to choose as often.
std::optional<Levels> CaseDraws::completed(const Wanted& wanted) {
  constexpr std::int64_t most_conflicts = 100;
  const Lanes& lanes = row_.lanes();
  std::array<std::size_t, factor_count> order{};
  for (std::size_t f = 0; f < factor_count; ++f) order[f] = f;
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    return hash(wanted.seed, 0x0d, a) < hash(wanted.seed, 0x0d, b);
  });
  const auto can_be = [&](int lane) { return (row_.open(word_with(lane)) & bit_of(lane)) != 0; };
  const auto choose = [&] {
    for (const std::size_t f : order) {
      const auto count = static_cast<std::int64_t>(levels_.of[f].size());
      for (std::int64_t i = 0; i < count; ++i)
        if (const int lane = lanes.first[f] + static_cast<int>((wanted.levels[f] + i) % count);
            can_be(lane))
          return lane;
    }
    throw std::logic_error("a row that is not complete has no open level");
  };
  // Choices that lead to conflict after conflict give way to any row.
  const bool found = row_.restart() && (row_.finish(choose, most_conflicts) ||
                                        (row_.restart() && row_.finish_exactly(wanted.seed)));
  if (!found) return {};
  return model_.levels_of(row_.row());
}

std::optional<Case> CaseDraws::next(const Wanted& wanted) {
  const auto shape = [&](Case& c) {
    c.property = property_->name;
    c.shift = shift_of(wanted.seed);
    if (property_->without_norm) drop_norm(c);
    if (property_->shape != nullptr) property_->shape(c, offer_);
    round_sizes(c, offer_.form);
  };
  const AcceptedCases cases(questions_, model_, shape);
  while (tried_ <= most_refused) {
    const std::optional<Levels> levels = completed(wanted);
    if (!levels) return {};
    if (std::optional<Case> c = cases.of(*levels, wanted.seed)) {
      if (property_->add_calls != nullptr) property_->add_calls(*c, offer_);
      last_ = *levels;
      return c;
    }
    ++tried_;
    if (cases.fit(*levels, wanted.seed)) ++refused_;
    const LevelTuple together = cases.refused_together(*levels, wanted.seed);
    if (together.empty() || died()) return {};
    row_.forbid(row_.lanes().of(together));
  }
  return {};
}

}  // namespace ropewalk::properties
