#include "properties/array/array_model.h"
#include "properties/array/factor_table.h"

#include <fmt/format.h>

#include <algorithm>

namespace ropewalk::properties {
using namespace harness;

ArrayModel::ArrayModel(const OfferedLevels& offered) : offered_(offered) {
  for (const auto& levels : offered.of) model_.levels.push_back(static_cast<int>(levels.size()));
  const harness::Case& base = offered.base;
  for (const Requirement& r : requirements())
    model_.constraints.push_back(constraint(
        r.factors, [&](const Levels& l) { return r.holds(l, base.dtype, base.contract); }));
  const std::vector head{Factor::rotary_dim, Factor::room, Factor::window};
  model_.constraints.push_back(constraint(head, [&](const Levels& l) {
    const std::array<int, 3> wanted{l[Factor::rotary_dim], l[Factor::room], l[Factor::window]};
    return std::find(offered_.no_such_head.begin(), offered_.no_such_head.end(), wanted) ==
           offered_.no_such_head.end();
  }));
}

Constraint ArrayModel::constraint(const std::vector<Factor>& factors,
                                  const std::function<bool(const Levels&)>& holds) const {
  Constraint out;
  for (const Factor f : factors) out.factors.push_back(static_cast<int>(index_of(f)));
  out.allows = [this, factors, holds](std::span<const int> levels) {
    Levels l = offered_.simplest;
    for (std::size_t i = 0; i < factors.size(); ++i) {
      const std::size_t f = index_of(factors[i]);
      l.of[f] = offered_.of[f][static_cast<std::size_t>(levels[i])];
    }
    return holds(l);
  };
  return out;
}

Levels ArrayModel::levels_of(const Row& row) const {
  Levels out;
  for (std::size_t f = 0; f < factor_count; ++f) out.of[f] = offered_.of[f][row[f]];
  return out;
}

std::optional<Row> ArrayModel::row_of(const Levels& levels) const {
  Row row;
  for (std::size_t f = 0; f < factor_count; ++f) {
    const int place = place_of(static_cast<Factor>(f), levels.of[f]).level;
    if (place == model_.levels[f]) return {};
    row.push_back(static_cast<std::uint8_t>(place));
  }
  return row;
}

FactorLevel ArrayModel::place_of(Factor f, int level) const {
  const auto& levels = offered_.of[index_of(f)];
  const auto found = std::find(levels.begin(), levels.end(), level);
  return {static_cast<int>(index_of(f)), static_cast<int>(found - levels.begin())};
}

std::string ArrayModel::words_of(const LevelTuple& tuple) const {
  std::string out;
  for (const FactorLevel& each : tuple) {
    const auto f = static_cast<std::size_t>(each.factor);
    const FactorRow& words = factor_table()[f];
    const int level = offered_.of[f][static_cast<std::size_t>(each.level)];
    out += fmt::format("{}{}: {}", out.empty() ? "" : ", ", words.name,
                       words.levels[static_cast<std::size_t>(level)]);
  }
  return out;
}

std::string ArrayModel::words_of(const Row& row) const {
  LevelTuple tuple;
  for (std::size_t f = 0; f < row.size(); ++f) tuple.push_back({static_cast<int>(f), row[f]});
  return words_of(tuple);
}

}  // namespace ropewalk::properties
