#include "properties/array/array_model.h"

#include <fmt/format.h>

#include <algorithm>

namespace ropewalk::properties {
using namespace harness;

ArrayModel::ArrayModel(const OfferedLevels& offered) : offered_(offered) {
  for (const auto& levels : offered.of) model_.levels.push_back(static_cast<int>(levels.size()));
  for (const Requirement& r : requirements()) add(r);
  Constraint head;
  for (const Factor f : {Factor::rotary_dim, Factor::room, Factor::window})
    head.factors.push_back(static_cast<int>(index_of(f)));
  head.allows = [this](std::span<const int> levels) {
    const auto global = [&](Factor f, std::size_t i) {
      return offered_.of[index_of(f)][static_cast<std::size_t>(levels[i])];
    };
    const std::array<int, 3> wanted{global(Factor::rotary_dim, 0), global(Factor::room, 1),
                                    global(Factor::window, 2)};
    return std::find(offered_.no_such_head.begin(), offered_.no_such_head.end(), wanted) ==
           offered_.no_such_head.end();
  };
  model_.constraints.push_back(std::move(head));
}

Levels ArrayModel::levels_of(const Row& row) const {
  Levels out;
  for (std::size_t f = 0; f < factor_count; ++f) out.of[f] = offered_.of[f][row[f]];
  return out;
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
    const FactorWords& words = factor_words()[f];
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

void ArrayModel::add(const Requirement& r) {
  Constraint constraint;
  for (const Factor f : r.factors) constraint.factors.push_back(static_cast<int>(index_of(f)));
  constraint.allows = [this, &r](std::span<const int> levels) {
    Levels global = offered_.simplest;
    for (std::size_t i = 0; i < r.factors.size(); ++i) {
      const std::size_t f = index_of(r.factors[i]);
      global.of[f] = offered_.of[f][static_cast<std::size_t>(levels[i])];
    }
    return r.holds(global, offered_.base.dtype, offered_.base.contract);
  };
  model_.constraints.push_back(std::move(constraint));
}

}  // namespace ropewalk::properties
