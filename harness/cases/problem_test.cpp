// The content of every buffer of a laid-out case, and which elements a kernel may write.
#include "harness/cases/problem.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <set>
#include <tuple>

#include "harness/cases/data.h"
#include "harness/cases/layouts.h"
#include "harness/cases/poison.h"
#include "harness/judge/executor.h"

namespace ropewalk::harness {
namespace {

Problem laid_out(const Case& c) {
  Oracle oracle;
  return make_problem(c, oracle);
}
Problem laid_out(const std::string& line) {
  return laid_out(case_from_text(line));
}

const Buffer& buffer(const Problem& p, std::string_view name) {
  const auto found = std::ranges::find(p.buffers, name, &Buffer::name);
  if (found == p.buffers.end()) throw std::runtime_error("no buffer " + std::string(name));
  return *found;
}
// The buffer of an operand.
const Buffer& buffer(const Problem& p, Operand operand, std::uint32_t tensor = 0) {
  return p.buffers[static_cast<std::size_t>(p.buffer(operand, tensor))];
}

std::vector<std::string> names(const Problem& p) {
  std::vector<std::string> out;
  for (const Buffer& b : p.buffers) out.push_back(b.name);
  return out;
}

std::int64_t owned_elements(const Buffer& b) {
  return std::accumulate(b.owned.begin(), b.owned.end(), std::int64_t{0});
}

bool poisoned(const Buffer& b, std::int64_t index) {
  const Poison which = b.writable ? Poison::a : Poison::read_only;
  return is_poison(b.content.data() + index * b.element_bytes(), b.dtype, which);
}

double f32(const Buffer& b, std::int64_t index) {
  return load(b.content, Dtype::f32, index);
}

TEST(Problem, ContiguousTensorIsFilledFromTheSeed) {
  const Problem p = laid_out(
      "batch=2 tokens=3 rotary_dim=4 seed=0x5 q.heads=2 q.head_dim=4 k.heads=1 k.head_dim=4");
  EXPECT_EQ(names(p), (std::vector<std::string>{"q.in", "q.out", "k.in", "k.out", "positions",
                                                "cos", "sin"}));
  const Buffer& q = buffer(p, "q.in");
  ASSERT_EQ(q.content.size(), 2u * 3 * 2 * 4 * 4);
  EXPECT_FALSE(q.writable);
  const rope_tensor& t = p.asked.tensor[0];
  EXPECT_EQ(std::tie(t.in_head_stride, t.in_token_stride, t.in_batch_stride), std::tuple(4, 8, 24));
  EXPECT_EQ(f32(q, 1 * 24 + 2 * 8 + 1 * 4 + 3), unit_value(hash(5, 0, 1, 2, 1, 3), 24));
  EXPECT_EQ(f32(buffer(p, "k.in"), 1 * 12 + 0 * 4 + 2), unit_value(hash(5, 1, 1, 0, 0, 2), 24));

  const Buffer& out = buffer(p, "q.out");
  EXPECT_TRUE(out.writable && !out.holds_input);
  EXPECT_EQ(owned_elements(out), 48);
  for (std::int64_t i = 0; i < 48; ++i) EXPECT_TRUE(poisoned(out, i));
}

TEST(Problem, DoublesUseAllTheirBits) {
  const Problem p = laid_out("dtype=f64 contract=exact seed=0x9");
  EXPECT_EQ(load(buffer(p, "q.in").content, Dtype::f64, 1), unit_value(hash(9, 0, 0, 0, 0, 1), 53));
  EXPECT_EQ(buffer(p, "q.in").element_bytes(), 8);
  EXPECT_EQ(names(p), (std::vector<std::string>{"q.in", "q.out", "positions"}));
}

TEST(Problem, EachTensorAndTheTableHaveTheirOwnType) {
  const Problem p = laid_out(
      "seed=0x9 tokens=2 rotary_dim=4 table_dtype=f16 q.head_dim=4 k.head_dim=6 k.dtype=f64 "
      "t2.head_dim=4 t2.dtype=bf16 t2.in_place=1");
  const Dtype types[] = {Dtype::f32, Dtype::f64, Dtype::bf16};
  const char* inputs[] = {"q.in", "k.in", "t2.in_out"};
  for (std::uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(p.asked.tensor[i].in_dtype, in_contract(types[i]));
    const Buffer& in = buffer(p, inputs[i]);
    EXPECT_EQ(in.dtype, types[i]);
    const std::int64_t heads = p.asked.tensor[i].head_dim;
    EXPECT_EQ(std::ssize(in.content), 2 * heads * data_type(types[i]).bytes);
    const int mantissa = data_type(types[i]).format.mantissa;
    EXPECT_EQ(load(in.content, types[i], heads + 1), unit_value(hash(9, i, 0, 1, 0, 1), mantissa));
  }
  EXPECT_EQ(owned_elements(buffer(p, "k.out")), 12);
  EXPECT_TRUE(poisoned(buffer(p, "k.out"), 11));
  const Buffer& cos = buffer(p, "cos");
  EXPECT_EQ(cos.dtype, Dtype::f16);
  EXPECT_EQ(load(cos.content, Dtype::f16, 2), double{F16(static_cast<float>(std::cos(1.0)))});
}

TEST(Problem, PaddedRowsOwnNoGaps) {
  const Problem p =
      laid_out("batch=2 tokens=2 q.heads=2 q.in=29,13,5 q.out=29,13,5 q.in_at=1 q.out_at=2");
  const Buffer& in = buffer(p, "q.in");
  const Buffer& out = buffer(p, "q.out");
  EXPECT_EQ(padded_strides(p.source, p.source.tensors[0], 3), (Strides{29, 13, 5}));
  EXPECT_EQ(in.owned.size(), 0u);
  EXPECT_EQ(owned_elements(out), 16);
  for (std::int64_t b = 0; b < 2; ++b)
    for (std::int64_t n = 0; n < 2; ++n)
      for (std::int64_t h = 0; h < 2; ++h) {
        const std::int64_t row = b * 29 + n * 13 + h * 5;
        EXPECT_EQ(f32(in, 1 + row + 1), unit_value(hash(1, 0, b, n, h, 1), 24));
        const auto owned = out.owned.begin() + 2 + row;
        EXPECT_TRUE(owned[0] == 1 && owned[1] == 1) << row;
        // A gap after every row but the last.
        EXPECT_TRUE(b + n + h == 3 || (owned[2] == 0 && poisoned(in, 1 + row + 2))) << row;
      }
  EXPECT_TRUE(poisoned(in, 0));
  EXPECT_EQ(out.owned[0] + out.owned[1], 0);
  EXPECT_EQ(in.content.size(), 4u * (1 + 29 + 13 + 5 + 2)) << "ends with the last row";
}

TEST(Problem, FusedTensorsShareABufferEachWayOrInPlaceOne) {
  for (const bool in_place : {false, true}) {
    Case c;
    c.tokens = 2;
    c.tensors.resize(3);
    c.tensors[0].heads = 2;
    for (TensorCase& t : c.tensors) t.in_place = in_place;
    fuse(c);
    const Problem p = laid_out(c);
    std::vector<std::string> all{"in", "out", "positions", "cos", "sin"};
    if (in_place) all = {"in_out", "positions", "cos", "sin"};
    EXPECT_EQ(names(p), all);
    const Buffer& in = buffer(p, all[0]);
    EXPECT_EQ(in.holds_input, in_place);
    EXPECT_EQ(in.content.size(), 2u * 8 * 4);
    EXPECT_EQ(owned_elements(buffer(p, in_place ? "in_out" : "out")), 16);
    EXPECT_EQ(f32(in, 8 + 6 + 1), unit_value(hash(1, 2, 0, 1, 0, 1), 24)) << "t2, token 1";
    for (std::uint32_t i = 0; i < 3; ++i) {
      EXPECT_EQ(p.buffer(Operand::in, i), 0);
      EXPECT_EQ(p.output(i).buffer, in_place ? 0 : 1);
    }
  }
}

TEST(Problem, InPlaceBufferHoldsTheInputAndIsOwned) {
  const Problem p = laid_out("tokens=2 q.in_place=1 q.in=9,5,9 q.out=9,5,9");
  EXPECT_EQ(names(p)[0], "q.in_out");
  const Buffer& b = buffer(p, "q.in_out");
  EXPECT_TRUE(b.writable && b.holds_input);
  EXPECT_EQ(p.buffer(Operand::in), p.output(0).buffer);
  EXPECT_EQ(b.owned, (std::vector<std::uint8_t>{1, 1, 0, 0, 0, 1, 1}));
  EXPECT_EQ(f32(b, 5), unit_value(hash(1, 0, 0, 1, 0, 0), 24));
  EXPECT_TRUE(poisoned(b, 2));
  EXPECT_EQ(p.asked.tensor[0].in_place, 1);
}

TEST(Problem, DimsOutsideTheWindowHoldAnyBits) {
  const Problem p = laid_out("rotary_dim=2 q.head_dim=64 q.offset=3");
  const Buffer& in = buffer(p, "q.in");
  int not_finite = 0;
  for (std::int64_t e = 0; e < 64; ++e) {
    if (e == 3 || e == 4)
      EXPECT_EQ(f32(in, e), unit_value(hash(1, 0, 0, 0, 0, e - 3), 24));
    else
      not_finite += std::isfinite(f32(in, e)) ? 0 : 1;
  }
  EXPECT_GE(not_finite, 12) << "NaN payloads and infinities are among them";
  EXPECT_EQ(p.asked.tensor[0].rotary_offset, 3);
}

TEST(Problem, UnrotatedTensorIsGivenAnAbsurdWindow) {
  const Problem p = laid_out("q.heads=1 k.rotate=0 k.head_dim=2");
  EXPECT_EQ(p.asked.tensor[1].rotate, 0);
  EXPECT_GT(p.asked.tensor[1].rotary_offset, 2);
}

TEST(Problem, ExplicitValuesAreStoredInOrder) {
  const Problem p = laid_out("tokens=2 q.in=9,3,9 q.values=1,-0x1p-3,inf,nan");
  const Buffer& in = buffer(p, "q.in");
  EXPECT_EQ(std::tuple(f32(in, 0), f32(in, 1), f32(in, 3)), std::tuple(1, -0.125, INFINITY));
  EXPECT_TRUE(std::isnan(f32(in, 4)));
  EXPECT_TRUE(poisoned(in, 2));
}

TEST(Problem, OwnSinTurnsTheOtherTensorsBack) {
  const Problem p = laid_out("q.heads=1 k.heads=1 positions=5 own_sin=1");
  EXPECT_EQ(p.buffer(Operand::cos, 1), p.buffer(Operand::cos));
  ASSERT_NE(p.buffer(Operand::sin, 1), p.buffer(Operand::sin));
  const double q = f32(buffer(p, Operand::sin), 5), k = f32(buffer(p, Operand::sin, 1), 5);
  EXPECT_EQ(k, -q);
  EXPECT_NE(q, 0);
}

TEST(Problem, PositionsFollowTypeAndStrides) {
  const Problem p = laid_out(
      "batch=2 tokens=2 positions=5,6,7,8 position_batch_stride=7 position_token_stride=3");
  const Buffer& b = buffer(p, "positions");
  ASSERT_EQ(b.content.size(), 4u * 11);
  for (const auto& [at, position] : {std::pair{0, 5}, {3, 6}, {7, 7}, {10, 8}})
    EXPECT_EQ(load_as<std::int32_t>(b.content, at), position) << at;
  EXPECT_TRUE(poisoned(b, 1));
  EXPECT_EQ(std::tuple(p.asked.min_position, p.asked.max_position), std::tuple(5, 8));

  const Problem wide = laid_out("contract=exact position_dtype=i64 positions=-2147483648");
  EXPECT_EQ(load_as<std::int64_t>(buffer(wide, "positions").content, 0), -2147483648);

  const Problem shared = laid_out("batch=2 tokens=2 positions=5,6,5,6 position_batch_stride=0");
  EXPECT_EQ(buffer(shared, "positions").content.size(), 8u);

  const Problem unused = laid_out("positions=3 position_batch_stride=99 position_token_stride=99");
  EXPECT_EQ(buffer(unused, "positions").content.size(), 4u) << "axes of size 1";
}

TEST(Problem, PositionsCanBeNull) {
  const Problem p = laid_out("rows_by=token positions_null=1 positions=-5");
  EXPECT_EQ(p.buffer(Operand::positions), -1);
  EXPECT_EQ(names(p), (std::vector<std::string>{"q.in", "q.out", "cos", "sin"}));
}

TEST(Problem, TableHoldsRoundedAnglesAndPoisonElsewhere) {
  const Problem p = laid_out(
      "tokens=2 positions=1,3 rotary_dim=4 q.head_dim=4 table_spare_rows=2 table_row_stride=5");
  EXPECT_EQ(p.asked.table_rows, 6);
  const Buffer& cos = buffer(p, "cos");
  const Buffer& sin = buffer(p, "sin");
  ASSERT_EQ(cos.content.size(), 4u * (5 * 5 + 2));
  for (std::int64_t row = 0; row < 6; ++row)
    for (std::int64_t i = 0; i < (row < 5 ? 5 : 2); ++i) {
      if ((row == 1 || row == 3) && i < 2) {
        const double angle = static_cast<double>(row) * (i == 0 ? 1.0 : 0.01);
        EXPECT_EQ(f32(cos, row * 5 + i), double{static_cast<float>(std::cos(angle))});
        EXPECT_EQ(f32(sin, row * 5 + i), double{static_cast<float>(std::sin(angle))});
      } else {
        EXPECT_TRUE(poisoned(cos, row * 5 + i)) << row << " " << i;
        EXPECT_TRUE(poisoned(sin, row * 5 + i)) << row << " " << i;
      }
    }
}

TEST(Problem, TableByTokenHasARowAToken) {
  const Problem p = laid_out("batch=2 tokens=2 rows_by=token positions=-9,2,2,100");
  EXPECT_EQ(p.asked.table_rows, 4);
  const Buffer& sin = buffer(p, "sin");
  const double positions[] = {-9, 2, 2, 100};
  const auto& other = p.other_inputs[static_cast<std::size_t>(p.buffer(Operand::sin))];
  for (std::int64_t row = 0; row < 4; ++row) {
    EXPECT_EQ(f32(sin, row), double{static_cast<float>(std::sin(positions[row]))});
    EXPECT_EQ(load(other, Dtype::f32, row), f32(sin, 3 - row)) << "the second placement's";
  }
}

TEST(Problem, TheSecondPlacementHasOtherPositionsWhereThatIsAsked) {
  Oracle oracle;
  const auto other = [&](const std::string& line, SecondPositions second) {
    return make_problem(case_from_text(line), oracle, second).other_positions;
  };
  using Positions = std::vector<std::int64_t>;
  EXPECT_EQ(other("positions=5", SecondPositions::reversed), Positions{5});
  EXPECT_EQ(other("tokens=2 positions=5,6", SecondPositions::always_others), (Positions{6, 5}));
  EXPECT_EQ(other("tokens=2 positions=5,5", SecondPositions::always_others), (Positions{4, 4}));
  const Problem first =
      make_problem(case_from_text("positions=0"), oracle, SecondPositions::always_others);
  EXPECT_EQ(first.other_positions, Positions{1});
  EXPECT_EQ(first.asked.table_rows, 2);
  EXPECT_THROW(other("positions=0 table_row_stride=-7", SecondPositions::always_others), BadCase)
      << "unused with one row, and there are two now";
  EXPECT_EQ(first.asked.max_position, 1);
  EXPECT_EQ(f32(buffer(first, "sin"), 1), double{static_cast<float>(std::sin(1.0))});
}

TEST(Problem, OwnTablesDiffer) {
  const Problem shared = laid_out("q.heads=1 k.heads=1 positions=5");
  EXPECT_EQ(shared.buffer(Operand::cos, 1), shared.buffer(Operand::cos));
  const Problem own = laid_out("q.heads=1 k.heads=1 positions=5 own_tables=1");
  EXPECT_EQ(names(own), (std::vector<std::string>{"q.in", "q.out", "k.in", "k.out", "positions",
                                                  "cos.q", "sin.q", "cos.k", "sin.k"}));
  EXPECT_EQ(f32(buffer(own, "sin.q"), 5), double{static_cast<float>(std::sin(5.0))});
  EXPECT_EQ(f32(buffer(own, "sin.k"), 5), double{static_cast<float>(std::sin(-995.0))});
}

TEST(Problem, OwnTablesMeanNothingWithoutTables) {
  Oracle oracle;
  const Problem p = laid_out("contract=exact q.heads=1 k.heads=1 positions=5 own_tables=1");
  EXPECT_EQ(given_rotation(p, oracle, 1, 5, 0).im.hi, std::sin(5.0));
}

TEST(Problem, FrequenciesAreTheContractsOrTheGiven) {
  const Problem p = laid_out("rotary_dim=4 q.head_dim=4 rope_theta=100");
  EXPECT_EQ(std::vector(p.asked.inv_freq, p.asked.inv_freq + 2), (std::vector<double>{1, 0.1}));
  for (const char* line : {"inv_freq=0x1p-2", "scaling=linear scaling_values=4"})
    EXPECT_EQ(laid_out(line).inv_freq, std::vector<double>{0.25});
  for (const double f : laid_out("contract=f32_angle rotary_dim=8 q.head_dim=8").inv_freq)
    EXPECT_EQ(f, double{static_cast<float>(f)});
}

TEST(Problem, OtherDataHaveOtherValuesInTheSamePlaces) {
  const Problem p = laid_out("tokens=2 q.in=9,3,9 k.in_place=1 t2.head_dim=2 t2.values=1,2,3,4");
  const auto& other = p.other_inputs;
  ASSERT_EQ(other.size(), p.buffers.size());
  const auto q = static_cast<std::size_t>(p.buffer(Operand::in)),
             k = static_cast<std::size_t>(p.buffer(Operand::in, 1)),
             t2 = static_cast<std::size_t>(p.buffer(Operand::in, 2));
  for (const std::size_t i : {q, k}) {
    ASSERT_EQ(other[i].size(), p.buffers[i].content.size());
    for (const std::int64_t e : {0, 1, 3})
      EXPECT_NE(load(other[i], Dtype::f32, e), f32(p.buffers[i], e)) << i << " " << e;
  }
  EXPECT_TRUE(is_poison(other[q].data() + 8, Dtype::f32, Poison::read_only)) << "the gap stays";
  EXPECT_EQ(other[t2], p.buffers[t2].content) << "explicit values stay";
  for (const auto none : {p.output(0).buffer, p.buffer(Operand::cos)})
    EXPECT_TRUE(other[static_cast<std::size_t>(none)].empty()) << none;

  Outputs outputs;
  EXPECT_EQ(&given(p, outputs, p.buffer(Operand::in)), &p.buffers[q].content);
  outputs.placement = 1;
  EXPECT_EQ(&given(p, outputs, p.buffer(Operand::in)), &other[q]);
  EXPECT_EQ(&given(p, outputs, p.buffer(Operand::cos)), &buffer(p, Operand::cos).content);
}

// The elements of one head as complex pairs.
using Pairs = std::vector<std::pair<double, double>>;
Pairs pairs(const Problem& p, std::int64_t h) {
  const std::int64_t half = p.asked.rotary_dim / 2, row = in_index(p.asked, 0, 0, 0, h);
  const bool interleaved = p.asked.pairing == ROPE_INTERLEAVED;
  Pairs out;
  for (std::int64_t i = 0; i < half; ++i)
    out.emplace_back(f32(p.buffers[0], row + (interleaved ? 2 * i : i)),
                     f32(p.buffers[0], row + (interleaved ? 2 * i + 1 : i + half)));
  return out;
}

TEST(Problem, BasisPatternIsTheUnitVectorsAndOneFullMantissa) {
  for (const char* pairing : {"interleaved", "half_split"}) {
    const Problem p =
        laid_out("data=basis rotary_dim=4 q.head_dim=4 q.heads=6 pairing=" + std::string(pairing));
    for (const std::int64_t h : {0, 3}) {
      EXPECT_EQ(pairs(p, h), (Pairs{{1, 0}, {1, 0}})) << pairing;
      EXPECT_EQ(pairs(p, h + 1), (Pairs{{0, 1}, {0, 1}})) << pairing;
      for (const auto& [re, im] : pairs(p, h + 2))
        EXPECT_TRUE(std::abs(re) >= 0.5 && std::abs(im) >= 0.5) << re << " " << im;
    }
  }
}

TEST(Problem, DecayPatternIsPrefixesThenStairs) {
  for (const char* pairing : {"interleaved", "half_split"}) {
    const std::int64_t half = 3;
    const Problem p =
        laid_out("data=decay rotary_dim=6 q.head_dim=6 q.heads=8 pairing=" + std::string(pairing));
    ASSERT_EQ(half + decay_extra_heads, 8);
    EXPECT_EQ(pairs(p, 0), (Pairs{{1, 0}, {0, 0}, {0, 0}}));
    EXPECT_EQ(pairs(p, 1), (Pairs{{1, 0}, {1, 0}, {0, 0}}));
    EXPECT_EQ(pairs(p, 2), (Pairs{{1, 0}, {1, 0}, {1, 0}}));
    const double a{static_cast<float>(std::sqrt(3.0))}, b{static_cast<float>(std::sqrt(2.0))};
    EXPECT_EQ(pairs(p, half + decay_stair_q), (Pairs{{a, 0}, {b, 0}, {1, 0}}));
    EXPECT_EQ(pairs(p, half + decay_ones_re), (Pairs{{1, 0}, {1, 0}, {1, 0}}));
    EXPECT_EQ(pairs(p, half + decay_ones_im), (Pairs{{0, 1}, {0, 1}, {0, 1}}));
    EXPECT_EQ(pairs(p, half + decay_stair_re), (Pairs{{a, 0}, {b, 0}, {1, 0}}));
    EXPECT_EQ(pairs(p, half + decay_stair_im), (Pairs{{0, a}, {0, b}, {0, 1}}));
  }
}

TEST(Poison, IsThreeDifferentNansOfEveryType) {
  for (const DataType& type : data_type_rows) {
    for (const Poison which : {Poison::a, Poison::b, Poison::read_only})
      if (type.format.mantissa > 0)
        with_floating_type(type.dtype, [&]<class Stored>(std::type_identity<Stored>) {
          const auto bits = static_cast<BitsOf<Stored>>(poison_bits(which, type.dtype));
          EXPECT_TRUE(std::isnan(static_cast<double>(std::bit_cast<Stored>(bits)))) << type.word;
        });
    const auto bits = [&](Poison which) { return poison_bits(which, type.dtype); };
    EXPECT_EQ(std::set({bits(Poison::a), bits(Poison::b), bits(Poison::read_only)}).size(), 3u);
    std::vector<std::byte> bytes(19);
    fill_poison(bytes.data(), bytes.size(), type.dtype, Poison::b);
    EXPECT_TRUE(is_poison(bytes.data() + type.bytes, type.dtype, Poison::b));
    EXPECT_FALSE(is_poison(bytes.data() + type.bytes, type.dtype, Poison::a));
    EXPECT_EQ(bytes[18] == std::byte{0}, 19 % type.bytes != 0) << "a partial element stays";
  }
}

}  // namespace
}  // namespace ropewalk::harness
