// What each condition of a composed mutant means in a case.
#include <algorithm>

#include "harness/cases/layouts.h"
#include "properties/witness/witness.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

// ---- sizes

template <std::int64_t tokens>
void with_tokens(Witness& w) {
  w.c.tokens = tokens;
}

template <std::int64_t batch>
void with_batch(Witness& w) {
  w.c.batch = batch;
}

template <std::int64_t heads>
void with_heads(Witness& w) {
  for (TensorCase& t : w.c.tensors) t.heads = heads;
}

template <std::int64_t dims>
void with_dims(Witness& w) {
  w.c.rotary_dim = dims;
  for (TensorCase& t : w.c.tensors) t.head_dim = dims;
}

// Elements of 2 bytes need twice as many, elements of 8 bytes half as many.
template <std::int64_t tokens_of_f32>
void with_bytes(Witness& w) {
  with_tokens<tokens_of_f32>(w);
  with_heads<16>(w);
  with_dims<128>(w);
}

// ---- tensors

TensorCase& key(Witness& w) {
  if (w.c.tensors.size() < 2) w.c.tensors.push_back(w.c.tensors[0]);
  return w.c.tensors[1];
}

void add_key(Witness& w) {
  key(w);
}

void add_copied(Witness& w) {
  w.c.tensors.push_back(w.c.tensors[0]);
  w.c.tensors.back().rotate = false;
}

void more_key_heads(Witness& w) {
  key(w).heads = w.c.tensors[0].heads + 2;
}

void first_in_place(Witness& w) {
  key(w);
  w.c.tensors[0].in_place = true;
}

void first_out_of_place(Witness& w) {
  key(w);
}

void own_tables(Witness& w) {
  key(w);
  w.c.own_tables = true;
}

void own_sin(Witness& w) {
  key(w);
  w.c.own_sin = true;
}

// Half as wide as the first tensor, so that a reader of the first one's type leaves the buffer.
void mixed_types(Witness& w) {
  key(w).dtype = Dtype::f16;
}

void copied_type(Witness& w) {
  add_copied(w);
  w.c.tensors.back().dtype = Dtype::f16;
}

// ---- features

void table_type(Witness& w) {
  w.c.table_dtype = Dtype::f64;
}

void partial(Witness& w) {
  for (TensorCase& t : w.c.tensors) t.head_dim += 8;
}

void inner_window(Witness& w) {
  for (TensorCase& t : w.c.tensors) {
    t.head_dim += 8;
    if (t.rotate) t.rotary_offset = 4;
  }
}

void transposed(Witness& w) {
  w.c.operation = Operation::transpose;
}

void interleaved(Witness& w) {
  w.c.pairing = Pairing::interleaved;
}

void by_token(Witness& w) {
  w.c.rows_by = ROPE_ROW_BY_TOKEN;
}

void i64_positions(Witness& w) {
  w.c.position_dtype = Dtype::i64;
}

void random_positions(Witness& w) {
  w.c.position_rule = PositionRule::random;
  w.c.position_from = 3;
  w.c.position_to = 500;
}

template <std::int64_t position>
void positions_from(Witness& w) {
  w.c.position_from = position;
}

template <int numerator, int denominator>
void scaled(Witness& w) {
  w.c.attention_scale = static_cast<double>(numerator) / denominator;
}

template <DataPattern pattern>
void with_data(Witness& w) {
  w.c.data = pattern;
}

// ---- layouts

void strided_positions(Witness& w) {
  w.c.position_token_stride = 2;
  w.c.position_batch_stride = 2 * w.c.tokens + 1;
}

void padded_table(Witness& w) {
  w.c.table_row_stride = w.c.rotary_dim / 2 + 3;
}

void padded_in(Witness& w) {
  for (TensorCase& t : w.c.tensors) t.in = padded_strides(w.c, t, 8);
}

void padded_out(Witness& w) {
  for (TensorCase& t : w.c.tensors) t.out = padded_strides(w.c, t, 8);
}

void head_major(Witness& w) {
  for (TensorCase& t : w.c.tensors) t.in = head_major_strides(w.c, t);
}

// ---- last

void in_place(Witness& w) {
  for (TensorCase& t : w.c.tensors) {
    t.in_place = true;
    t.out = t.in;
    t.out_at = t.in_at;
  }
}

void zero_heads(Witness& w) {
  for (TensorCase& t : w.c.tensors)
    t.values.assign(static_cast<std::size_t>(w.c.batch * w.c.tokens * t.heads * t.head_dim), 0);
}

// The same problem, at other positions.
void others_before(Witness& w) {
  w.before.push_back(w.c);
  w.before.back().position_from += 40;
}

void at_once(Witness& w) {
  w.property = "threads";
}

}  // namespace

const std::vector<CaseChange>& case_changes() {
  static const std::vector<CaseChange> list = {
      {"transposed", Turn::features, transposed},
      {"interleaved", Turn::features, interleaved},
      {"in_place", Turn::last, in_place},
      {"out_of_place", Turn::last, nullptr, in_place},
      {"first_in_place", Turn::tensors, first_in_place, first_out_of_place},
      {"by_token", Turn::features, by_token},
      {"padded_table", Turn::layouts, padded_table},
      {"own_tables", Turn::tensors, own_tables},
      {"own_sin", Turn::tensors, own_sin},
      {"i64_positions", Turn::features, i64_positions},
      {"strided_positions", Turn::layouts, strided_positions},
      {"random_positions", Turn::features, random_positions},
      {"negative_positions", Turn::features, positions_from<-200>},
      {"above_2_15", Turn::features, positions_from<40'000>},
      {"above_2_17", Turn::features, positions_from<(1 << 17) + 1>},
      {"above_2_24", Turn::features, positions_from<(1 << 24) + 1>},
      {"padded_in", Turn::layouts, padded_in},
      {"head_major", Turn::layouts, head_major},
      {"padded_out", Turn::layouts, padded_out},
      {"partial", Turn::features, partial},
      {"inner_window", Turn::features, inner_window},
      {"ragged_pairs", Turn::sizes, with_dims<22>},
      {"wide_ragged", Turn::sizes, with_dims<72>},
      {"above_128_dims", Turn::sizes, with_dims<144>},
      {"above_17_heads", Turn::sizes, with_heads<18>},
      {"from_32_heads", Turn::sizes, with_heads<32>},
      {"odd_heads", Turn::sizes, with_heads<9>},
      {"second_tensor", Turn::tensors, add_key},
      {"more_key_heads", Turn::sizes, more_key_heads},
      {"copied", Turn::tensors, add_copied},
      {"ragged_tokens", Turn::sizes, with_tokens<21>},
      {"above_33_tokens", Turn::sizes, with_tokens<34>},
      {"from_64_tokens", Turn::sizes, with_tokens<64>},
      {"from_100_tokens", Turn::sizes, with_tokens<100>},
      {"above_1000_tokens", Turn::sizes, with_tokens<1001>},
      {"two_rows", Turn::sizes, nullptr, with_batch<1>},
      {"above_11_rows", Turn::sizes, with_batch<12>},
      {"above_512_rows", Turn::sizes, with_batch<513>},
      {"above_256_kib", Turn::sizes, with_bytes<40>},
      {"above_4_mib", Turn::sizes, with_bytes<272>},
      {"above_16_mib", Turn::sizes, with_bytes<1040>},
      {"scaled", Turn::features, scaled<3, 2>},
      {"long_scale", Turn::features, scaled<10693, 10000>},
      {"negative_scale", Turn::features, scaled<-2, 1>},
      {"scale_near_one", Turn::features, scaled<2001, 2000>},
      {"edge_data", Turn::features, with_data<DataPattern::edge>},
      {"subnormal_data", Turn::features, with_data<DataPattern::subnormal>},
      {"zero_heads", Turn::last, zero_heads},
      {"others_before", Turn::last, others_before},
      {"at_once", Turn::last, at_once},
      {"mixed_types", Turn::tensors, mixed_types},
      {"copied_type", Turn::tensors, copied_type},
      {"table_type", Turn::features, table_type},
  };
  return list;
}

const std::vector<AcceptedCase>& accepted_cases() {
  static const std::vector<AcceptedCase> list = {
      {"other_windows", Turn::features,
       [](Case& c) {
         c.rotary_dim = 64;
         for (TensorCase& t : c.tensors) {
           t.head_dim = 192;
           t.rotary_offset = 128;
         }
       }},
      {"part_blocks", Turn::sizes, [](Case& c) { c.tokens = 64; }},
      {"other_heads", Turn::tensors, [](Case& c) { c.tensors.resize(2, c.tensors[0]); }},
      {"other_heads", Turn::features,
       [](Case& c) {
         c.tensors[0].heads = 32;
         c.tensors[1].heads = 8;
       }},
      {"other_models", Turn::tensors, [](Case& c) { c.tensors.resize(2, c.tensors[0]); }},
      {"other_models", Turn::features,
       [](Case& c) {
         c.rotary_dim = 128;
         for (TensorCase& t : c.tensors) t.head_dim = 128;
         c.tensors[0].heads = 32;
         c.tensors[1].heads = 8;
       }},
      {"odd_sizes", Turn::tensors, [](Case& c) { c.tensors[0].heads = 4; }},
      {"short_prompts", Turn::sizes,
       [](Case& c) {
         c.batch = 1;
         c.tokens = 128;
       }},
      {"unfused", Turn::tensors, [](Case& c) { c.tensors.resize(3, c.tensors[0]); }},
      {"unfused", Turn::layouts,
       [](Case& c) {
         for (TensorCase& t : c.tensors) t.in_place = true;
         fuse(c);
       }},
      {"packed_positions", Turn::features, [](Case& c) { c.position_dtype = Dtype::i64; }},
      {"packed_positions", Turn::layouts, [](Case& c) { c.position_token_stride = 3; }},
      {"packed_positions", Turn::last, [](Case& c) { c.position_batch_stride = 3 * c.tokens + 1; }},
      {"packed_tables", Turn::features, [](Case& c) { c.rows_by = ROPE_ROW_BY_TOKEN; }},
      {"packed_tables", Turn::layouts, [](Case& c) { c.table_row_stride = c.rotary_dim / 2 + 5; }},
      {"odd_tiles", Turn::tensors, [](Case& c) { c.tensors[0].heads = 4; }},
      {"unscaled", Turn::features, [](Case& c) { c.attention_scale = 1.1386294361119891; }},
      {"token_major", Turn::layouts,
       [](Case& c) {
         for (TensorCase& t : c.tensors) t.in = t.out = head_major_strides(c, t);
       }},
  };
  return list;
}

}  // namespace ropewalk::properties
