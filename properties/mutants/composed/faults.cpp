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

struct Meaning {
  std::string_view word;
  Misread misread;
};
constexpr Meaning meanings[] = {
    // ---- windows
    {"window_at_start",
     [](Plan& plan) {
       if (is_turned(plan)) plan.shape().rotary_offset = 0;
     }},
    {"front_not_copied",
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
    {"tail_not_copied",
     [](Plan& plan) {
       if (is_turned(plan)) plan.shape().head_dim = plan.shape().rotary_offset + plan.p.rotary_dim;
     }},
    {"tail_scaled",
     [](Plan& plan) {
       if (is_turned(plan)) plan.copied_scale = plan.scale;
     }},
    {"tail_touched", [](Plan& plan) { plan.touches_behind = plan.p.rotary_dim % 16 != 0; }},
    // ---- layouts
    {"head_stride_packed",
     [](Plan& plan) { plan.shape().in_head_stride = asked_shape(plan).head_dim; }},
    {"token_stride_packed",
     [](Plan& plan) {
       plan.shape().in_token_stride = asked_shape(plan).heads * asked_shape(plan).head_dim;
     }},
    {"batch_stride_packed",
     [](Plan& plan) {
       plan.shape().in_batch_stride =
           plan.p.tokens * asked_shape(plan).heads * asked_shape(plan).head_dim;
     }},
    {"out_like_in",
     [](Plan& plan) {
       rope_tensor& s = plan.shape();
       s.out_batch_stride = s.in_batch_stride;
       s.out_token_stride = s.in_token_stride;
       s.out_head_stride = s.in_head_stride;
     }},
    {"in_like_out", in_like_out},
    // ---- positions
    {"position_stride_ignored", [](Plan& plan) { plan.p.position_token_stride = 1; }},
    {"positions_of_row_0", [](Plan& plan) { plan.p.position_batch_stride = 0; }},
    {"equal_steps_assumed", [](Plan& plan) { plan.equal_steps = true; }},
    {"i64_as_i32", [](Plan& plan) { plan.p.position_dtype = ROPE_I32; }},
    {"i64_in_16_bits",
     [](Plan& plan) { plan.position_in_16_bits = plan.p.position_dtype == ROPE_I64; }},
    {"position_in_f32", [](Plan& plan) { plan.position_in_f32 = true; }},
    {"negative_clamped", [](Plan& plan) { plan.least_position = 0; }},
    // ---- tables
    {"rows_by_position", [](Plan& plan) { plan.p.table_rows_by = ROPE_ROW_BY_POSITION; }},
    {"row_of_token_alone", [](Plan& plan) { plan.row_of_token_alone = true; }},
    {"first_table_for_all",
     [](Plan& plan) {
       auto& own = plan.o.tensor[plan.tensor];
       if (!is_turned(plan) || plan.p.tensor[0].rotate == 0) return;
       own.cos = plan.o.tensor[0].cos;
       own.sin = plan.o.tensor[0].sin;
     }},
    {"first_sin_for_all",
     [](Plan& plan) {
       auto& own = plan.o.tensor[plan.tensor];
       if (own.cos == plan.o.tensor[0].cos) own.sin = plan.o.tensor[0].sin;
     }},
    {"table_stride_ignored", [](Plan& plan) { plan.p.table_row_stride = plan.p.rotary_dim / 2; }},
    // ---- scale
    {"scale_ignored", [](Plan& plan) { plan.scale = 1; }},
    {"scale_twice", [](Plan& plan) { plan.scale *= plan.scale; }},
    {"scale_positive", [](Plan& plan) { plan.scale = std::max(plan.scale, -plan.scale); }},
    {"scale_in_f16",
     [](Plan& plan) { plan.scale = double{float{F16(static_cast<float>(plan.scale))}}; }},
    {"scale_taken_for_one",
     [](Plan& plan) {
       if (plan.scale > 0.999 && plan.scale < 1.001) plan.scale = 1;
     }},
    // ---- operation and pairing
    {"always_forward", [](Plan& plan) { plan.backward = false; }},
    {"backward_unscaled",
     [](Plan& plan) {
       if (plan.backward) plan.scale = 1;
     }},
    {"pairs_adjacent", [](Plan& plan) { plan.p.pairing = ROPE_HALF_SPLIT; }},
    // ---- tensor sets and placement. A tensor that is only copied has no table, so it gets that of
    // the first tensor.
    {"copied_rotated",
     [](Plan& plan) {
       if (is_turned(plan) || plan.shape().head_dim < plan.p.rotary_dim) return;
       plan.shape().rotate = 1;
       plan.shape().rotary_offset = 0;
       plan.o.tensor[plan.tensor].cos = plan.o.tensor[0].cos;
       plan.o.tensor[plan.tensor].sin = plan.o.tensor[0].sin;
     }},
    {"copied_scaled",
     [](Plan& plan) {
       if (!is_turned(plan)) plan.copied_scale = plan.scale;
     }},
    {"copied_left_out",
     [](Plan& plan) {
       if (!is_turned(plan)) plan.shape().heads = 0;
     }},
    {"heads_of_first",
     [](Plan& plan) { plan.shape().heads = std::min(plan.shape().heads, plan.p.tensor[0].heads); }},
    {"read_after_write", [](Plan& plan) { plan.reads_late = true; }},
    {"placement_of_first",
     [](Plan& plan) {
       if (plan.p.tensor[0].in_place == 0) return;
       plan.o.tensor[plan.tensor].in = plan.o.tensor[plan.tensor].out;
       in_like_out(plan);
     }},
    // ---- blocks
    {"last_rows_left",
     [](Plan& plan) {
       if (plan.p.tokens > 16) plan.tokens = plan.p.tokens / 16 * 16;
     }},
    {"last_pairs_left", [](Plan& plan) { plan.pairs = plan.pairs / 8 * 8; }},
    // ---- data, earlier calls, threads
    {"overflows_between", [](Plan& plan) { plan.headroom = 16; }},
    {"subnormals_flushed", [](Plan& plan) { plan.flushes = true; }},
    {"zero_heads_left", [](Plan& plan) { plan.leaves_zeros = true; }},
    {"stale_position",
     [](Plan& plan) {
       const void* at = plan.o.positions;
       if (at == nullptr) return;
       plan.first_position = kept_at<std::int64_t>(at, plan.p.position_dtype == ROPE_I64
                                                           ? *static_cast<const std::int64_t*>(at)
                                                           : *static_cast<const std::int32_t*>(at));
     }},
    {"stale_row",
     [](Plan& plan) {
       const void* at = plan.o.tensor[plan.tensor].cos;
       if (at == nullptr || plan.p.table_rows_by != ROPE_ROW_BY_TOKEN) return;
       plan.first_cos = kept_at<double>(at, plan.p.table_dtype == ROPE_F64
                                                ? *static_cast<const double*>(at)
                                                : double{*static_cast<const float*>(at)});
     }},
    {"scratch_shared", [](Plan& plan) { plan.shares_scratch = true; }},
    // ---- data types
    {"type_of_first", type_of_first},
    {"bytes_of_first",
     [](Plan& plan) {
       const auto bytes_of = [](const rope_tensor& t) {
         return data_type(Dtype{t.in_dtype}).bytes;
       };
       rope_tensor& s = plan.shape();
       for (std::int64_t* stride : {&s.in_batch_stride, &s.in_token_stride, &s.in_head_stride,
                                    &s.out_batch_stride, &s.out_token_stride, &s.out_head_stride})
         *stride = *stride * bytes_of(plan.asked.tensor[0]) / bytes_of(asked_shape(plan));
     }},
    {"copied_in_first_type",
     [](Plan& plan) {
       if (!is_turned(plan)) type_of_first(plan);
     }},
    {"table_of_usual_type",
     [](Plan& plan) {
       plan.p.table_dtype = in_contract(data_type(Dtype{plan.shape().in_dtype}).computed_in);
     }},
};

}  // namespace

Misread misread_of(std::string_view fault) {
  for (const Meaning& meaning : meanings)
    if (meaning.word == fault) return meaning.misread;
  throw std::logic_error("no such fault: " + std::string(fault));
}

}  // namespace ropewalk::mutants
