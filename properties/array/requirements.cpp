#include "properties/array/requirements.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "properties/array/factor_table.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

bool several(const Levels& l, Factor f) {
  return l[f] > 0;  // the first level of tokens, batch and heads is one
}

bool has_second(const Levels& l) {
  return l[Factor::tensors] != level::one;
}

bool layout_has_its_axes(const Levels& l, Factor f) {
  using namespace level;
  const bool tokens = several(l, Factor::tokens), heads = several(l, Factor::heads);
  const int layout = l[f];
  if (layout == packed) return true;
  if (layout == token_gap) return tokens;
  if (layout == head_gap) return heads;
  if (layout == fused) return has_second(l);
  return layout == broadcast ? tokens || heads : tokens && heads;
}

std::vector<Rule> make_rules(Dtype dtype, std::int32_t contract) {
  using enum Factor;
  using namespace level;
  return {
      {{rotary_dim, room, heads, tokens, batch, bytes, frequencies},
       [dtype](const Levels& l) { return sizes_fit(l, dtype); }},
      {{in_layout, tokens, heads, tensors},
       [](const Levels& l) { return layout_has_its_axes(l, in_layout); }},
      {{out_layout, tokens, heads, tensors},
       [](const Levels& l) { return layout_has_its_axes(l, out_layout); }},
      {{placement, in_layout, out_layout},
       [](const Levels& l) {
         const int in = l[in_layout], out = l[out_layout], where = l[placement];
         if (where == out_of_place)
           return in == fused ? out == packed || out == fused : out != fused;
         if (where == in_place) return in != broadcast && in == out;
         return in != broadcast && in != fused && out != fused;
       }},
      {{placement, tensors},
       [](const Levels& l) {
         return l[placement] == out_of_place || l[placement] == in_place || has_second(l);
       }},
      {{tables, tensors},
       [](const Levels& l) {
         const int set = l[tensors];
         return l[tables] == shared_table || l[tables] == other_angles ||
                (has_second(l) && set != copied_second && set != copied_first);
       }},
      {{rows_by, position_type, position_strides},
       [](const Levels& l) {
         return l[rows_by] != without_positions ||
                (l[position_type] == 0 && l[position_strides] == 0);
       }},
      {{position_strides, tokens, batch, rows_by, callers},
       [](const Levels& l) {
         const int strides = l[position_strides];
         const bool rows = several(l, batch), by_row = l[rows_by] == by_position;
         if (strides == packed_positions) return true;
         if (strides == slice || strides == one_row) return rows;
         if (strides == token_stride || !several(l, tokens)) return several(l, tokens);
         // four callers show no more of one position, and take as long as many rows
         return by_row && (strides == one_token || (rows && l[callers] == one_caller));
       }},
      {{position_order, tokens},
       [](const Levels& l) {
         const int order = l[position_order];
         return order == consecutive || order == random_order || several(l, tokens);
       }},
      // A table by position has a row for each position up to the last, so it stays narrow.
      {{rows_by, position_range, rotary_dim, bytes},
       [contract](const Levels& l) {
         if (contract != ROPE_CONTRACT_TABLE || l[rows_by] != by_position) return true;
         const int range = l[position_range];
         if (range == past_table) return l[rotary_dim] == 0 && l[bytes] != beyond;
         return range == from_zero || range == beside_small_power;
       }},
      {{window, room},
       [](const Levels& l) { return (l[window] == whole_head) == (l[room] == no_room); }},
      {{start, in_layout, tokens, batch, heads},
       [](const Levels& l) {
         if (l[start] == shifted) return l[in_layout] != fused;
         return l[start] == at_zero || !several(l, tokens) || !several(l, batch) ||
                !several(l, heads);
       }},
      {{tensors, heads},
       [](const Levels& l) { return l[tensors] != grouped || several(l, heads); }},
      // Tensors in one buffer have one type. Two tensors have one that differs.
      {{types, tensors, in_layout},
       [](const Levels& l) {
         if (l[types] == alike) return true;
         if (l[in_layout] == fused) return false;
         return l[types] == second_differs ? has_second(l) : l[tensors] >= three;
       }},
      // Data near the end of a type leave no room for a large scale.
      {{scale, data},
       [](const Levels& l) { return l[scale] != large || (l[data] != huge && l[data] != wide); }},
      // A case moves at most 64 MiB. A tensor of another type may have four times as many bytes as
      // the first.
      {{bytes, tensors, types},
       [](const Levels& l) {
         if (l[bytes] == level_2) return l[types] == alike || l[types] == second_differs;
         return l[bytes] == level_1 ||
                ((l[tensors] == one || l[tensors] == grouped) && l[types] == alike);
       }},
      // A large case costs as much as a hundred small ones, so it should show what it can.
      {{bytes, data, position_strides},
       [](const Levels& l) {
         return l[bytes] != beyond || (!hides_others(data, l[data]) &&
                                       !hides_others(position_strides, l[position_strides]));
       }},
      // A large case is called once, and four callers need four times the memory. The properties
      // history and threads have cases of their own, and of some hundred KiB.
      {{bytes, before, callers},
       [](const Levels& l) {
         return l[bytes] == level_1 || (l[before] == nothing && l[callers] == one_caller);
       }},
      // Many short rows take long and show little that fewer do not: at most 2^18 tokens in all
      // rows.
      {{tokens, batch},
       [](const Levels& l) {
         constexpr std::int64_t most_tokens = 1 << 18;
         return range_of(tokens, l[tokens]).least * range_of(batch, l[batch]).least <= most_tokens;
       }},
      {{axes, planes},
       [](const Levels& l) {
         if (l[planes] == two_equal) return l[axes] > two_axes;
         return l[planes] == apart || l[axes] != no_axes;
       }},
      {{planes, tokens},
       [](const Levels& l) {
         return (l[planes] != after_text && l[planes] != picture) || several(l, tokens);
       }},
      {{operation, norm, append},
       [](const Levels& l) {
         return l[operation] == 0 || (l[norm] == no_norm && l[append] == no_append);
       }},
      // Near the end of a type the sum of squares overflows, and nothing is promised.
      {{norm, data},
       [dtype](const Levels& l) {
         return l[norm] == no_norm ||
                (l[data] != extreme && (l[data] != huge || !has_wide_range(dtype)));
       }},
      // What is appended is not in place; the other tensors may be.
      {{append, placement, tensors},
       [](const Levels& l) {
         if (l[append] == all_but_first && !has_second(l)) return false;
         return l[append] == no_append || l[placement] == out_of_place ||
                (l[append] == all_but_first && l[placement] != others_in_place);
       }},
      {{slots, append, tokens},
       [](const Levels& l) {
         if (l[slots] == in_order) return true;
         return l[append] != no_append && (l[slots] < skipping || several(l, tokens));
       }},
      {{caches, append},
       [](const Levels& l) {
         if (l[caches] == one_cache) return l[append] == all_appended;
         return l[caches] == packed_pages || l[append] != no_append;
       }},
      {{caches, tensors}, [](const Levels& l) { return l[caches] != one_cache || has_second(l); }},
      {{caches, types},
       [](const Levels& l) { return l[caches] != one_cache || l[types] == alike; }},
  };
}

struct Rules {
  std::vector<Rule> rules;
  RuleTables tables;
};

const Rules& made_rules(Dtype dtype, std::int32_t contract) {
  static std::mutex alone;
  static std::map<std::pair<Dtype, std::int32_t>, Rules> made;
  const std::lock_guard lock(alone);
  const auto [at, is_new] = made.try_emplace({dtype, contract});
  if (!is_new) return at->second;
  at->second.rules = make_rules(dtype, contract);
  for (const Rule& rule : at->second.rules)
    at->second.tables.push_back(std::make_shared<const RuleTable>(rule, all_levels()));
  return at->second;
}

}  // namespace

const std::vector<Rule>& rules_of(Dtype dtype, std::int32_t contract) {
  return made_rules(dtype, contract).rules;
}

const RuleTables& rule_tables(Dtype dtype, std::int32_t contract) {
  return made_rules(dtype, contract).tables;
}

bool are_possible(const Levels& levels, const Case& base) {
  return std::ranges::all_of(rules_of(base.dtype, base.contract),
                             [&](const Rule& rule) { return rule.holds(levels); });
}

}  // namespace ropewalk::properties
