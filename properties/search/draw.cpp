#include "properties/search/draw.h"

#include <algorithm>

#include "harness/cases/data.h"
#include "properties/array/case_shape.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

constexpr std::int64_t usual_elements = 4096;  // of a tensor; more of them only take longer
constexpr std::int64_t most_refused = 300;     // cases of one property

// Levels that are for the cases of the covering array alone: algebraic laws do not hold with them,
// or they say what happens beside the call. The square of a large scale needs a wide range.
bool is_for_the_array(Factor f, int level, Dtype dtype) {
  if (f == Factor::scale) return level == level::large && !has_wide_range(dtype);
  if (f == Factor::tables) return level == level::own_sin || level == level::other_angles;
  if (f == Factor::in_layout) return level == level::broadcast;
  if (f == Factor::data) return level == level::extreme || level == level::zero_heads;
  return level > 0 && (f == Factor::types || f == Factor::table_type || f == Factor::before ||
                       f == Factor::callers);
}

// Three of four shifts lead past a cache of 4096 rows, whatever the position.
std::int64_t shift_of(std::uint64_t seed) {
  const auto any = static_cast<std::int64_t>(hash(seed, 0x5f) % 4097);
  return any % 4 == 0 ? 1 + any : 4096 + any % 64;
}

std::int64_t most_elements(const Case& base) {
  const TensorCase& first = base.tensors[0];
  return std::max(usual_elements, base.batch * base.tokens * first.heads * first.head_dim);
}

// The levels that cases are drawn of. Those of the base stay.
OfferedLevels drawn_levels(OfferedLevels offered, const Offer& offer) {
  const std::int64_t most = most_elements(offered.base);
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
  const std::int64_t most = most_elements(base) * data_type(base.dtype).bytes;
  if (!levels.offered().accepted.any_bytes)
    model.constraints.push_back(levels.constraint(
        {size_factors.begin(), size_factors.end()},
        [&base, most](const Levels& l) { return least_bytes(l, base.dtype) <= most; }));
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

CaseDraws::CaseDraws(Asked& asked, const Offer& offer)
    : questions_(asked.questions),
      offer_(offer),
      levels_(drawn_levels(asked.levels, offer)),
      model_(levels_),
      nothing_refused_(drawn_model(model_)),
      row_(nothing_refused_) {}

void CaseDraws::begin(const Property& property) {
  property_ = &property;
  row_ = nothing_refused_;
  refused_ = 0;
}

// The factors are taken in an order of the seed: each should be the first to choose as often.
std::optional<Levels> CaseDraws::completed(const Wanted& wanted) {
  constexpr std::int64_t most_conflicts = 100;
  const Lanes& lanes = row_.lanes();
  std::array<std::size_t, factor_count> order{};
  for (std::size_t f = 0; f < factor_count; ++f) order[f] = f;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
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
    if (property_->shape != nullptr) property_->shape(c, offer_);
    round_sizes(c, offer_.form);
  };
  const AcceptedCases cases(questions_, model_, shape);
  while (refused_ <= most_refused) {
    const std::optional<Levels> levels = completed(wanted);
    if (!levels) return {};
    if (std::optional<Case> c = cases.of(*levels, wanted.seed)) {
      if (property_->add_calls != nullptr) property_->add_calls(*c, offer_);
      last_ = *levels;
      return c;
    }
    ++refused_;
    const LevelTuple together = cases.refused_together(*levels, wanted.seed);
    if (together.empty() || died()) return {};
    row_.forbid(row_.lanes().of(together));
  }
  return {};
}

Case CaseDraws::asked() const {
  Case c = questions_.heard.asked;
  c.property = property_->name;
  return c;
}

std::optional<Case> CaseDraws::replaced(const Wanted& wanted) {
  return next(any_levels(hash(wanted.seed, ++refused_)));
}

}  // namespace ropewalk::properties
