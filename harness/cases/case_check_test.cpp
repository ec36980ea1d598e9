// A case that cannot be laid out is refused with one line that says what is wrong. A replay line
// has no other result.
#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <string>

#include "base/testing/refusal.h"
#include "harness/cases/case.h"
#include "harness/cases/problem.h"

namespace ropewalk::harness {
namespace {

std::string validation(const std::string& line) {
  return refusal_by<BadCase>([&] { validate(case_from_text(line)); });
}

std::string layout(const std::string& line) {
  Oracle oracle;
  return refusal_by<BadCase>([&] { make_problem(case_from_text(line), oracle); });
}

struct Bad {
  std::string line;
  const char* message;
};

void refuses(std::string (*check)(const std::string&), std::initializer_list<Bad> list) {
  for (const Bad& bad : list) {
    const std::string message = check(bad.line);
    EXPECT_NE(message.find(bad.message), std::string::npos)
        << bad.line << " -> '" << message << "'";
    EXPECT_EQ(message.find('\n'), std::string::npos) << bad.line;
  }
}

TEST(CaseCheck, GoodCasesPass) {
  for (const char* line : {"",
                           "positions=from:0:0",
                           "batch=3 tokens=2 positions=0,1,2,3,4,5",
                           "contract=exact positions=from:-2147483648:1",
                           "contract=exact tokens=2 positions=2147483646,2147483647",
                           "rows_by=token positions=-5 positions_null=1",
                           "batch=2 tokens=2 positions=1,2,1,2 position_batch_stride=0",
                           "batch=2 tokens=2 positions=random:0:9 position_batch_stride=0",
                           "inv_freq=0x1.921fb54442d18p+2",
                           "q.rotate=0 q.head_dim=1",
                           "q.head_dim=5 q.offset=3",
                           "dtype=f64 contract=exact",
                           "dtype=f16",
                           "q.dtype=f16 k.dtype=f64 t2.dtype=bf16",
                           "fused=1 k.heads=1 k.dtype=f32 k.out_at=2",
                           "fused=1 q.dtype=bf16 k.dtype=bf16 k.out_at=2",
                           "table_dtype=f16",
                           "dtype=f64 table_dtype=bf16",
                           "contract=f32_angle k.dtype=f16",
                           "dtype=bf16 contract=f32_angle",
                           "slots=7,7",  // of no account without append
                           "attention_scale=-0.5"}) {
    EXPECT_EQ(validation(line), "") << line;
    EXPECT_EQ(layout(line), "") << line;
  }
}

TEST(CaseCheck, SizesAndWords) {
  refuses(
      validation,
      {{"rotary_dim=3 q.head_dim=8", "rotary_dim must be even, got 3"},
       {"rotary_dim=0", "rotary_dim must be 2 to 65536, got 0"},
       {"rotary_dim=-2", "rotary_dim must be 2 to 65536, got -2"},
       {"rotary_dim=8 q.head_dim=6", "q: the window [0, +8) is not inside head_dim 6"},
       {"rotary_dim=4 q.head_dim=6 q.offset=3", "q: the window [3, +4) is not inside"},
       {"q.head_dim=6 q.offset=-1", "q: the window [-1, +2)"},
       {"q.head_dim=6 q.offset=9223372036854775807", "q: the window"},
       {"k.head_dim=1", "k: the window [0, +2) is not inside head_dim 1"},
       {"tokens=0", "tokens must be at least 1, got 0"},
       {"batch=-1", "batch must be at least 1, got -1"},
       {"q.heads=0", "q.heads must be at least 1, got 0"},
       {"t2.head_dim=0 q.heads=1", "t2.head_dim must be at least 1, got 0"},
       {"dtype=i32", "dtype=i32 is not one of f64, f32, f16, bf16"},
       {"dtype=i64", "dtype=i64 is not one of f64, f32, f16, bf16"},
       {"k.dtype=i64", "k.dtype=i64 is not one of f64, f32, f16, bf16"},
       {"table_dtype=i32", "table_dtype=i32 is not one of f64, f32, f16, bf16"},
       {"contract=f32_angle k.dtype=f64", "the f32_angle contract is not for f64 data"},
       {"fused=1 k.dtype=f16 k.out_at=2", "fused tensors must have one dtype"},
       {"position_dtype=f32", "position_dtype=f32 is not one of i32, i64"},
       {"contract=f32_angle dtype=f64", "the f32_angle contract is not for f64 data"},
       {"attention_scale=inf", "attention_scale must be finite"},
       {"attention_scale=nan", "attention_scale must be finite"},
       {"rope_theta=0.5", "rope_theta must be finite and at least 1"},
       {"rope_theta=nan", "rope_theta must be finite and at least 1"},
       {"rope_theta=inf", "rope_theta must be finite and at least 1, got inf"},
       {"rotary_dim=4 q.head_dim=4 inv_freq=1", "inv_freq needs rotary_dim / 2 = 2 values, got 1"},
       {"scaling=spiral", "scaling 'spiral' is unknown"},
       {"scaling=llama3 scaling_values=8", "scaling llama3 needs 4 scaling_values, got 1"},
       {"scaling=llama3 scaling_values=8,4,1,8192",
        "low_freq_factor is 4; it must be 1e-9 to 1e9 and at most high_freq_factor"},
       {"inv_freq=-1", "inv_freq must be 0 to 6.283185307179586, got -1"},
       {"inv_freq=nan", "inv_freq must be 0 to 6.283185307179586, got nan"},
       {"inv_freq=6.3", "inv_freq must be 0 to 6.283185307179586, got 6.3"},
       {"inv_freq=0x1.921fb54442d19p+2",
        "inv_freq must be 0 to 6.283185307179586, got 6.283185307179587"},
       {"q.values=1,2,3", "q.values needs 2 values, got 3"},
       {"q.in=-2,0,0", "q.in must be at least -1, got -2"},
       {"k.out=0,0,-9", "k.out must be at least -1, got -9"},
       {"q.in_at=-1", "q.in_at must be at least 0, got -1"},
       {"q.in_place=1 q.in=4,4,4 q.out=8,8,8", "q: in place needs equal strides"},
       {"q.in_place=1 q.out_at=1", "q: in place needs equal strides and offsets"},
       {"q.in_place=1 k.heads=1 fused=1", "in place all or none"},
       {"one_buffer=1 k.in_place=1", "k: one_buffer and in_place exclude each other"},
       {"own_tables=1 own_sin=1", "exclude each other"},
       {"callers=0", "callers must be 1 to 4"},
       {"callers=5", "callers must be 1 to 4"},
       {"table_apart_pair=1",
        "table_apart_pair must be -1, -2, or a pair below rotary_dim / 2 = 1"},
       {"apply=0", "apply=0 is for a call of a sequence"},
       {"outputs_kept=1 calls=2", "no call is before the first"},
       {"calls=2 call.2.caller_states=two", "callers, before and fresh are those"}});
}

TEST(CaseCheck, Positions) {
  refuses(
      validation,
      {{"positions=-1", "position -1 is negative: a table by position has no such row"},
       {"positions=2147483648 contract=exact", "position 2147483648 is outside [-2^31, 2^31)"},
       {"positions=from:-2147483649:1 contract=exact", "is outside [-2^31, 2^31)"},
       {"tokens=3 positions=from:2147483646:1 contract=exact", "position 2147483648 is outside"},
       {"positions=from:9223372036854775807:1", "positions are outside [-2^31, 2^31)"},
       {"positions=random:-9223372036854775808:9223372036854775807", "positions are outside"},
       {"positions=random:5:4", "positions=random:A:B needs A <= B"},
       {"tokens=3 positions=1,2", "positions needs batch * tokens = 3 values, got 2"},
       {"positions=", "positions needs batch * tokens = 1 values, got 0"},
       {"positions_null=1", "positions_null is for tables by token"},
       {"positions_null=1 rows_by=token contract=exact", "positions_null is for tables by token"},
       {"batch=2 positions=1,2 position_batch_stride=0", "needs equal positions along that axis"},
       {"tokens=2 positions=1,2 position_token_stride=0",
        "needs equal positions along that axis"}});
}

TEST(CaseCheck, Axes) {
  const std::string three = "axes=3 rotary_dim=6 axis_of_pair=0,1,2 q.head_dim=6 ";
  refuses(
      layout,
      {{three + "axis_positions=apart position_axis_stride=0",
        "needs equal positions along that axis"},
       {three + "table_axis_stride=6", "table_axis_stride is for tables by token, of several axes"},
       {three + "positions=1,2", "positions needs axes * batch * tokens = 3 values, got 2"},
       {three + "rows_by=token tokens=2 table_axis_stride=2",
        "the table strides put rows of two axes in the same place"}});
  refuses(validation,
          {{"axes=2 axis_of_pair=2", "axis_of_pair has axis 2, but there are 2"},
           {"axes=5 axis_of_pair=0", "axes must be 1 to 4, got 5"},
           {"axes=2 axis_of_pair=0,1", "axis_of_pair needs rotary_dim / 2 = 1 axes, got 2"}});
}

TEST(CaseCheck, SlotsAndNorms) {
  refuses(layout,
          {{"q.append=1 tokens=2 positions=0,1 slots=3,3", "slot 3 is given to two tokens"},
           {"q.append=1 slots=16 pages=1", "slot 16 is outside the cache, which has 16 slots"},
           {"q.append=1 slots=-2", "slot -2 is outside"},
           {"q.append=1 slots=1,2", "slots needs batch * tokens = 1 slots, got 2"},
           {"q.append=1 page_size=0", "page_size must be 1 to 1048576, got 0"},
           {"q.append=1 pages=16777216 page_size=16 slot_rule=scattered", "at most 2^24 slots"},
           {"q.append=1 tokens=40 pages=2", "pages=2 are too few for slot_rule=in_order"},
           {"q.append=1 page_size=1 slots=9223372036854775807", "at most 2^24 slots"},
           {"q.append=1 q.heads=2 q.cache=64,2,2", "q: elements of the caches overlap"},
           {"q.append=1 k.append=1 one_cache=1 k.cache_at=1", "k: elements of the caches overlap"},
           {"q.append=1 slot_dtype=f32", "slot_dtype=f32 is not one of i32, i64"},
           {"q.append=1 op=transpose", "append needs op=forward"},
           {"q.append=1 one_buffer=1", "append and one_buffer exclude each other"},
           {"q.norm=1 op=transpose", "a norm needs op=forward"},
           {"q.norm=1 epsilon=0", "epsilon must be 8.673617379884035e-19 to 1, got 0"},
           {"q.norm=1 epsilon=-1", "epsilon must be 8.673617379884035e-19 to 1, got -1"},
           {"q.norm=1 epsilon=nan", "epsilon must be 8.673617379884035e-19 to 1, got nan"},
           {"q.norm=1 weight_dtype=f64", "weight_dtype must not be wider"}});
}

TEST(CaseCheck, SizesThatOverflowOrAreTooLarge) {
  refuses(
      validation,
      {{"batch=4611686018427387904 tokens=4 positions=0", "overflow 64 bits"},
       {"q.heads=9223372036854775807 q.head_dim=2", "overflow 64 bits"},
       {"batch=4294967296 q.heads=4294967296", "overflow 64 bits"},
       {"batch=1099511627776", "larger than 2 GiB"},
       {"tokens=134217729 q.head_dim=2", "larger than 2 GiB"},
       {"q.head_dim=268435457 q.rotate=0", "larger than 2 GiB"},
       {"q.head_dim=134217729 q.rotate=0 k.head_dim=134217729 k.rotate=0", "larger than 2 GiB"},
       {"rotary_dim=4611686018427387904 q.rotate=0",
        "rotary_dim must be 2 to 65536, got 4611686018427387904"},
       {"position_token_stride=-7 tokens=2", "position_token_stride must be at least -1, got -7"},
       {"position_batch_stride=-2 batch=2", "position_batch_stride must be at least -1, got -2"},
       {"position_shift=4294967296",
        "position_shift must be -4294967295 to 4294967295, got 4294967296"},
       {"position_shift=-9223372036854775808",
        "position_shift must be -4294967295 to 4294967295, got -9223372036854775808"}});
  refuses(layout,
          {{"batch=2 q.out=9223372036854775807,0,0", "overflow 64 bits"},
           {"batch=2 q.in=4000000000,0,0", "larger than 2 GiB"},
           {"q.in_at=9223372036854775807", "overflow 64 bits"},
           {"q.out_at=1073741824", "larger than 2 GiB"},
           {"table_spare_rows=9223372036854775807", "overflow 64 bits"},
           {"table_spare_rows=-1", "table_spare_rows must be at least 0, got -1"},
           {"positions=2147483647", "larger than 2 GiB"},
           {"table_spare_rows=9 table_row_stride=9223372036854775807", "overflow 64 bits"},
           {"rows_by=token table_row_stride=-3", "table_row_stride must be at least -1, got -3"},
           {"tokens=2 table_row_stride=0", "table_row_stride must be at least rotary_dim / 2"},
           {"tokens=2 position_token_stride=9223372036854775807", "overflow 64 bits"},
           {"tokens=2 position_token_stride=4000000000", "larger than 2 GiB"}});
}

TEST(CaseCheck, Overlaps) {
  refuses(layout, {{"tokens=2 q.out=0,0,0", "q: output elements overlap"},
                   {"tokens=2 q.out=2,1,2", "q: output elements overlap"},
                   {"q.heads=2 q.out=4,4,1", "q: output elements overlap"},
                   {"q.heads=2 q.in_place=1 q.in=4,4,1 q.out=4,4,1", "q: output elements overlap"},
                   {"fused=1 k.heads=1", "k: output elements overlap"},
                   {"fused=1 q.heads=1 k.heads=1 k.out_at=1", "k: output elements overlap"},
                   {"one_buffer=1", "q: an input element is an output element"},
                   {"tokens=2 one_buffer=1 q.out_at=2", "q: an input element is an output element"},
                   {"fused=1 one_buffer=1 q.out_at=2 k.heads=1 k.in_at=3 k.out_at=5",
                    "k: an input element is an output element"},
                   {"batch=2 tokens=2 positions=0,1,2,3 position_batch_stride=1",
                    "two different positions in the same place"}});
  // Interleaved but disjoint rows, broadcast inputs and shared positions are fine.
  for (const char* line :
       {"fused=1 k.heads=1 k.out_at=2", "tokens=2 q.heads=2 q.out=9,2,4", "tokens=2 q.in=0,0,0",
        "tokens=2 one_buffer=1 q.in=8,4,2 q.out=8,4,2 q.out_at=2",
        "batch=2 tokens=2 positions=0,1,1,2 position_batch_stride=1"})
    EXPECT_EQ(layout(line), "") << line;
}

// Small numbers in every field: each case is laid out, or refused with BadCase.
TEST(CaseCheck, WhateverIsReadIsLaidOutOrRefused) {
  const char* const words[] = {"batch",     "tokens",     "rotary_dim",     "position_batch_stride",
                               "fused",     "own_tables", "positions_null", "position_token_stride",
                               "q.heads",   "q.head_dim", "q.offset",       "table_spare_rows",
                               "q.in_at",   "q.out_at",   "q.in_place",     "table_row_stride",
                               "k.heads",   "k.head_dim", "k.offset",       "k.rotate",
                               "one_buffer"};
  std::mt19937_64 random(11);
  Oracle oracle;
  int laid_out = 0;
  for (int n = 0; n < 20'000; ++n) {
    std::string line = random() % 2 == 0 ? "contract=exact" : "rows_by=token";
    for (const char* word : words)
      if (random() % 4 == 0)
        line += " " + std::string(word) + "=" + std::to_string(static_cast<int>(random() % 9) - 2);
    if (random() % 2 == 0) line += " positions=random:0:3";
    try {
      make_problem(case_from_text(line), oracle);
      ++laid_out;
    } catch (const BadCase&) {
    } catch (const std::exception& error) {
      FAIL() << line << ": " << error.what();
    }
  }
  EXPECT_GT(laid_out, 500);
}

}  // namespace
}  // namespace ropewalk::harness
