#include "properties/array/accepted_cases.h"

#include "harness/cases/data.h"

namespace ropewalk::properties {
using namespace harness;

std::optional<Case> AcceptedCases::of(const Levels& levels, std::uint64_t seed) const {
  // First with any sizes, then with sizes that were accepted before.
  constexpr std::uint64_t tries = 6;
  const OfferedLevels& offered = model_.offered();
  for (std::uint64_t i = 0; i < tries; ++i) {
    const Sizes& sizes = i < 2 ? offered.free : offered.accepted;
    const auto c = case_of(levels, offered.base, sizes, hash(seed, i), shape_);
    if (c && questions_.accepts(*c)) return c;
  }
  return {};
}

bool AcceptedCases::fit(const Levels& levels, std::uint64_t seed) const {
  const OfferedLevels& offered = model_.offered();
  return case_of(levels, offered.base, offered.free, seed, shape_).has_value();
}

LevelTuple AcceptedCases::refused_together(Levels refused, std::uint64_t seed) const {
  const OfferedLevels& offered = model_.offered();
  // Levels without sizes are brought back to others without sizes, and refused ones to refused
  // ones: else two causes would be learned as one.
  const bool fitted = fit(refused, seed);
  std::vector<Factor> needed;
  for (std::size_t f = 0; f < factor_count; ++f) {
    if (refused.of[f] == offered.simplest.of[f]) continue;
    Levels simpler = refused;
    simpler.of[f] = offered.simplest.of[f];
    if (are_possible(simpler, offered.base) && fit(simpler, hash(seed, f)) == fitted &&
        !of(simpler, hash(seed, f)))
      refused = simpler;
    else
      needed.push_back(static_cast<Factor>(f));
  }
  LevelTuple tuple;
  for (const Factor f : needed) tuple.push_back(model_.place_of(f, refused[f]));
  return tuple;
}

}  // namespace ropewalk::properties
