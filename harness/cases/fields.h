// The only list of what a case has. Each field is here once: its word in a replay line, the numbers
// or words that it may have, the extension of the contract that it belongs to, and what it means.
// From this come the reader and the writer of replay lines, the checks of ranges, the tables of
// docs/replay.md, and the steps of shrinking that set a field to its plain value. That value is the
// one that the field's member has in case.h.
#pragma once
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

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
inline constexpr Words<3> position_room_words{"none", "some", "all"};
inline constexpr Words<4> far_rows_words{"none", "batch", "token", "head"};
inline constexpr Words<19> beside_words{"nothing",
                                        "rope_theta",
                                        "positions",
                                        "seed",
                                        "tokens",
                                        "heads",
                                        "batch",
                                        "axes",
                                        "op",
                                        "attention_scale",
                                        "position_dtype",
                                        "rotary_dim",
                                        "window",
                                        "in_place",
                                        "pairing",
                                        "dtype",
                                        "middle_frequency",
                                        "one_frequency",
                                        "lower_frequencies"};
inline constexpr Words<0> no_words{};

/// What a number may be, each number of a list, each stride of a tensor, or the index of a word.
struct Range {
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
};
constexpr Range at_least(double least) {
  return {least, std::numeric_limits<double>::infinity()};
}
constexpr Range finite_from(double least) {
  return {least, std::numeric_limits<double>::max()};
}
inline constexpr Range finite = finite_from(std::numeric_limits<double>::lowest());
inline constexpr Range a_stride = at_least(contiguous);
inline constexpr Range within_2_32{-4294967295.0, 4294967295.0};
inline constexpr Range floating{0, 3}, whole{4, 5};  ///< of dtype_words
static_assert(is_floating(0) && is_floating(3) && !is_floating(4) && dtype_words.size() == 6);

template <class Get, std::size_t N>
struct Field {
  std::string_view word;
  Get get;  ///< a pointer to the member, or a function of the case that gives a reference
  Words<N> words;
  std::string_view meaning;
  Range range;
  std::uint32_t extension;  ///< ROPE_EXT_AXES and so on; 0: none
};
template <class Get>
constexpr Field<Get, 0> field(std::string_view word, Get get, std::string_view meaning,
                              Range range = {}, std::uint32_t extension = 0) {
  return {word, get, no_words, meaning, range, extension};
}
template <class Get, std::size_t N>
constexpr Field<Get, N> field(std::string_view word, Get get, const Words<N>& words,
                              std::string_view meaning, std::uint32_t extension = 0,
                              Range range = {0, N - 1.0}) {
  return {word, get, words, meaning, range, extension};
}

/// The words that a field may have.
template <std::size_t N>
std::span<const std::string_view> words_in(const Words<N>& words, Range range) {
  const auto first = static_cast<std::size_t>(range.least);
  return std::span(words).subspan(first, static_cast<std::size_t>(range.most) - first + 1);
}

/// "0 to 31", "at least 1" and so on.
std::string range_text(Range range);

/// The members of a case that say its positions, which are one word.
template <class C>
struct Positions {
  C& of;
};
inline constexpr auto positions_of_case = [](auto& c) {
  return Positions<std::remove_reference_t<decltype(c)>>{c};
};

inline constexpr std::tuple case_fields{
    field("kernel", &Case::kernel, "name of the kernel"),
    field("plugin", &Case::plugin,
          "shared library that has it; a relative path counts from the current folder"),
    field("property", &Case::property, "which property measures (`ropewalk list`)"),
    field("contract", &Case::contract, contract_words,
          "contract of the angles; must be the kernel's own"),
    field("op", &Case::operation, operation_words, "direction of the rotation"),
    field("pairing", &Case::pairing, pairing_words, "which two dims are a pair"),
    field("dtype", &Case::dtype, dtype_words, "of every tensor that has none of its own", 0,
          floating),
    field("batch", &Case::batch, "batch rows", at_least(1)),
    field("tokens", &Case::tokens, "tokens of a batch row", at_least(1)),
    // the limit bounds the time to make its frequencies
    field("rotary_dim", &Case::rotary_dim, "how many dims are rotated; even", {2, 1 << 16}),
    field("rope_theta", &Case::rope_theta, "base of the frequencies", finite_from(1)),
    field("scaling", &Case::scaling,
          "the rule that stretches the frequencies: a name of "
          "[frequency_rules](../reference/frequency_rules)"),
    field("scaling_values", &Case::scaling_values,
          "its parameters in the order of the rule's file, and within it a list of factors pair by "
          "pair"),
    field("inv_freq", &Case::inv_freq,
          "rotary_dim / 2 frequencies; if empty, `rope_theta` and `scaling` give them",
          {0, 0x1.921fb54442d18p+2}),
    field("position_dtype", &Case::position_dtype, dtype_words, "type of the positions", 0, whole),
    field("positions_null", &Case::positions_null,
          "1: the kernel gets a NULL pointer; only with `rows_by=token`"),
    field("position_batch_stride", &Case::position_batch_stride,
          "in elements; -1: contiguous, 0: all rows share the first", a_stride),
    field("position_token_stride", &Case::position_token_stride, "the same along tokens", a_stride),
    field("axes", &Case::axes, "of the positions; 1: the problem has no `rope_axes`", {1, 4},
          ROPE_EXT_AXES),
    field("axis_of_pair", &Case::axis_of_pair,
          "rotary_dim / 2 axes, from 0: `0*16,1*24,2*24` for runs, `(0,1,2)*20,0*4` for what "
          "repeats",
          {}, ROPE_EXT_AXES),
    field("axis_positions", &Case::axis_positions, axis_positions_words,
          "of the axes after the first, unless a list has them; `two_equal`: two planes are alike; "
          "`after_text`: equal for the first third of the tokens; `picture`: then rows and columns",
          ROPE_EXT_AXES),
    field("position_axis_stride", &Case::position_axis_stride,
          "in elements; -1: one plane behind the other; 0: the planes share their memory", a_stride,
          ROPE_EXT_AXES),
    field("table_axis_stride", &Case::table_axis_stride, "the same of tables by token", a_stride,
          ROPE_EXT_AXES),
    field("epsilon", &Case::epsilon, "of the norm", {0x1p-60, 1}, ROPE_EXT_NORM),
    field("weight_dtype", &Case::weight_dtype, dtype_words,
          "type of the norm's weights; if empty, `dtype`", ROPE_EXT_NORM, floating),
    field("weight_plus_one", &Case::weight_plus_one, "1: the factor is 1 + weight", {},
          ROPE_EXT_NORM),
    field(
        "slot_rule", &Case::slot_rule, slot_rule_words,
        "the tokens' slots; `paged`: as an engine leaves them; `skipping`: some tokens have none; "
        "`padded`: the last third has none",
        ROPE_EXT_APPEND),
    field("slots", &Case::slots, "[batch, tokens], -1: none; if empty, `slot_rule` gives them", {},
          ROPE_EXT_APPEND),
    field("slot_dtype", &Case::slot_dtype, dtype_words, "type of the slots", ROPE_EXT_APPEND,
          whole),
    field("page_size", &Case::page_size, "slots of a page; a cache has at most 2^24", {1, 1 << 20},
          ROPE_EXT_APPEND),
    field("pages", &Case::pages, "of each cache; 0: as many as the slots need", {0, 1 << 24},
          ROPE_EXT_APPEND),
    field("one_cache", &Case::one_cache, "1: all caches lie in one buffer", {}, ROPE_EXT_APPEND),
    field("rows_by", &Case::rows_by, rows_by_words, "which table row a token takes"),
    field("table_spare_rows", &Case::table_spare_rows, "rows beyond those needed", at_least(0)),
    field("table_row_stride", &Case::table_row_stride, "in elements; -1: rotary_dim / 2", a_stride),
    field("table_dtype", &Case::table_dtype, dtype_words,
          "type of cos and sin; if empty, f64 if the case's `dtype` is f64, else f32", 0, floating),
    field("own_tables", &Case::own_tables,
          "1: tensor n has its own table, with the angles of positions 1000 n nearer to 0"),
    field("own_sin", &Case::own_sin,
          "1: tensors after the first share its cos and have a sin of their own, of the opposite "
          "angles"),
    field(
        "table_apart", &Case::table_apart,
        "rows of a table hold the angles of positions so much nearer to 0: values that `inv_freq` "
        "does not tell",
        {0, 1 << 20}),
    field("table_apart_pair", &Case::table_apart_pair,
          "the pair, from 0, that `table_apart` changes alone; -1: all; -2: all but the first",
          at_least(-2)),
    field("attention_scale", &Case::attention_scale,
          "factor on rotated elements; 0 means 1, as in the contract", finite),
    field("data", &Case::data, pattern_words, "how values are made, see below"),
    field("seed", &Case::seed, "of values and of random positions"),
    field("position_shift", &Case::position_shift,
          "`relative_position`, `attention`, `linear_attention`, `composition`: how far all "
          "positions shift",
          within_2_32),
    field("cut", &Case::cut,
          "`chunks`, `two_appends`: the first part has 1 + cut % (n - 1) of the n tokens, or rows",
          at_least(0)),
    field(
        "lead", &Case::lead,
        "`alignment`: by how many elements two thirds of the buffers begin later; the others have "
        "seeded distances, and with -1 all have",
        {-1, 63}),
    field(
        "far_rows", &Case::far_rows, far_rows_words,
        "`far_strides`: along which axis rows of tensors lie `rows_apart`; `none`: the strides are "
        "those of the case"),
    field("rows_apart", &Case::rows_apart, "in elements", {0, 0x1p33}),
    field("slots_behind", &Case::slots_behind,
          "`far_strides`: packed slots of i64 begin behind this one; 0: they are those of the case",
          {0, 0x1p33}),
    field("beside", &Case::beside, beside_words,
          "`history`: what the problem of the second state differs in"),
    field("second_goes", &Case::second_goes,
          "`history`: 1: the second state is released and made again, not the first"),
    field("repeated", &Case::repeated, "`history`: 1: one call is made more than 65,536 times"),
    field("fresh", &Case::fresh,
          "`history` and `threads`: 1: the calls are the first of a process"),
    field("position_room", &Case::position_room, position_room_words,
          "how far `min_position` and `max_position` lie outside the positions used; `some`: up to "
          "15; `all`: as far as a position may, except for tables by position"),
    field("heap_at_end", &Case::heap_at_end,
          "1: the first block that `prepare` allocates ends at a forbidden page, the second begins "
          "behind one, and so on; 0: the opposite"),
    field("nodes_reversed", &Case::nodes_reversed,
          "1: the chain of structs that `prepare` is given has the opposite order"),
    field("graph_first", &Case::graph_first,
          "on a device: 1: the first of two calls of a state is a graph; 0: the second"),
    field("other_state_stays", &Case::other_state_stays,
          "with `before=other_state`: 1: that state is released after the calls; 0: before them"),
    field("before", &Case::before, before_words,
          "`other_contents`: one state is called twice at the same addresses, with other contents; "
          "`other_state`: a state of other frequencies, or the second placement's contents, is "
          "called there first; `numbers`: outputs hold numbers before the calls, not poison; else "
          "the second call is at other addresses"),
    field("callers", &Case::callers, "threads that call at once; for `threads`, where 1 means 4",
          {1, 4}),
    field("caller_states", &Case::caller_states, caller_states_words,
          "the states of these threads: `one` for all; `two` of one problem; `two_problems`: the "
          "second state is of the other direction, half the scale and half the frequencies, as far "
          "as the kernel accepts that"),
    field("callers_share", &Case::callers_share,
          "1: these threads share caches, and, two by two, inputs and tables"),
    field("fused", &Case::fused,
          "1: all inputs lie in one buffer and all outputs in another; in place, all in one"),
    field("one_buffer", &Case::one_buffer,
          "1: inputs lie in the buffer of their outputs, though not in place: each tensor has one "
          "buffer, and with `fused=1` all have one"),
    field("state", &Case::state, "of a call in a sequence: its state", {0, most_states - 1}),
    field("moved", &Case::moved,
          "of a call in a sequence: which buffers lie at their other address, 1 for the first, 2 "
          "for the second, 4 for the third, added; -1: all. The order is input and output of each "
          "tensor (one if in place), positions, cos, sin"),
    field(
        "apply", &Case::apply,
        "of a call in a sequence: 0: it only prepares its state, if it is that state's first, and "
        "releases it, if it is the last"),
    field(
        "outputs_kept", &Case::outputs_kept,
        "of a later call in a sequence: 1: outputs hold what the call before left, where both lie "
        "alike, not poison"),
    field("positions", positions_of_case, "of the tokens, see below")};

inline constexpr std::tuple tensor_fields{
    field("heads", &TensorCase::heads, "rows of a token", at_least(1)),
    field("head_dim", &TensorCase::head_dim, "elements of a row", at_least(1)),
    field("dtype", &TensorCase::dtype, dtype_words,
          "the tensor's own type, of its input and its output; if empty, that of the case", 0,
          floating),
    field("offset", &TensorCase::rotary_offset,
          "first element of the rotated window; offset + rotary_dim <= head_dim"),
    field("rotate", &TensorCase::rotate, "0: the tensor is only copied"),
    field("in_place", &TensorCase::in_place,
          "1: output is the input's memory; `in` = `out` and `in_at` = `out_at`"),
    field("in", &TensorCase::in, "strides of the input in elements; -1: contiguous", a_stride),
    field("out", &TensorCase::out, "strides of the output", a_stride),
    field("in_at", &TensorCase::in_at,
          "element of the buffer where the input begins: offsets, misalignment", at_least(0)),
    field("out_at", &TensorCase::out_at, "the same of the output", at_least(0)),
    field("norm", &TensorCase::norm, "1: marked by `rope_norm`", {}, ROPE_EXT_NORM),
    field("weight", &TensorCase::weight, "0: its norm has no weight", {}, ROPE_EXT_NORM),
    field("append", &TensorCase::append,
          "1: marked by `rope_append`: its rows go to its cache, not to `out`, and not in place",
          {}, ROPE_EXT_APPEND),
    field("cache", &TensorCase::cache, "the cache's strides in elements: page, slot, head",
          a_stride, ROPE_EXT_APPEND),
    field("cache_at", &TensorCase::cache_at, "element of the buffer where the cache begins",
          at_least(0), ROPE_EXT_APPEND),
    field("values", &TensorCase::values,
          "input [batch, tokens, heads, head_dim]; if empty, the seed gives it"),
    field("weights", &TensorCase::weights, "of the norm, [head_dim]; if empty, the seed gives them",
          {}, ROPE_EXT_NORM)};

/// Short names of words, in patches and in `--shape`.
inline constexpr std::pair<std::string_view, std::string_view> short_words[] = {
    {"q", "q.heads"},     {"k", "k.heads"},     {"d", "q.head_dim"},
    {"kd", "k.head_dim"}, {"rd", "rotary_dim"}, {"theta", "rope_theta"},
    {"qo", "q.offset"},   {"ko", "k.offset"},   {"scale", "attention_scale"},
    {"page", "page_size"}};

/// Calls visit(field) for each field of a list.
template <class Fields, class Visit>
constexpr void for_each_field(const Fields& fields, Visit&& visit) {
  std::apply([&](const auto&... each) { (visit(each), ...); }, fields);
}

/// The tables of docs/replay.md: the words of a case and those of a tensor.
std::string words_of_a_case();
std::string words_of_a_tensor();

}  // namespace ropewalk::harness
