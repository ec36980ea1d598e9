// The kernels of the table, and what follows from their words.
#include <algorithm>

#include "properties/mutants/composed/composed.h"

namespace ropewalk::mutants {
namespace {

constexpr Form table{ROPE_CONTRACT_TABLE, Dtype::f32, "table"};
constexpr Form f64{ROPE_CONTRACT_TABLE, Dtype::f64, "f64_table"};
constexpr Form f16{ROPE_CONTRACT_TABLE, Dtype::f16, "f16_table"};
constexpr Form bf16{ROPE_CONTRACT_TABLE, Dtype::bf16, "bf16_table"};
constexpr Form exact{ROPE_CONTRACT_EXACT, Dtype::f32, "exact"};
constexpr Form any_types{ROPE_CONTRACT_TABLE, Dtype::f32, "any_types_table", true};

struct Row {
  Form form;
  Member member;
  std::string_view refusal = "";  ///< is also a control
};

// NOLINTNEXTLINE(readability-function-size): a table
const std::vector<Row>& rows() {
  static const std::vector<Row> list = {
      // Two conditions must meet.
      {table, {"window_at_start", {"from_64_tokens"}}},
      {exact, {"window_at_start", {"above_17_heads"}}},
      {f16, {"window_at_start", {"transposed"}}},
      {f16, {"copied_by_float", {"transposed"}}},
      {table, {"window_at_start", {"second_tensor"}}},
      {f64, {"window_at_start", {"own_tables"}}},
      {table, {"head_stride_packed", {"from_64_tokens"}}},
      {exact, {"head_stride_packed", {"transposed"}}},
      {bf16, {"head_stride_packed", {"partial"}}},
      {exact, {"head_stride_packed", {"above_2_17"}}},
      {table, {"token_stride_packed", {"above_33_tokens"}}},
      {f64, {"token_stride_packed", {"from_36_heads"}}},
      {exact, {"token_stride_packed", {"i64_positions"}}},
      {table, {"out_like_in", {"above_256_kib"}}},
      {exact, {"out_like_in", {"odd_heads"}}},
      {table, {"out_like_in", {"ragged_tokens"}}},
      {table, {"in_like_out", {"scaled"}}},
      {table, {"position_stride_ignored", {"from_64_tokens"}}},
      {exact, {"position_stride_ignored", {"transposed"}}},
      {exact, {"equal_steps_assumed", {"from_100_tokens"}}},
      {table, {"equal_steps_assumed", {"head_major"}}},
      {exact, {"i64_as_i32", {"above_33_tokens"}}},
      {table, {"i64_as_i32", {"in_place"}}},
      {exact, {"i64_as_i32", {"above_14_rows"}}},
      {exact, {"position_in_f32", {"from_64_tokens"}}},
      {exact, {"negative_clamped", {"transposed"}}},
      {exact, {"negative_clamped", {"above_17_heads"}}},
      {table, {"rows_by_position", {"from_64_tokens"}}},
      {bf16, {"rows_by_position", {"interleaved"}}},
      {table, {"first_table_for_all", {"above_33_tokens"}}},
      {f64, {"first_table_for_all", {"transposed"}}},
      {table, {"first_sin_for_all", {"scaled"}}},
      {table, {"table_stride_ignored", {"from_64_tokens"}}},
      {table, {"table_stride_ignored", {"wide_ragged"}}},
      {table, {"scale_ignored", {"above_1200_tokens"}}},
      {exact, {"scale_ignored", {"partial"}}},
      {table, {"scale_ignored", {"above_600_rows"}}},
      {bf16, {"scale_ignored", {"by_token"}}},
      {table, {"scale_twice", {"in_place"}}},
      {bf16, {"scale_twice", {"from_36_heads"}}},
      {exact, {"scale_positive", {"transposed"}}},
      {table, {"scale_in_f16", {"above_256_kib"}}},
      {exact, {"scale_taken_for_one", {"above_128_dims"}}},
      {table, {"always_forward", {"from_64_tokens"}}},
      {table, {"always_forward", {"above_6_mib"}}},
      {bf16, {"always_forward", {"wide_ragged"}}},
      {exact, {"always_forward", {"second_tensor"}}},
      {exact, {"always_forward", {"above_2_17"}}},
      {table, {"always_forward", {"by_token"}}},
      {table, {"pairs_adjacent", {"in_place"}}},
      {exact, {"pairs_adjacent", {"from_100_tokens"}}},
      {table, {"copied_rotated", {"from_64_tokens"}}},
      {exact, {"copied_rotated", {"above_14_rows"}}},
      {table, {"heads_of_first", {"transposed"}}},
      {table, {"read_after_write", {"above_33_tokens"}}},
      {exact, {"read_after_write", {"odd_heads"}}},
      {f16, {"read_after_write", {"above_128_dims"}}},
      {table, {"last_rows_left", {"from_36_heads"}}},
      {exact, {"last_rows_left", {"i64_positions"}}},
      {f16, {"last_pairs_left", {"from_64_tokens"}}},
      {f64, {"last_pairs_left", {"transposed"}}},
      {table, {"overflows_between", {"above_128_dims"}}},
      {table, {"subnormals_flushed", {"above_17_heads"}}},
      {table, {"zero_heads_left", {"from_36_heads"}}},
      {table, {"stale_position", {"from_64_tokens"}}},
      {exact, {"stale_position", {"transposed"}}},
      {exact, {"stale_position", {"i64_positions"}}},
      {table, {"stale_position", {"partial"}}},
      {f64, {"stale_position", {"head_major"}}},
      {table, {"scratch_shared", {"above_33_tokens"}}},
      {exact, {"scratch_shared", {"partial"}}},
      {table, {"scratch_shared", {"transposed"}}},
      {table, {"scratch_shared", {"above_17_heads"}}},
      {exact, {"scratch_shared", {"i64_positions"}}},
      {bf16, {"scratch_shared", {"by_token"}}},
      {f64, {"scratch_shared", {"head_major"}}},
      {table, {"scratch_shared", {"scaled"}}},
      {any_types, {"type_of_first", {"transposed"}}},
      {any_types, {"type_of_first", {"first_in_place"}}},
      {any_types, {"bytes_of_first", {"interleaved"}}},
      {any_types, {"copied_in_first_type", {"above_17_heads"}}},
      {any_types, {"table_of_usual_type", {"from_64_tokens"}}},
      {any_types, {"table_of_usual_type", {"second_tensor"}}},
      // Three or more must meet.
      {table, {"window_at_start", {"from_64_tokens", "transposed"}}},
      {table, {"tail_not_copied", {"from_64_tokens"}}},
      {table, {"tail_not_copied", {"above_12_mib"}}},
      {exact, {"front_not_copied", {"transposed"}}},
      {table, {"tail_scaled", {"from_36_heads"}}},
      {table, {"tail_touched", {"from_64_tokens"}}},
      {table, {"head_stride_packed", {"from_64_tokens", "in_place"}}},
      {exact, {"token_stride_packed", {"partial", "above_33_tokens"}}},
      {table, {"batch_stride_packed", {"in_place"}}},
      {exact, {"batch_stride_packed", {"above_33_tokens"}}},
      {exact, {"positions_of_row_0", {"above_33_tokens"}}},
      {exact, {"i64_in_16_bits", {"from_100_tokens"}}},
      {exact, {"i64_in_16_bits", {"head_major"}}},
      {table, {"rows_by_position", {"second_tensor", "from_64_tokens"}}},
      {table, {"row_of_token_alone", {"above_33_tokens"}}},
      {table, {"first_table_for_all", {"above_33_tokens", "interleaved"}}},
      {table, {"scale_ignored", {"from_64_tokens", "transposed"}}},
      {table, {"backward_unscaled", {"from_64_tokens"}}},
      {exact, {"backward_unscaled", {"above_600_rows"}}},
      {table, {"copied_scaled", {"above_33_tokens"}}},
      {bf16, {"copied_scaled", {"in_place"}}},
      {table, {"copied_left_out", {"above_256_kib"}}},
      {table, {"placement_of_first", {"from_36_heads", "transposed"}}},
      {table, {"stale_row", {"from_100_tokens"}}},
      {table, {"stale_row", {"transposed"}}},
      {table, {"always_forward", {"second_tensor", "strided_positions"}}},
      {exact, {"tail_scaled", {"from_64_tokens", "transposed"}}},
      {table, {"backward_unscaled", {"partial", "above_17_heads"}}},
      {table, {"copied_scaled", {"from_64_tokens", "head_major"}}},
      {exact, {"i64_in_16_bits", {"transposed", "above_14_rows"}}},
      {any_types, {"bytes_of_first", {"above_33_tokens", "in_place"}}},
      // A refusal, and an error in what is still accepted.
      {table, {"window_at_start", {"from_64_tokens"}}, "odd_halves"},
      {table, {"scale_ignored", {"above_17_heads"}}, "other_windows"},
      {table, {"head_stride_packed", {"transposed"}}, "part_blocks"},
      {table, {"rows_by_position", {"interleaved"}}, "other_heads"},
      {table, {"first_table_for_all", {"in_place"}}, "long_prompts"},
      {bf16, {"always_forward", {"from_64_tokens"}}, "other_models"},
      {table, {"scale_twice", {"from_64_tokens"}}, "odd_sizes"},
      {table, {"i64_as_i32", {"above_17_heads"}}, "short_prompts"},
      {table, {"position_stride_ignored", {"transposed"}}, "unfused"},
      {exact, {"scale_ignored", {"interleaved"}}, "packed_positions"},
      {table, {"copied_rotated", {"above_14_rows"}}, "packed_tables"},
      {table, {"window_at_start", {"in_place"}}, "odd_tiles"},
      {table, {"read_after_write", {"above_17_heads"}}, "unscaled"},
      {table, {"i64_as_i32", {"from_64_tokens"}}, "token_major"},
  };
  return list;
}

std::string joined(std::initializer_list<std::string_view> words) {
  std::string out;
  for (const std::string_view word : words) out += (out.empty() ? "" : "_") + std::string(word);
  return out;
}

std::string name_of(const Row& row) {
  const auto& [form, member, refusal] = row;
  if (!refusal.empty()) return joined({"mutant_refuses", refusal, member.fault, form.suffix});
  std::string name = joined({"mutant", member.fault});
  for (const std::string_view region : member.regions) name += "_" + std::string(region);
  return joined({name, form.suffix});
}

std::vector<Composed> all_kernels() {
  std::vector<Composed> out;
  for (const Form& form : {table, f64, f16, bf16, exact, any_types})
    out.push_back({control_of(form), form, {}, ""});
  for (const Row& row : rows()) {
    if (!row.refusal.empty())
      out.push_back(
          {joined({"control_refuses", row.refusal, row.form.suffix}), row.form, {}, row.refusal});
    out.push_back({name_of(row), row.form, {row.member}, row.refusal});
  }
  return out;
}

}  // namespace

const std::vector<Composed>& composed_kernels() {
  static const std::vector<Composed> list = all_kernels();
  return list;
}

std::string control_of(const Form& form) {
  return joined({"control_composed", form.suffix});
}

const Composed* composed_named(std::string_view kernel) {
  const auto& list = composed_kernels();
  const auto found =
      std::ranges::find_if(list, [&](const Composed& each) { return each.name == kernel; });
  return found == list.end() ? nullptr : &*found;
}

Level level_of(const Composed& kernel) {
  if (kernel.members.empty()) return 0;
  const auto words = conditions_of(kernel.members[0]);
  Level level = static_cast<Level>(words.size());
  // These cases are too large for weaker profiles.
  if (std::ranges::count(words, "above_6_mib") > 0) level = std::max(level, 3);
  if (std::ranges::count(words, "above_12_mib") > 0) level = std::max(level, 4);
  return level;
}

}  // namespace ropewalk::mutants
