// The faults. Each changes the plan of one tensor.
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <stdexcept>
#include <string>

#include "kernels/api/half.h"
#include "properties/mutants/composed/meanings.h"

namespace ropewalk::mutants {
namespace {

bool is_turned(const Plan& plan) {
  return plan.shape().rotate != 0;
}

// ---- windows

void window_at_start(Plan& plan) {
  if (is_turned(plan)) plan.shape().rotary_offset = 0;
}

void front_not_copied(Plan& plan) {
  rope_tensor& s = plan.shape();
  if (!is_turned(plan) || s.rotary_offset == 0) return;
  const auto bytes = s.rotary_offset * data_type(Dtype{s.in_dtype}).bytes;
  auto& at = plan.o.tensor[plan.tensor];
  at.in = static_cast<const char*>(at.in) + bytes;
  at.out = static_cast<char*>(at.out) + bytes;
  s.head_dim -= s.rotary_offset;
  s.rotary_offset = 0;
}

void tail_not_copied(Plan& plan) {
  if (is_turned(plan)) plan.shape().head_dim = plan.shape().rotary_offset + plan.p.rotary_dim;
}

void tail_scaled(Plan& plan) {
  if (is_turned(plan)) plan.copied_scale = plan.scale;
}

void tail_touched(Plan& plan) {
  plan.touches_behind = plan.p.rotary_dim % 16 != 0;
}

// ---- layouts

// The sizes are those of the call, whatever other faults made of them.
const rope_tensor& asked_shape(const Plan& plan) {
  return plan.asked.tensor[plan.tensor];
}

void head_stride_packed(Plan& plan) {
  plan.shape().in_head_stride = asked_shape(plan).head_dim;
}

void token_stride_packed(Plan& plan) {
  plan.shape().in_token_stride = asked_shape(plan).heads * asked_shape(plan).head_dim;
}

void batch_stride_packed(Plan& plan) {
  plan.shape().in_batch_stride =
      plan.p.tokens * asked_shape(plan).heads * asked_shape(plan).head_dim;
}

void out_like_in(Plan& plan) {
  rope_tensor& s = plan.shape();
  s.out_batch_stride = s.in_batch_stride;
  s.out_token_stride = s.in_token_stride;
  s.out_head_stride = s.in_head_stride;
}

void in_like_out(Plan& plan) {
  rope_tensor& s = plan.shape();
  s.in_batch_stride = s.out_batch_stride;
  s.in_token_stride = s.out_token_stride;
  s.in_head_stride = s.out_head_stride;
}

// ---- positions

void position_stride_ignored(Plan& plan) {
  plan.p.position_token_stride = 1;
}

void positions_of_row_0(Plan& plan) {
  plan.p.position_batch_stride = 0;
}

void equal_steps_assumed(Plan& plan) {
  plan.equal_steps = true;
}

void i64_as_i32(Plan& plan) {
  plan.p.position_dtype = ROPE_I32;
}

void i64_in_16_bits(Plan& plan) {
  plan.position_in_16_bits = plan.p.position_dtype == ROPE_I64;
}

void position_in_f32(Plan& plan) {
  plan.position_in_f32 = true;
}

void negative_clamped(Plan& plan) {
  plan.least_position = 0;
}

// ---- tables

void rows_by_position(Plan& plan) {
  plan.p.table_rows_by = ROPE_ROW_BY_POSITION;
}

void row_of_token_alone(Plan& plan) {
  plan.row_of_token_alone = true;
}

void first_table_for_all(Plan& plan) {
  auto& own = plan.o.tensor[plan.tensor];
  if (!is_turned(plan) || plan.p.tensor[0].rotate == 0) return;
  own.cos = plan.o.tensor[0].cos;
  own.sin = plan.o.tensor[0].sin;
}

void first_sin_for_all(Plan& plan) {
  auto& own = plan.o.tensor[plan.tensor];
  if (own.cos == plan.o.tensor[0].cos) own.sin = plan.o.tensor[0].sin;
}

void table_stride_ignored(Plan& plan) {
  plan.p.table_row_stride = plan.p.rotary_dim / 2;
}

// ---- scale

void scale_ignored(Plan& plan) {
  plan.scale = 1;
}

void scale_twice(Plan& plan) {
  plan.scale *= plan.scale;
}

void scale_positive(Plan& plan) {
  plan.scale = std::max(plan.scale, -plan.scale);
}

void scale_in_f16(Plan& plan) {
  plan.scale = double{float{F16(static_cast<float>(plan.scale))}};
}

void scale_taken_for_one(Plan& plan) {
  if (plan.scale > 0.999 && plan.scale < 1.001) plan.scale = 1;
}

// ---- operation and pairing

void always_forward(Plan& plan) {
  plan.backward = false;
}

void backward_unscaled(Plan& plan) {
  if (plan.backward) plan.scale = 1;
}

void pairs_adjacent(Plan& plan) {
  plan.p.pairing = ROPE_HALF_SPLIT;
}

// ---- tensor sets and placement

// A tensor that is only copied has no table, so it gets that of the first tensor.
void copied_rotated(Plan& plan) {
  if (is_turned(plan) || plan.shape().head_dim < plan.p.rotary_dim) return;
  plan.shape().rotate = 1;
  plan.shape().rotary_offset = 0;
  plan.o.tensor[plan.tensor].cos = plan.o.tensor[0].cos;
  plan.o.tensor[plan.tensor].sin = plan.o.tensor[0].sin;
}

void copied_scaled(Plan& plan) {
  if (!is_turned(plan)) plan.copied_scale = plan.scale;
}

void copied_left_out(Plan& plan) {
  if (!is_turned(plan)) plan.shape().heads = 0;
}

void heads_of_first(Plan& plan) {
  plan.shape().heads = std::min(plan.shape().heads, plan.p.tensor[0].heads);
}

void read_after_write(Plan& plan) {
  plan.reads_late = true;
}

void placement_of_first(Plan& plan) {
  if (plan.p.tensor[0].in_place == 0) return;
  plan.o.tensor[plan.tensor].in = plan.o.tensor[plan.tensor].out;
  in_like_out(plan);
}

// ---- data types

void type_of_first(Plan& plan) {
  plan.shape().in_dtype = plan.asked.tensor[0].in_dtype;
}

void bytes_of_first(Plan& plan) {
  const auto bytes_of = [](const rope_tensor& t) { return data_type(Dtype{t.in_dtype}).bytes; };
  rope_tensor& s = plan.shape();
  for (std::int64_t* stride : {&s.in_batch_stride, &s.in_token_stride, &s.in_head_stride,
                               &s.out_batch_stride, &s.out_token_stride, &s.out_head_stride})
    *stride = *stride * bytes_of(plan.asked.tensor[0]) / bytes_of(asked_shape(plan));
}

void copied_in_first_type(Plan& plan) {
  if (!is_turned(plan)) type_of_first(plan);
}

void table_of_usual_type(Plan& plan) {
  plan.p.table_dtype = in_contract(data_type(Dtype{plan.shape().in_dtype}).computed_in);
}

// ---- blocks

void last_rows_left(Plan& plan) {
  if (plan.p.tokens > 16) plan.tokens = plan.p.tokens / 16 * 16;
}

void last_pairs_left(Plan& plan) {
  plan.pairs = plan.pairs / 8 * 8;
}

// ---- data, earlier calls, threads

void overflows_between(Plan& plan) {
  plan.headroom = 16;
}

void subnormals_flushed(Plan& plan) {
  plan.flushes = true;
}

void zero_heads_left(Plan& plan) {
  plan.leaves_zeros = true;
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

void stale_position(Plan& plan) {
  const void* at = plan.o.positions;
  if (at == nullptr) return;
  plan.first_position = kept_at<std::int64_t>(at, plan.p.position_dtype == ROPE_I64
                                                      ? *static_cast<const std::int64_t*>(at)
                                                      : *static_cast<const std::int32_t*>(at));
}

void stale_row(Plan& plan) {
  const void* at = plan.o.tensor[plan.tensor].cos;
  if (at == nullptr || plan.p.table_rows_by != ROPE_ROW_BY_TOKEN) return;
  plan.first_cos =
      kept_at<double>(at, plan.p.table_dtype == ROPE_F64 ? *static_cast<const double*>(at)
                                                         : double{*static_cast<const float*>(at)});
}

void scratch_shared(Plan& plan) {
  plan.shares_scratch = true;
}

struct Meaning {
  std::string_view word;
  Misread misread;
};
constexpr Meaning meanings[] = {
    {"window_at_start", window_at_start},
    {"front_not_copied", front_not_copied},
    {"tail_not_copied", tail_not_copied},
    {"tail_scaled", tail_scaled},
    {"tail_touched", tail_touched},
    {"head_stride_packed", head_stride_packed},
    {"token_stride_packed", token_stride_packed},
    {"batch_stride_packed", batch_stride_packed},
    {"out_like_in", out_like_in},
    {"in_like_out", in_like_out},
    {"position_stride_ignored", position_stride_ignored},
    {"positions_of_row_0", positions_of_row_0},
    {"equal_steps_assumed", equal_steps_assumed},
    {"i64_as_i32", i64_as_i32},
    {"i64_in_16_bits", i64_in_16_bits},
    {"position_in_f32", position_in_f32},
    {"negative_clamped", negative_clamped},
    {"rows_by_position", rows_by_position},
    {"row_of_token_alone", row_of_token_alone},
    {"first_table_for_all", first_table_for_all},
    {"first_sin_for_all", first_sin_for_all},
    {"table_stride_ignored", table_stride_ignored},
    {"scale_ignored", scale_ignored},
    {"scale_twice", scale_twice},
    {"scale_positive", scale_positive},
    {"scale_in_f16", scale_in_f16},
    {"scale_taken_for_one", scale_taken_for_one},
    {"always_forward", always_forward},
    {"backward_unscaled", backward_unscaled},
    {"pairs_adjacent", pairs_adjacent},
    {"copied_rotated", copied_rotated},
    {"copied_scaled", copied_scaled},
    {"copied_left_out", copied_left_out},
    {"heads_of_first", heads_of_first},
    {"read_after_write", read_after_write},
    {"placement_of_first", placement_of_first},
    {"last_rows_left", last_rows_left},
    {"last_pairs_left", last_pairs_left},
    {"overflows_between", overflows_between},
    {"subnormals_flushed", subnormals_flushed},
    {"zero_heads_left", zero_heads_left},
    {"stale_position", stale_position},
    {"stale_row", stale_row},
    {"scratch_shared", scratch_shared},
    {"type_of_first", type_of_first},
    {"bytes_of_first", bytes_of_first},
    {"copied_in_first_type", copied_in_first_type},
    {"table_of_usual_type", table_of_usual_type},
};

}  // namespace

Misread misread_of(std::string_view fault) {
  for (const Meaning& meaning : meanings)
    if (meaning.word == fault) return meaning.misread;
  throw std::logic_error("no such fault: " + std::string(fault));
}

}  // namespace ropewalk::mutants
