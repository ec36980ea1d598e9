// The fields of a case and of its tensors, with their words in a replay line.
#pragma once
#include "harness/cases/case.h"
#include "harness/cases/names.h"

namespace ropewalk::harness {

inline constexpr Words<16> pattern_words{
    "unit", "wide", "basis",      "decay", "tiny",  "huge",  "special", "subnormal",
    "edge", "span", "zero_heads", "zeros", "small", "large", "prompt",  "far"};
inline constexpr Words<4> before_words{"nothing", "other_contents", "other_state", "numbers"};
inline constexpr Words<5> axis_positions_words{"equal", "apart", "two_equal", "after_text",
                                               "picture"};
inline constexpr Words<5> slot_rule_words{"in_order", "paged", "scattered", "skipping", "padded"};
inline constexpr Words<3> caller_states_words{"one", "two", "two_problems"};

/// Calls `visit(name, field, words...)` once for each field of a case, with its word in a replay
/// line.
template <class C, class Visit>
void visit_fields(C& c, Visit&& visit) {
  visit("kernel", c.kernel);
  visit("plugin", c.plugin);
  visit("property", c.property);
  visit("contract", c.contract, contract_words);
  visit("op", c.operation, operation_words);
  visit("pairing", c.pairing, pairing_words);
  visit("dtype", c.dtype, dtype_words);
  visit("batch", c.batch);
  visit("tokens", c.tokens);
  visit("rotary_dim", c.rotary_dim);
  visit("rope_theta", c.rope_theta);
  visit("scaling", c.scaling);
  visit("scaling_values", c.scaling_values);
  visit("inv_freq", c.inv_freq);
  visit("position_dtype", c.position_dtype, dtype_words);
  visit("positions_null", c.positions_null);
  visit("position_batch_stride", c.position_batch_stride);
  visit("position_token_stride", c.position_token_stride);
  visit("axes", c.axes);
  visit("axis_of_pair", c.axis_of_pair);
  visit("axis_positions", c.axis_positions, axis_positions_words);
  visit("position_axis_stride", c.position_axis_stride);
  visit("table_axis_stride", c.table_axis_stride);
  visit("epsilon", c.epsilon);
  visit("weight_dtype", c.weight_dtype, dtype_words);
  visit("weight_plus_one", c.weight_plus_one);
  visit("slot_rule", c.slot_rule, slot_rule_words);
  visit("slots", c.slots);
  visit("slot_dtype", c.slot_dtype, dtype_words);
  visit("page_size", c.page_size);
  visit("pages", c.pages);
  visit("one_cache", c.one_cache);
  visit("rows_by", c.rows_by, rows_by_words);
  visit("table_spare_rows", c.table_spare_rows);
  visit("table_row_stride", c.table_row_stride);
  visit("table_dtype", c.table_dtype, dtype_words);
  visit("own_tables", c.own_tables);
  visit("own_sin", c.own_sin);
  visit("table_apart", c.table_apart);
  visit("table_apart_pair", c.table_apart_pair);
  visit("attention_scale", c.attention_scale);
  visit("data", c.data, pattern_words);
  visit("seed", c.seed);
  visit("shift", c.shift);
  visit("before", c.before, before_words);
  visit("callers", c.callers);
  visit("caller_states", c.caller_states, caller_states_words);
  visit("fused", c.fused);
  visit("one_buffer", c.one_buffer);
  visit("state", c.state);
  visit("moved", c.moved);
  visit("apply", c.apply);
  visit("outputs_kept", c.outputs_kept);
}

template <class T, class Visit>
void visit_tensor_fields(T& t, Visit&& visit) {
  visit("heads", t.heads);
  visit("head_dim", t.head_dim);
  visit("dtype", t.dtype, dtype_words);
  visit("offset", t.rotary_offset);
  visit("rotate", t.rotate);
  visit("in_place", t.in_place);
  visit("in", t.in);
  visit("out", t.out);
  visit("in_at", t.in_at);
  visit("out_at", t.out_at);
  visit("norm", t.norm);
  visit("weight", t.weight);
  visit("append", t.append);
  visit("cache", t.cache);
  visit("cache_at", t.cache_at);
  visit("values", t.values);
  visit("weights", t.weights);
}

}  // namespace ropewalk::harness
