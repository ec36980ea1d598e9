#include "kernels/api/kernel.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstring>
#include <numeric>
#include <vector>

namespace ropewalk {

namespace {

constexpr std::int64_t absurd = std::int64_t{1} << 50;

// A problem with one contiguous f32 tensor, without a table.
rope_problem problem_of(std::int64_t batch, std::int64_t tokens, std::int64_t heads,
                        std::int64_t head_dim, std::int64_t rotary_dim) {
  rope_problem p{};
  p.struct_size = sizeof p;
  p.abi_version = ROPE_ABI_VERSION;
  p.angle_source = ROPE_ANGLES_INV_FREQ;
  p.position_dtype = ROPE_I32;
  p.batch = batch, p.tokens = tokens, p.rotary_dim = rotary_dim;
  p.position_batch_stride = tokens, p.position_token_stride = 1;
  p.tensor_count = 1;
  rope_tensor& t = p.tensor[0];
  t.heads = heads, t.head_dim = head_dim;
  t.in_head_stride = t.out_head_stride = head_dim;
  t.in_token_stride = t.out_token_stride = heads * head_dim;
  t.in_batch_stride = t.out_batch_stride = tokens * heads * head_dim;
  t.in_dtype = t.out_dtype = ROPE_F32;
  t.rotate = 1;
  return p;
}

// Batch row, index, position and table row of each.
using Tokens = std::vector<std::array<std::int64_t, 4>>;
Tokens tokens_of(const rope_problem& p, const void* positions) {
  rope_operands o{};
  o.positions = positions;
  Tokens out;
  for_each_token(p, o, [&](const Token& t) {
    out.push_back({t.batch, t.index, t.position, t.table_row});
  });
  return out;
}

std::vector<float> counting(std::size_t size, float from = 0) {
  std::vector<float> out(size);
  std::iota(out.begin(), out.end(), from);
  return out;
}

rope_operands operands(const void* in, void* out, const void* cos = {}, const void* sin = {}) {
  rope_operands o{};
  o.tensor[0] = {in, out, cos, sin};
  return o;
}

// Runs both loops over the first tensors.
template <class Visit>
void walk(const rope_problem& p, const rope_operands& o, Visit&& visit) {
  for_each_token(p, o, [&](const Token& token) { for_each_head<float>(p, o, token, visit); });
}

// The data of one tensor without a table.
struct Buffers {
  std::vector<float> in, out;
  rope_operands o = operands(in.data(), out.data());
};

TEST(ForEachToken, ReadsPositionsOfBothTypesByTheirStrides) {
  constexpr std::int64_t top = 2'147'483'647, bottom = -top - 1;
  const struct {
    std::int64_t batch, tokens, batch_stride, token_stride;
    std::vector<std::int64_t> positions;  // empty: NULL
    std::vector<std::int64_t> read, rows_by_token = {};
  } calls[] = {{2, 3, 3, 1, {5, -1, 7, 0, top, bottom}, {5, -1, 7, 0, top, bottom}},
               {2, 2, 1, 3, {10, 20, -9, 11, 21}, {10, 11, 20, 21}},
               {2, 2, 0, 1, {4, 9}, {4, 9, 4, 9}},
               {2, 2, 0, 0, {4, 9}, {4, 4, 4, 4}},
               // The stride of an axis of size 1 is never used.
               {1, 1, absurd, absurd, {3}, {3}},
               {1, 2, absurd, 1, {3, 8}, {3, 8}},
               {2, 2, 2, 1, {}, {0, 0, 0, 0}, {0, 1, 2, 3}},
               {2, 2, 2, 1, {40, 41, 42, 43}, {40, 41, 42, 43}, {0, 1, 2, 3}}};
  for (const auto& [batch, tokens, batch_stride, token_stride, positions, read, rows] : calls) {
    rope_problem p = problem_of(batch, tokens, 1, 2, 2);
    p.position_batch_stride = batch_stride;
    p.position_token_stride = token_stride;
    p.table_rows_by = rows.empty() ? ROPE_ROW_BY_POSITION : ROPE_ROW_BY_TOKEN;
    Tokens expected;
    for (std::size_t i = 0; i < read.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      expected.push_back({at / tokens, at % tokens, read[i], rows.empty() ? read[i] : rows[i]});
    }
    const std::vector<std::int32_t> narrow(positions.begin(), positions.end());
    EXPECT_EQ(tokens_of(p, narrow.empty() ? nullptr : narrow.data()), expected);
    p.position_dtype = ROPE_I64;
    EXPECT_EQ(tokens_of(p, narrow.empty() ? nullptr : positions.data()), expected);
  }
}

TEST(ForEachHead, FollowsDifferentStridesInAndOut) {
  rope_problem p = problem_of(2, 2, 2, 2, 2);
  rope_tensor& t = p.tensor[0];  // the heads are the outermost axis of the input
  t.in_batch_stride = 4, t.in_token_stride = 2, t.in_head_stride = 8;
  t.out_batch_stride = 100, t.out_token_stride = 50, t.out_head_stride = 10;
  const Buffers b{counting(16), std::vector<float>(200)};
  using Places = std::vector<std::pair<std::int64_t, std::int64_t>>;
  Places places;
  walk(p, b.o, [&](const Head<float>& head) {
    places.emplace_back(head.in - b.in.data(), head.out - b.out.data());
    EXPECT_TRUE(head.cos == nullptr && head.sin == nullptr);
  });
  EXPECT_EQ(places,
            (Places{{0, 0}, {8, 10}, {2, 50}, {10, 60}, {4, 100}, {12, 110}, {6, 150}, {14, 160}}));
}

TEST(ForEachHead, NeverUsesTheStrideOfAnAxisOfSizeOne) {
  rope_problem p = problem_of(1, 1, 1, 2, 2);
  rope_tensor& t = p.tensor[0];
  t.in_batch_stride = t.in_token_stride = t.in_head_stride = absurd;
  t.out_batch_stride = t.out_token_stride = t.out_head_stride = absurd;
  p.angle_source = ROPE_ANGLES_TABLE, p.table_rows = 1, p.table_row_stride = absurd;
  const std::int32_t position[] = {0};
  const float in[2] = {}, cos[1] = {}, sin[1] = {};
  float out[2] = {};
  rope_operands o = operands(in, out, cos, sin);
  o.positions = position;
  int visits = 0;
  walk(p, o, [&](const Head<float>& head) {
    ++visits;
    EXPECT_TRUE(head.in == in && head.out == out);
    EXPECT_TRUE(head.cos == cos && head.sin == sin);
  });
  EXPECT_EQ(visits, 1);
}

TEST(ForEachHead, InputStrideZeroIsABroadcast) {
  rope_problem p = problem_of(1, 2, 2, 2, 2);
  p.tensor[0].in_head_stride = 0;
  p.tensor[0].in_token_stride = 2;
  const Buffers b{counting(4), std::vector<float>(8)};
  std::vector<std::int64_t> places;
  walk(p, b.o, [&](const Head<float>& h) { places.push_back(h.in - b.in.data()); });
  EXPECT_EQ(places, (std::vector<std::int64_t>{0, 0, 2, 2}));
}

// NaN payloads, also signalling ones, and a negative zero.
std::vector<float> odd_bits(std::size_t size) {
  constexpr std::uint32_t patterns[] = {0x7f800001, 0xffc12345, 0x80000000, 0x7f800000, 0x00000001};
  std::vector<float> out(size);
  for (std::size_t i = 0; i < size; ++i)
    std::memcpy(&out[i], &patterns[i % std::size(patterns)], sizeof(float));
  return out;
}
bool same_bits(const float* a, const float* b, std::size_t count) {
  return std::memcmp(a, b, count * sizeof(float)) == 0;
}

TEST(ForEachHead, CopiesAnUnrotatedTensorBitForBit) {
  rope_problem p = problem_of(1, 2, 1, 5, 2);
  p.tensor[0].rotate = 0;
  p.tensor[0].rotary_offset = absurd;  // ignored
  const Buffers b{odd_bits(10), std::vector<float>(10, 1.0f)};
  walk(p, b.o, [&](const Head<float>&) { ADD_FAILURE() << "nothing is rotated"; });
  EXPECT_TRUE(same_bits(b.out.data(), b.in.data(), 10));
}

TEST(ForEachHead, CopiesAroundTheWindowAndLeavesIt) {
  rope_problem p = problem_of(1, 2, 2, 7, 4);
  p.tensor[0].rotary_offset = 2;
  const Buffers b{odd_bits(28), std::vector<float>(28, 1.0f)};
  std::size_t row = 0;
  walk(p, b.o, [&](const Head<float>& head) {
    EXPECT_EQ(head.in, b.in.data() + row * 7 + 2);
    EXPECT_EQ(head.out, b.out.data() + row * 7 + 2);
    ++row;
  });
  EXPECT_EQ(row, 4u);
  for (std::size_t r = 0; r < 4; ++r) {
    EXPECT_TRUE(same_bits(&b.out[r * 7], &b.in[r * 7], 2)) << r;
    EXPECT_TRUE(same_bits(&b.out[r * 7 + 6], &b.in[r * 7 + 6], 1)) << r;
    for (std::size_t e = 2; e < 6; ++e) EXPECT_EQ(b.out[r * 7 + e], 1.0f) << r;
  }
}

TEST(ForEachHead, InPlaceCopiesNothing) {
  rope_problem p = problem_of(1, 1, 2, 6, 2);
  p.tensor[0].rotary_offset = 2;
  p.tensor[0].in_place = 1;
  auto data = odd_bits(12);
  const auto before = data;
  const rope_operands o = operands(data.data(), data.data());
  walk(p, o, [&](const Head<float>& head) { EXPECT_EQ(head.in, head.out); });
  EXPECT_TRUE(same_bits(data.data(), before.data(), data.size()));
}

TEST(ForEachHead, FindsTableRowsByPositionAndByToken) {
  rope_problem p = problem_of(2, 2, 1, 4, 4);
  p.angle_source = ROPE_ANGLES_TABLE, p.table_rows = 8, p.table_row_stride = 3;
  const std::int32_t positions[] = {7, 0, 2, 2};
  const auto cos = counting(24), sin = counting(24, 100), in = counting(16);
  std::vector<float> out(16);
  rope_operands o = operands(in.data(), out.data(), cos.data(), sin.data());
  o.positions = positions;
  const auto rows = [&] {
    std::vector<float> first;
    walk(p, o, [&](const Head<float>& head) {
      first.push_back(head.cos[0]);
      EXPECT_EQ(head.sin[0], head.cos[0] + 100);
      EXPECT_EQ(head.cos[1], head.cos[0] + 1);
    });
    return first;
  };
  EXPECT_EQ(rows(), (std::vector<float>{21, 0, 6, 6}));
  p.table_rows_by = ROPE_ROW_BY_TOKEN;
  EXPECT_EQ(rows(), (std::vector<float>{0, 3, 6, 9}));
  o.positions = nullptr;
  EXPECT_EQ(rows(), (std::vector<float>{0, 3, 6, 9}));
}

TEST(ForEachHead, EachTensorHasItsOwnShapeAndTable) {
  rope_problem p = problem_of(1, 1, 2, 4, 2);
  p.angle_source = ROPE_ANGLES_TABLE, p.table_rows = 1;
  p.tensor_count = 3;
  p.tensor[1] = p.tensor[2] = p.tensor[0];
  p.tensor[1].rotate = 0;
  p.tensor[2].heads = 1, p.tensor[2].head_dim = 2;
  const auto q = counting(8), v = counting(8, 50), k = counting(2, 80);
  const float table[4] = {};
  std::vector<float> q_out(8), v_out(8), k_out(2);
  rope_operands o{};
  o.tensor[0] = {q.data(), q_out.data(), table, table + 1};
  o.tensor[1] = {v.data(), v_out.data(), nullptr, nullptr};
  o.tensor[2] = {k.data(), k_out.data(), table + 2, table + 3};
  std::vector<const float*> ins, tables;
  walk(p, o, [&](const Head<float>& head) {
    ins.push_back(head.in);
    tables.push_back(head.cos);
  });
  EXPECT_EQ(ins, (std::vector<const float*>{q.data(), q.data() + 4, k.data()}));
  EXPECT_EQ(tables, (std::vector<const float*>{table, table, table + 2}));
  EXPECT_EQ(v_out, v);
  EXPECT_EQ(q_out, (std::vector<float>{0, 0, 2, 3, 0, 0, 6, 7}));
}

TEST(PairIndex, IsTheDefinitionOfEachPairing) {
  for (std::int64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(pair_index(ROPE_INTERLEAVED, i, 4).first, 2 * i);
    EXPECT_EQ(pair_index(ROPE_INTERLEAVED, i, 4).second, 2 * i + 1);
    EXPECT_EQ(pair_index(ROPE_HALF_SPLIT, i, 4).first, i);
    EXPECT_EQ(pair_index(ROPE_HALF_SPLIT, i, 4).second, i + 4);
  }
}

TEST(ScaleOf, ZeroMeansOne) {
  rope_problem p{};
  EXPECT_EQ(scale_of(p), 1.0);
  p.attention_scale = -0.5;
  EXPECT_EQ(scale_of(p), -0.5);
}

TEST(Refusals, EachIsAboutOneThing) {
  const rope_problem packed = problem_of(2, 3, 4, 8, 8);
  const auto first = [](const rope_problem& p) -> std::string {
    const char* why = "accepted";
    refuse_if(&why, {only_packed(p), only_packed_positions(p), only_whole_heads(p), only_scale_1(p),
                     only_forward(p), only_pairing(p, ROPE_INTERLEAVED), only_rows_by_position(p)});
    return why;
  };
  EXPECT_EQ(first(packed), "accepted");
  const auto changed = [&](auto&& change) {
    rope_problem p = packed;
    p.tensor[p.tensor_count++] = packed.tensor[0];
    change(p, p.tensor[1]);
    return first(p);
  };
  for (const auto stride : {&rope_tensor::in_batch_stride, &rope_tensor::out_batch_stride,
                            &rope_tensor::in_token_stride, &rope_tensor::out_token_stride,
                            &rope_tensor::in_head_stride, &rope_tensor::out_head_stride})
    EXPECT_EQ(changed([&](auto&, auto& t) { ++(t.*stride); }), "only packed tensors");
  EXPECT_EQ(changed([](auto& p, auto&) { p.position_batch_stride = 0; }), "only packed positions");
  EXPECT_EQ(changed([](auto& p, auto&) { p.position_token_stride = 2; }), "only packed positions");
  const std::string whole = "only heads that are rotated as a whole";
  EXPECT_EQ(changed([](auto&, auto& t) { t.rotate = 0; }), whole);
  EXPECT_EQ(changed([](auto& p, auto&) { p.rotary_dim = 6; }), whole);
  EXPECT_EQ(changed([](auto& p, auto&) { p.attention_scale = 2; }), "attention_scale must be 1");
  EXPECT_EQ(changed([](auto& p, auto&) { p.operation = ROPE_TRANSPOSE; }), "only forward");
  EXPECT_EQ(changed([](auto& p, auto&) { p.pairing = 1; }), "only the other pairing");
  EXPECT_EQ(changed([](auto& p, auto&) { p.table_rows_by = 1; }), "only table rows by position");
  EXPECT_EQ(refuse_if(nullptr, {nullptr, "no"}), ROPE_UNSUPPORTED);
}

TEST(Refusals, TheStrideOfAnAxisOfSizeOneMeansNothing) {
  rope_problem p = problem_of(1, 1, 1, 8, 8);
  rope_tensor& t = p.tensor[0];
  t.in_batch_stride = t.out_token_stride = t.in_head_stride = absurd;
  p.position_batch_stride = p.position_token_stride = absurd;
  EXPECT_EQ(refuse_if(nullptr, {only_packed(p), only_packed_positions(p)}), ROPE_OK);
}

}  // namespace

ROPEWALK_PLUGIN();

TEST(RopewalkPlugin, ExportsTheRegisteredKernels) {
  const rope_kernel_list* list = rope_kernels_v1();
  ASSERT_NE(list, nullptr);
  EXPECT_EQ(list->struct_size, sizeof(rope_kernel_list));
  EXPECT_EQ(list->abi_version, ROPE_ABI_VERSION);
  EXPECT_EQ(list->count, registered_kernels().size());
}

}  // namespace ropewalk
