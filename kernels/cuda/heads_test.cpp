#include "kernels/cuda/heads.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernels/cuda/host_entries.h"

namespace ropewalk::cuda {
namespace {

// The contract's own walk, in f64.
void loop(const rope_problem& p, const rope_operands& o) {
  for_each_token(p, o, [&](const Token& token) {
    for_each_head<double>(p, o, token, [&](const Head<double>& h) {
      for (std::int64_t i = 0; i < p.rotary_dim / 2; ++i) {
        const auto [first, second] = pair_index(p.pairing, i, p.rotary_dim / 2);
        const double x1 = h.in[first], x2 = h.in[second];
        h.out[first] = x1 * h.cos[i] - x2 * h.sin[i];
        h.out[second] = x2 * h.cos[i] + x1 * h.sin[i];
      }
    });
  });
}

struct HeadShape {
  std::int32_t pairing;
  std::int64_t dim, rotary, offset;
};

// Memory of Q, K and V, 8 rows each. Q and K are normalized, V is not rotated. `append` puts K and
// V into pages of 2 slots, in place of rows in the order of tokens. `shift` misaligns all.
template <class Data>
std::vector<double> rows_of(const HeadShape& s, bool append, std::int64_t shift) {
  constexpr std::int64_t positions[] = {4, 1, 7, 0}, slots[] = {6, -1, 0, 3}, heads = 3;
  const std::int64_t row = heads * s.dim, all = 8 * row, half = s.rotary / 2;
  const auto value = [](std::int64_t i) { return static_cast<float>(i * 37 % 101 - 50) / 32; };
  std::vector<Data> x, y(static_cast<std::size_t>(3 * all + 1), Data(7.0F));
  std::vector<TableOf<Data>> cos, sin;
  for (std::int64_t i = -shift; i < 3 * all; ++i) x.push_back(Data(value(i)));
  for (std::int64_t i = 0; i < 8 * half; ++i) cos.push_back(value(i)), sin.push_back(value(i + 3));
  const auto type = dtype_of<Data>;
  rope_append cache{{ROPE_EXT_APPEND, sizeof cache, nullptr}, 6, ROPE_I64, 4, 2, {}, {}, {}};
  rope_append_operands into{{ROPE_EXT_APPEND, sizeof into, nullptr}, slots, {}};
  const rope_norm norm{{ROPE_EXT_NORM, 0, append ? &cache.ext : nullptr}, 0.5, 3, type, 1, 0};
  const rope_norm_operands w{{ROPE_EXT_NORM, 0, append ? &into.ext : nullptr},
                             {&x[static_cast<std::size_t>(8 + shift)]}};
  rope_problem p{};
  p.batch = 1, p.tokens = 4, p.tensor_count = 3, p.pairing = s.pairing, p.next = &norm.ext;
  p.rotary_dim = s.rotary, p.table_rows = 8, p.table_row_stride = half;
  p.position_dtype = ROPE_I64, p.position_token_stride = 1;
  rope_operands o{sizeof o, 0, positions, {}, nullptr, nullptr, &w.ext};
  for (std::int64_t i = 0; i < 3; ++i) {
    Data* const out = &y[static_cast<std::size_t>(i * all + shift)];
    const bool cached = append && i > 0;
    p.tensor[i] = {heads, s.dim, s.offset, 0, row, s.dim, 0, row, s.dim, type, type, i < 2, 0, {}};
    o.tensor[i] = {&x[static_cast<std::size_t>(i * all + shift)], cached ? nullptr : out,
                   cos.data(), sin.data()};
    cache.page_stride[i] = 2 * row, cache.slot_stride[i] = row, cache.head_stride[i] = s.dim;
    if (cached) into.cache[i] = out;
  }
  if constexpr (sizeof(Data) == 8)
    loop(p, o);
  else
    EXPECT_EQ((apply_on_host<CudaBodies, table_options>(&p, &o, nullptr)), ROPE_OK);
  return {y.begin() + shift, y.end() - 1 + shift};
}

template <class Data>
void check(const HeadShape& s) {
  for (const bool append : {false, true}) {
    const std::vector<double> rows = rows_of<Data>(s, append, 0),
                              right = rows_of<double>(s, append, 0);
    EXPECT_EQ(rows, rows_of<Data>(s, append, 1));
    for (std::size_t i = 0; i < rows.size(); ++i)
      ASSERT_NEAR(rows[i], right[i], sizeof(Data) == 4 ? 0x1p-19 : 0x1p-5) << i;
  }
}

TEST(Heads, NormAndAppendGiveWhatALoopGivesAtAnyAlignment) {
  for (const std::int32_t pairing : {ROPE_HALF_SPLIT, ROPE_INTERLEAVED})
    for (const HeadShape s : {HeadShape{pairing, 64, 64, 0},
                              {pairing, 32, 16, 16},
                              {pairing, 23, 14, 3},
                              {pairing, 600, 512, 64}})
      check<float>(s), check<F16>(s), check<Bf16>(s);
}

}  // namespace
}  // namespace ropewalk::cuda
