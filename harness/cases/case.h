// A case is one input of one kernel. Integers, a seed and, if given, explicit values describe it
// completely. Its text form is the replay line, which means the same on every machine
// (docs/replay.md).
#pragma once
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/api/types.h"

namespace ropewalk::harness {

/// What is wrong with a case, in one line that names the field. The command exits with 2.
class BadCase : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline constexpr std::int64_t contiguous = -1;  ///< a stride derived from the sizes

/// Strides of the axes batch, tokens and heads, in elements.
struct Strides {
  std::int64_t batch = contiguous, token = contiguous, head = contiguous;
  bool operator==(const Strides&) const = default;
};

/// One tensor of shape [batch, tokens, heads, head_dim].
struct TensorCase {
  std::int64_t heads = 1, head_dim = 2, rotary_offset = 0;
  std::optional<Dtype> dtype;  ///< if empty, that of the case
  bool rotate = true, in_place = false;
  Strides in, out;
  std::int64_t in_at = 0, out_at = 0;  ///< index in the buffer of the tensor's first element
  bool norm = false, weight = true;    ///< marked by rope_norm; with a weight
  bool append = false;                 ///< marked by rope_append; in_place is then of no account
  Strides cache;                       ///< of pages, slots and heads; its first element is cache_at
  std::int64_t cache_at = 0;
  /// [batch, tokens, heads, head_dim]; if empty, the seed gives them
  std::vector<double> values;
  std::vector<double> weights;  ///< of the norm, [head_dim]; if empty, the seed gives them
  bool operator==(const TensorCase&) const = default;
};

/// How many elements the tensors have together at one [batch, token].
inline std::int64_t elements_of_token(const std::vector<TensorCase>& tensors) {
  std::int64_t out = 0;
  for (const TensorCase& t : tensors) out += t.heads * t.head_dim;
  return out;
}

/// How the data of a tensor is made (harness/cases/data.h).
enum class DataPattern : std::int32_t {
  unit,
  wide,
  basis,
  decay,
  tiny,
  huge,
  special,
  subnormal,
  edge,
  span,
  zero_heads,
  zeros,
  small,
  large,
  prompt,
  far
};

/// True for the patterns so near the ends of a type that only the property agreement has bounds for
/// them.
inline bool is_extreme(DataPattern data) {
  return data == DataPattern::subnormal || data == DataPattern::edge || data == DataPattern::span;
}

/// Positions lie in [-position_limit, position_limit), as the contract says.
inline constexpr std::int64_t position_limit = std::int64_t{1} << 31;

/// Where positions come from: an explicit list [axes, batch, tokens], `from + step * token`, or
/// seeded values in [from, to].
enum class PositionRule : std::int32_t { list, consecutive, random };

/// The positions of the axes after the first, where no list says them: those of the first; others;
/// others, of which two planes are equal; those of the first for the first third of the tokens, the
/// text, and then others; or, after the text, the rows and columns of a picture (cases/axes.h).
enum class AxisPositions : std::int32_t { equal, apart, two_equal, after_text, picture };

/// What the kernel did before the call that is judged (harness/judge/executor.h): nothing, and then
/// a call at other addresses; a call of the same state whose other contents lay at the very
/// addresses; a call of another state, at these addresses too; or calls whose outputs hold numbers
/// in place of poison, as memory that is used again does.
enum class Before : std::int32_t { nothing, other_contents, other_state, numbers };

/// The slots of the tokens (cases/fused.h), where no list says them: 0, 1, 2, ...; as an engine
/// leaves them, page by page of each batch row; anywhere; anywhere, and some tokens have none; or
/// page by page, and the last third of the tokens has none.
enum class SlotRule : std::int32_t { in_order, paged, scattered, skipping, padded };

/// How far min_position and max_position lie outside the positions used: not at all; up to 15; or
/// as far as a kernel may have to take them, except that a table by position only has its rows.
enum class PositionRoom : std::int32_t { none, some, all };

/// Along which axis rows of tensors lie far apart (properties/truth/addresses.cpp).
enum class FarRows : std::int32_t { none, batch, token, head };

/// Which states the callers of one case have: one for all; two of one problem; or two of which the
/// second is of another problem, with arguments of the same sizes.
enum class CallerStates : std::int32_t { one, two, two_problems };

struct Case {
  /// the kernel judged and by which property; plugin: a path or empty
  std::string kernel, plugin, property;
  std::int32_t contract = ROPE_CONTRACT_TABLE;
  Operation operation = Operation::forward;
  Pairing pairing = Pairing::half_split;
  Dtype dtype = Dtype::f32;  ///< of every tensor that has none of its own
  std::int64_t batch = 1, tokens = 1, rotary_dim = 2;
  double rope_theta = 10000;
  std::string scaling = "none";        ///< a name of reference/frequency_rule.h
  std::vector<double> scaling_values;  ///< of the rule's parameters, in their order
  std::vector<double> inv_freq;        ///< explicit frequencies; if empty, the rule gives them
  PositionRule position_rule = PositionRule::consecutive;
  std::vector<std::int64_t> positions;
  std::int64_t position_from = 0, position_to = 0, position_step = 1;
  Dtype position_dtype = Dtype::i32;
  /// true: rope_problem has no positions, and tables are indexed by token
  bool positions_null = false;
  std::int64_t position_batch_stride = contiguous, position_token_stride = contiguous;
  std::int64_t axes = 1;  ///< of the positions; 1: the problem has no rope_axes
  std::vector<std::uint8_t>
      axis_of_pair;  ///< rotary_dim / 2, each below `axes`; empty with one axis
  AxisPositions axis_positions = AxisPositions::equal;
  std::int64_t position_axis_stride = contiguous, table_axis_stride = contiguous;
  double epsilon = 1e-6;              ///< of rope_norm, where a tensor is marked
  std::optional<Dtype> weight_dtype;  ///< if empty, `dtype`
  bool weight_plus_one = false;
  SlotRule slot_rule = SlotRule::in_order;  ///< of rope_append, where a tensor is marked
  std::vector<std::int64_t> slots;          ///< [batch, tokens]; if empty, the rule gives them
  Dtype slot_dtype = Dtype::i64;
  std::int64_t page_size = 16, pages = 0;  ///< 0: as many as the slots need
  bool one_cache = false;                  ///< all caches share a buffer
  std::int32_t rows_by = ROPE_ROW_BY_POSITION;
  std::int64_t table_spare_rows = 0;  ///< table rows beyond the needed rows
  std::int64_t table_row_stride = contiguous;
  std::optional<Dtype> table_dtype;  ///< if empty: f64 if `dtype` is f64, else f32
  bool own_tables = false;           ///< true: each tensor has its own table, with other angles
  /// true: all tensors share cos; each tensor after the first has a sin of its own, negated
  bool own_sin = false;
  /// the table's rows hold the angles of positions so much nearer to 0, whatever inv_freq says
  std::int64_t table_apart = 0;
  std::int64_t table_apart_pair =
      -1;  ///< the pair that alone is so; -1: all; -2: all but the first
  double attention_scale = 0;
  DataPattern data = DataPattern::unit;
  std::uint64_t seed = 1;
  std::int64_t position_shift = 1;  ///< in the laws of properties/algebra/shifted_laws.cpp
  std::int64_t cut = 0;             ///< where a case is called in two parts (properties/two_runs.h)
  std::int64_t lead = 0;            ///< of buffers, in the property alignment
  FarRows far_rows = FarRows::none;
  std::int64_t rows_apart = 0, slots_behind = 0;  ///< in the property far_strides
  std::int32_t beside = 0;  ///< the problem of the second state in the property history
  bool second_goes = false, repeated = false;
  /// true: the calls are the first of a process, in the properties history and threads
  bool fresh = false;
  PositionRoom position_room = PositionRoom::none;
  // Choices that a kernel must not notice (set_switches).
  bool heap_at_end = false, nodes_reversed = false, graph_first = false;
  bool other_state_stays = false;  ///< before=other_state: it is released after the calls
  Before before = Before::nothing;
  std::int64_t callers = 1;  ///< threads that call at once, for the property threads
  CallerStates caller_states = CallerStates::one;
  bool callers_share = false;  ///< caches and inputs
  bool fused = false;          ///< true: all inputs share one buffer, and all outputs share one
  /// true: inputs lie in the buffer of their outputs, and no element is one of both
  bool one_buffer = false;
  std::vector<TensorCase> tensors{TensorCase{}};
  std::int64_t state = 0;  ///< of a sequence: which state this call is made with
  /// of a sequence: bit i is set if buffer i lies at its other address; -1: all do
  std::int64_t moved = 0;
  bool apply = true;  ///< of a sequence: false: the call only prepares its state, or releases it
  /// of a sequence: outputs hold what the call before left, where they lie alike, not poison
  bool outputs_kept = false;
  /// The calls of a sequence after this one, which have none themselves. Calls of one state ask the
  /// same problem (validate).
  std::vector<Case> calls;
  bool operator==(const Case&) const = default;
};

inline constexpr std::int64_t most_calls = 1000, most_states = 32;  ///< of a sequence

/// Sets position_room and the choices that a kernel must not notice. Of two neighbours of even and
/// odd bits, such as the indices of a list, each choice is made once.
void set_switches(Case& c, std::uint64_t bits);

/// The factor on rotated elements. A stored 0 means 1.
inline double scale_of(const Case& c) {
  return c.attention_scale == 0 ? 1 : c.attention_scale;
}

/// The data type of a tensor.
inline Dtype tensor_dtype(const Case& c, const TensorCase& t) {
  return t.dtype.value_or(c.dtype);
}
inline Dtype tensor_dtype(const Case& c, std::size_t tensor) {
  return tensor_dtype(c, c.tensors[tensor]);
}

/// The types that a tensor or a table may have beside this one.
std::vector<Dtype> types_beside(Dtype dtype);

/// The data type of cos and sin.
inline Dtype table_dtype(const Case& c) {
  return c.table_dtype.value_or(data_type(c.dtype).computed_in);
}

/// Writes the case as the words of a replay line. Fields with their default value are left out.
std::string to_text(const Case& c);

/// Calls change(Case&) for the case and for each later call of its sequence.
template <class Change>
void in_each_call(Case& c, Change&& change) {
  change(c);
  for (Case& call : c.calls) change(call);
}

/// Reads the words of a replay line. Throws BadCase, which names the word. The result is not yet
/// validated.
Case case_from_text(const std::string& text);

/// The case with other words, such as "tokens=129 q.heads=3 op=transpose" (docs/replay.md). A word
/// of tensors without a tensor, as heads=3, is for all of them, and tensors=2 adds one like the
/// first. head_dim=rotary+3 is 3 more than are rotated, positions=cycle:5,9,12 lists these again
/// and again, position_from moves positions that are from:A:STEP, and `short_words` have short
/// names. Throws BadCase, which names the word.
Case patched(Case c, std::string_view words);

/// Throws BadCase unless the case can be laid out. Checks sizes, window, strides, overlap,
/// overflow, and the limit of 2 GiB for all buffers.
void validate(const Case& c);

/// The position of every token of every batch row, batch-major, axis by axis.
std::vector<std::int64_t> positions_of(const Case& c);

/// Some rows or tokens: those from `first` on, before `end`.
struct CaseRange {
  std::int64_t first, end;
};
/// The positions of some batch rows and tokens, axis by axis.
std::vector<std::int64_t> positions_of_part(const Case& c, CaseRange rows, CaseRange tokens);

/// The frequencies in rad per position, rounded to f32 under the f32_angle contract.
std::vector<double> frequencies_of(const Case& c);

}  // namespace ropewalk::harness
