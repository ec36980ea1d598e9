// The words of the faults, and what must hold for each to show.
#include <algorithm>
#include <stdexcept>

#include "properties/mutants/composed/composed.h"

namespace ropewalk::mutants {
namespace {

using Words = std::vector<std::string_view>;

struct FaultNeeds {
  std::string_view word;
  Words needs;
};

const std::vector<FaultNeeds>& faults() {
  static const std::vector<FaultNeeds> list = {
      // ---- windows
      {"window_at_start", {"inner_window"}},
      {"front_not_copied", {"inner_window", "out_of_place"}},
      {"tail_not_copied", {"partial", "out_of_place"}},
      {"tail_scaled", {"partial", "scaled"}},
      {"tail_touched", {"partial", "ragged_pairs"}},
      // ---- layouts
      {"head_stride_packed", {"padded_in"}},
      {"token_stride_packed", {"padded_in"}},
      {"batch_stride_packed", {"padded_in", "two_rows"}},
      {"out_like_in", {"padded_out"}},
      {"in_like_out", {"padded_in"}},
      // ---- positions
      {"position_stride_ignored", {"strided_positions"}},
      {"positions_of_row_0", {"random_positions", "two_rows"}},
      {"equal_steps_assumed", {"random_positions"}},
      {"i64_as_i32", {"i64_positions"}},
      {"i64_in_16_bits", {"i64_positions", "above_2_15"}},
      {"position_in_f32", {"above_2_24"}},
      {"negative_clamped", {"negative_positions"}},
      // ---- tables
      {"rows_by_position", {"by_token"}},
      {"row_of_token_alone", {"by_token", "random_positions", "two_rows"}},
      {"first_table_for_all", {"own_tables"}},
      {"first_sin_for_all", {"own_sin"}},
      {"table_stride_ignored", {"padded_table"}},
      // ---- scale
      {"scale_ignored", {"scaled"}},
      {"scale_twice", {"scaled"}},
      {"scale_positive", {"negative_scale"}},
      {"scale_in_f16", {"long_scale"}},
      {"scale_taken_for_one", {"scale_near_one"}},
      // ---- operation and pairing
      {"always_forward", {"transposed"}},
      {"backward_unscaled", {"transposed", "scaled"}},
      {"pairs_adjacent", {"interleaved"}},
      // ---- tensor sets and placement
      {"copied_rotated", {"copied"}},
      {"copied_scaled", {"copied", "scaled"}},
      {"copied_left_out", {"copied", "out_of_place"}},
      {"heads_of_first", {"more_key_heads"}},
      {"read_after_write", {"in_place"}},
      {"placement_of_first", {"first_in_place"}},
      // ---- data types
      {"type_of_first", {"mixed_types"}},
      {"bytes_of_first", {"mixed_types"}},
      {"copied_in_first_type", {"copied_type"}},
      {"table_of_usual_type", {"table_type"}},
      // ---- blocks
      {"last_rows_left", {"ragged_tokens"}},
      {"last_pairs_left", {"ragged_pairs"}},
      // ---- data, earlier calls, threads
      {"overflows_between", {"edge_data"}},
      {"subnormals_flushed", {"subnormal_data"}},
      {"zero_heads_left", {"zero_heads"}},
      {"stale_position", {"others_before"}},
      {"stale_row", {"others_before", "by_token"}},
      {"scratch_shared", {"at_once"}},
  };
  return list;
}

}  // namespace

std::vector<std::string_view> conditions_of(const Member& member) {
  const auto& list = faults();
  const auto found = std::ranges::find(list, member.fault, &FaultNeeds::word);
  if (found == list.end()) throw std::logic_error("no such fault: " + std::string(member.fault));
  Words out = found->needs;
  out.insert(out.end(), member.regions.begin(), member.regions.end());
  return out;
}

}  // namespace ropewalk::mutants
