#include "properties/array/accepted_cases.h"

#include <algorithm>

#include "harness/cases/data.h"
#include "harness/cases/layouts.h"
#include "properties/array/factor_table.h"
#include "properties/array/requirements.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

// The bytes of the first tensor, input alone.
std::int64_t bytes_of(const Case& base) {
  const TensorCase& first = base.tensors[0];
  return base.batch * base.tokens * first.heads * first.head_dim * data_type(base.dtype).bytes;
}

// The levels of a base in one of the forms that a kernel may need (harness/cases/layouts.h).
void set_layout_levels(Levels& levels, const Form& form) {
  levels[Factor::in_layout] = levels[Factor::out_layout] = form.fused        ? level::fused
                                                           : form.head_major ? level::head_major
                                                                             : level::packed;
  if (form.strided_positions) levels[Factor::position_strides] = level::token_stride;
  if (form.padded_table) levels[Factor::table_rows] = level::row_gap;
}

}  // namespace

RowSearch search_of(const Offer& offer) {
  RowSearch search(offer.levels, rule_tables(offer.base.dtype, offer.base.contract));
  const auto has_head = [&](const Levels& l) {
    const std::array wanted{l[Factor::rotary_dim], l[Factor::room], l[Factor::window]};
    return std::ranges::find(offer.no_such_head, wanted) == offer.no_such_head.end();
  };
  search.require({{Factor::rotary_dim, Factor::room, Factor::window}, has_head});
  return search;
}

// ---- the levels of a kernel's simplest case (properties/array/base_case.cpp)

Levels levels_of_base(const Case& base) {
  Levels out;
  const TensorCase& first = base.tensors[0];
  for (std::size_t f = 0; f < factor_count; ++f)
    if (const auto read = factor_table()[f].read; read != nullptr) out.of[f] = read(base);
  set_window_levels(out, {first.head_dim, base.rotary_dim, first.rotary_offset});
  out[Factor::tokens] = nearest_level_of(Factor::tokens, base.tokens);
  out[Factor::batch] = nearest_level_of(Factor::batch, base.batch);
  out[Factor::heads] = nearest_level_of(Factor::heads, first.heads);
  const std::size_t count = base.tensors.size();
  if (count == 2)
    out[Factor::tensors] = !base.tensors[1].rotate                  ? level::copied_second
                           : have_one_shape(first, base.tensors[1]) ? level::equal
                                                                    : level::grouped;
  set_layout_levels(out, form_of(base));
  if (count == 3) out[Factor::tensors] = level::three;
  if (count == 4) out[Factor::tensors] = level::four;
  out[Factor::bytes] = nearest_level_of(Factor::bytes, bytes_of(base));
  return out;
}

Offer base_alone(const Case& base) {
  Offer offered;
  offered.base = base;
  Levels& simplest = offered.simplest = levels_of_base(base);
  for (std::size_t f = 0; f < factor_count; ++f)
    offered.levels.add(static_cast<Factor>(f), simplest.of[f]);
  const TensorCase& first = base.tensors[0];
  Sizes& sizes = offered.accepted;
  sizes.tokens[simplest[Factor::tokens]] = {base.tokens};
  sizes.batch[simplest[Factor::batch]] = {base.batch};
  sizes.heads[simplest[Factor::heads]] = {first.heads};
  sizes.windows[simplest[Factor::rotary_dim]][simplest[Factor::room]][simplest[Factor::window]] = {
      {first.head_dim, base.rotary_dim, first.rotary_offset}};
  if (simplest[Factor::tensors] == level::grouped) {
    const TensorCase& second = base.tensors[1];
    sizes.groups[simplest[Factor::heads]] = {{first.heads, second.heads}};
    TensorCase as_many_heads = second;
    as_many_heads.heads = first.heads;
    if (!have_one_shape(first, as_many_heads)) sizes.second = offered.free.second = second;
  }
  if (base.tensors.size() > 2) sizes.set = offered.free.set = base.tensors;
  const bool in_levels =
      level_of(Factor::tokens, base.tokens) >= 0 && level_of(Factor::batch, base.batch) >= 0 &&
      level_of(Factor::heads, first.heads) >= 0 && level_of(Factor::bytes, bytes_of(base)) >= 0;
  if (in_levels) return offered;
  sizes.any_bytes = offered.free.any_bytes = true;
  int& bytes = simplest[Factor::bytes];
  bytes = 0;
  while (bytes + 1 < level_count(Factor::bytes) && !are_possible(simplest, base)) ++bytes;
  offered.levels[Factor::bytes] = 0;
  offered.levels.add(Factor::bytes, bytes);
  return offered;
}

AcceptedCases::Tried AcceptedCases::of(const Levels& levels, std::uint64_t seed) const {
  // First with any sizes, then with sizes that were accepted before.
  constexpr std::uint64_t tries = 6;
  Tried out;
  for (std::uint64_t i = 0; i < tries; ++i) {
    const Sizes& sizes = i < 2 ? offer_.free : offer_.accepted;
    auto c = case_of(levels, offer_.base, sizes, hash(seed, i), shape_);
    out.was_asked |= c.has_value();
    if (!c || !questions_.accepts(*c)) continue;
    out.accepted = std::move(c);
    break;
  }
  return out;
}

LevelTuple AcceptedCases::refused_together(Levels refused, bool was_asked,
                                           std::uint64_t seed) const {
  // Levels without sizes are brought back to others without sizes, and refused ones to refused
  // ones: else two causes would be learned as one.
  std::vector<Factor> needed;
  for (std::size_t f = 0; f < factor_count; ++f) {
    if (refused.of[f] == offer_.simplest.of[f]) continue;
    Levels simpler = refused;
    simpler.of[f] = offer_.simplest.of[f];
    const bool is_possible = are_possible(simpler, offer_.base);
    const Tried tried = is_possible ? of(simpler, hash(seed, f)) : Tried{};
    if (is_possible && tried.was_asked == was_asked && !tried.accepted)
      refused = simpler;
    else
      needed.push_back(static_cast<Factor>(f));
  }
  LevelTuple tuple;
  for (const Factor f : needed) tuple.push_back({f, refused[f]});
  return tuple;
}

}  // namespace ropewalk::properties
