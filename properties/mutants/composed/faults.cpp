// The faults, and what must hold for each to show. Each changes the plan of one tensor.
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <stdexcept>
#include <string>

#include "kernels/api/half.h"
#include "properties/mutants/composed/composed.h"
#include "properties/mutants/composed/frame.h"

namespace ropewalk::mutants {
namespace {

bool is_turned(const Plan& plan) {
  return plan.shape().rotate != 0;
}

// The sizes are those of the call, whatever other faults made of them.
const rope_tensor& asked_shape(const Plan& plan) {
  return plan.asked.tensor[plan.tensor];
}

void in_like_out(Plan& plan) {
  rope_tensor& s = plan.shape();
  s.in_batch_stride = s.out_batch_stride;
  s.in_token_stride = s.out_token_stride;
  s.in_head_stride = s.out_head_stride;
}

void type_of_first(Plan& plan) {
  plan.shape().in_dtype = plan.asked.tensor[0].in_dtype;
}

// What a kernel keeps by the address of an operand.
template <class Value>
Value kept_at(const void* address, Value now) {
  struct Entry {
    const void* address;
    Value value;
  };
  static Entry entries[256];
  Entry& entry = entries[reinterpret_cast<std::uintptr_t>(address) / 64 % std::size(entries)];
  if (entry.address != address) entry = {address, now};
  return entry.value;
}

constexpr Fault meanings[] = {
    // ---- windows
    {"window_at_start", "inner_window", "forgets the window's offset", "maxtext #4616",
     [](Plan& plan) {
       if (is_turned(plan)) plan.shape().rotary_offset = 0;
     }},
    {"front_not_copied", "inner_window out_of_place",
     "leaves the dims in front of the window unwritten", "several",
     [](Plan& plan) {
       rope_tensor& s = plan.shape();
       if (!is_turned(plan) || s.rotary_offset == 0) return;
       const auto bytes = s.rotary_offset * data_type(Dtype{s.in_dtype}).bytes;
       auto& at = plan.o.tensor[plan.tensor];
       at.in = static_cast<const char*>(at.in) + bytes;
       at.out = static_cast<char*>(at.out) + bytes;
       s.head_dim -= s.rotary_offset;
       s.rotary_offset = 0;
     }},
    {"tail_not_copied", "partial out_of_place", "leaves the dims behind the window unwritten",
     "several",
     [](Plan& plan) {
       if (is_turned(plan)) plan.shape().head_dim = plan.shape().rotary_offset + plan.p.rotary_dim;
     }},
    {"tail_scaled", "partial scaled", "scales the dims behind the window too", "",
     [](Plan& plan) {
       if (is_turned(plan)) plan.copied_scale = plan.scale;
     }},
    {"copied_by_float", "partial", "copies through a float, so signalling NaNs become quiet", "",
     [](Plan& plan) { plan.copies_by_float = true; }},
    {"tail_touched", "partial ragged_pairs",
     "stores a whole vector, so the first dim behind the window becomes 0", "sglang #35096",
     [](Plan& plan) { plan.touches_behind = plan.p.rotary_dim % 16 != 0; }},
    // ---- layouts
    {"head_stride_packed", "padded_in", "takes heads for packed", "vLLM #16658",
     [](Plan& plan) { plan.shape().in_head_stride = asked_shape(plan).head_dim; }},
    {"token_stride_packed", "padded_in", "takes tokens for packed", "llama.cpp PR 19296",
     [](Plan& plan) {
       plan.shape().in_token_stride = asked_shape(plan).heads * asked_shape(plan).head_dim;
     }},
    {"batch_stride_packed", "padded_in two_rows", "takes batch rows for packed", "llama.cpp #14582",
     [](Plan& plan) {
       plan.shape().in_batch_stride =
           plan.p.tokens * asked_shape(plan).heads * asked_shape(plan).head_dim;
     }},
    {"out_like_in", "padded_out", "lays the output out like the input", "",
     [](Plan& plan) {
       rope_tensor& s = plan.shape();
       s.out_batch_stride = s.in_batch_stride;
       s.out_token_stride = s.in_token_stride;
       s.out_head_stride = s.in_head_stride;
     }},
    {"in_like_out", "padded_in", "reads the input by the strides of the output", "", in_like_out},
    // ---- positions
    {"position_stride_ignored", "strided_positions", "takes positions for packed", "",
     [](Plan& plan) { plan.p.position_token_stride = 1; }},
    {"positions_of_row_0", "random_positions two_rows",
     "gives every batch row the positions of row 0", "released Triton wrappers of 2026",
     [](Plan& plan) { plan.p.position_batch_stride = 0; }},
    {"equal_steps_assumed", "random_positions", "makes positions from the first two of a row", "",
     [](Plan& plan) { plan.equal_steps = true; }},
    {"i64_as_i32", "i64_positions", "reads 64-bit positions as 32-bit ones", "vLLM PR 43166",
     [](Plan& plan) { plan.p.position_dtype = ROPE_I32; }},
    {"i64_in_16_bits", "i64_positions above_2_15", "cuts 64-bit positions to 16 bits",
     "tokenspeed PR 748",
     [](Plan& plan) { plan.position_in_16_bits = plan.p.position_dtype == ROPE_I64; }},
    {"position_in_f32", "above_2_24", "carries positions in a float",
     "candle PR 3520, diffusers PR 13922", [](Plan& plan) { plan.position_in_f32 = true; }},
    {"negative_clamped", "negative_positions", "takes negative positions for 0", "pegainfer #220",
     [](Plan& plan) { plan.least_position = 0; }},
    // ---- tables
    {"rows_by_position", "by_token", "takes the table row of the position, not of the token", "",
     [](Plan& plan) { plan.p.table_rows_by = ROPE_ROW_BY_POSITION; }},
    {"row_of_token_alone", "by_token random_positions two_rows",
     "takes the table row of the token in batch row 0", "released Triton wrappers of 2026",
     [](Plan& plan) { plan.row_of_token_alone = true; }},
    {"first_table_for_all", "own_tables", "takes the first tensor's table for all", "",
     [](Plan& plan) {
       auto& own = plan.o.tensor[plan.tensor];
       if (!is_turned(plan) || plan.p.tensor[0].rotate == 0) return;
       own.cos = plan.o.tensor[0].cos;
       own.sin = plan.o.tensor[0].sin;
     }},
    {"first_sin_for_all", "own_sin", "takes the first tensor's sin for tensors that share its cos",
     "",
     [](Plan& plan) {
       auto& own = plan.o.tensor[plan.tensor];
       if (own.cos == plan.o.tensor[0].cos) own.sin = plan.o.tensor[0].sin;
     }},
    {"table_stride_ignored", "padded_table", "takes table rows for packed", "ORT PR 26389",
     [](Plan& plan) { plan.p.table_row_stride = plan.p.rotary_dim / 2; }},
    // ---- scale
    {"scale_ignored", "scaled", "forgets the scale", "", [](Plan& plan) { plan.scale = 1; }},
    {"scale_twice", "scaled", "scales twice", "vLLM #48351, sglang PR 33558, exllamav3 #259",
     [](Plan& plan) { plan.scale *= plan.scale; }},
    {"scale_positive", "negative_scale", "takes the scale's absolute value", "",
     [](Plan& plan) { plan.scale = std::max(plan.scale, -plan.scale); }},
    {"scale_in_f16", "long_scale", "rounds the scale to f16", "",
     [](Plan& plan) { plan.scale = double{float{F16(static_cast<float>(plan.scale))}}; }},
    {"scale_taken_for_one", "scale_near_one", "takes a scale within 1e-3 of 1 for 1", "",
     [](Plan& plan) {
       if (plan.scale > 0.999 && plan.scale < 1.001) plan.scale = 1;
     }},
    // ---- operation and pairing
    {"always_forward", "transposed", "turns forward in the backward pass",
     "apex PR 1750, flash-attention PR 569", [](Plan& plan) { plan.backward = false; }},
    {"backward_unscaled", "transposed scaled", "forgets the scale in the backward pass",
     "apex PR 1750, flash-attention PR 569",
     [](Plan& plan) {
       if (plan.backward) plan.scale = 1;
     }},
    {"pairs_adjacent", "interleaved", "pairs halves where neighbours are asked", "vLLM #49290",
     [](Plan& plan) { plan.p.pairing = ROPE_HALF_SPLIT; }},
    // ---- tensor sets and placement. A tensor that is only copied has no table, so it gets that of
    // the first tensor.
    {"copied_rotated", "copied", "rotates a tensor that is only copied", "",
     [](Plan& plan) {
       if (is_turned(plan) || plan.shape().head_dim < plan.p.rotary_dim) return;
       plan.shape().rotate = 1;
       plan.shape().rotary_offset = 0;
       plan.o.tensor[plan.tensor].cos = plan.o.tensor[0].cos;
       plan.o.tensor[plan.tensor].sin = plan.o.tensor[0].sin;
     }},
    {"copied_scaled", "copied scaled", "scales a tensor that is only copied", "",
     [](Plan& plan) {
       if (!is_turned(plan)) plan.copied_scale = plan.scale;
     }},
    {"copied_left_out", "copied out_of_place", "never copies a tensor that is only copied", "",
     [](Plan& plan) {
       if (!is_turned(plan)) plan.shape().heads = 0;
     }},
    {"heads_of_first", "more_key_heads", "handles as many heads as the first tensor has", "",
     [](Plan& plan) { plan.shape().heads = std::min(plan.shape().heads, plan.p.tensor[0].heads); }},
    {"read_after_write", "in_place", "reads the first element of a pair after it was written",
     "FlagGems PR 5143, vLLM PR 635", [](Plan& plan) { plan.reads_late = true; }},
    {"placement_of_first", "first_in_place", "takes every tensor for in place, as the first one is",
     "",
     [](Plan& plan) {
       if (plan.p.tensor[0].in_place == 0) return;
       plan.o.tensor[plan.tensor].in = plan.o.tensor[plan.tensor].out;
       in_like_out(plan);
     }},
    // ---- blocks
    {"last_rows_left", "ragged_tokens", "leaves the tokens behind the last block of 16",
     "ORT PR 26390",
     [](Plan& plan) {
       if (plan.p.tokens > 16) plan.tokens = plan.p.tokens / 16 * 16;
     }},
    {"last_pairs_left", "ragged_pairs", "leaves the pairs behind the last vector of 8",
     "ORT PR 26389", [](Plan& plan) { plan.pairs = plan.pairs / 8 * 8; }},
    // ---- data, earlier calls, threads
    {"overflows_between", "edge_data", "computes with values 16 times as large", "",
     [](Plan& plan) { plan.headroom = 16; }},
    {"subnormals_flushed", "subnormal_data", "reads subnormal numbers as 0",
     "AVX512-BF16 conversions", [](Plan& plan) { plan.flushes = true; }},
    {"zero_heads_left", "zero_heads", "leaves the output of an all-zero head", "",
     [](Plan& plan) { plan.leaves_zeros = true; }},
    {"stale_position", "others_before", "keeps the first position by the address of the positions",
     "KernelBench and GPU MODE exploits",
     [](Plan& plan) {
       const void* at = plan.o.positions;
       if (at == nullptr) return;
       plan.first_position = kept_at(at, token_at(plan.p, plan.o, 0, 0).position);
     }},
    {"stale_row", "others_before by_token", "keeps the first table entry by the table's address",
     "KernelBench and GPU MODE exploits",
     [](Plan& plan) {
       const void* at = plan.o.tensor[plan.tensor].cos;
       if (at == nullptr || plan.p.table_rows_by != ROPE_ROW_BY_TOKEN) return;
       plan.first_cos = kept_at<double>(at, plan.p.table_dtype == ROPE_F64
                                                ? *static_cast<const double*>(at)
                                                : double{*static_cast<const float*>(at)});
     }},
    {"scratch_shared", "at_once", "has one static scratch for all threads",
     "vLLM PR 48872, Megatron PR 5980", [](Plan& plan) { plan.shares_scratch = true; }},
    // ---- data types
    {"type_of_first", "mixed_types", "takes every tensor for one of the first one's type", "",
     type_of_first},
    {"bytes_of_first", "mixed_types",
     "turns strides into bytes by the elements of the first tensor", "",
     [](Plan& plan) {
       const auto bytes_of = [](const rope_tensor& t) {
         return data_type(Dtype{t.in_dtype}).bytes;
       };
       rope_tensor& s = plan.shape();
       for (std::int64_t* stride : {&s.in_batch_stride, &s.in_token_stride, &s.in_head_stride,
                                    &s.out_batch_stride, &s.out_token_stride, &s.out_head_stride})
         *stride = *stride * bytes_of(plan.asked.tensor[0]) / bytes_of(asked_shape(plan));
     }},
    {"copied_in_first_type", "copied_type",
     "copies a tensor that is only copied as if it had the first one's type", "",
     [](Plan& plan) {
       if (!is_turned(plan)) type_of_first(plan);
     }},
    {"table_of_usual_type", "table_type", "reads cos and sin in the type in which it computes", "",
     [](Plan& plan) {
       plan.p.table_dtype = in_contract(data_type(Dtype{plan.shape().in_dtype}).computed_in);
     }},
};

}  // namespace

std::vector<std::string_view> conditions_of(const Member& member) {
  std::vector<std::string_view> out;
  for (std::string_view rest = fault_named(member.fault).needs; !rest.empty();) {
    out.push_back(rest.substr(0, rest.find(' ')));
    rest.remove_prefix(std::min(out.back().size() + 1, rest.size()));
  }
  out.insert(out.end(), member.regions.begin(), member.regions.end());
  return out;
}

const Fault& fault_named(std::string_view word) {
  for (const Fault& meaning : meanings)
    if (meaning.word == word) return meaning;
  throw std::logic_error("no such fault: " + std::string(word));
}

}  // namespace ropewalk::mutants
