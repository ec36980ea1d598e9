// The judge accepts what a correct kernel returns, and finds and places every planted error. The
// outputs are computed here, without a kernel and without a worker.
#include "harness/judge/judge.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>

#include "harness/judge/judged.h"

namespace ropewalk::harness {
namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double yarn_scale = 1.1386294361119891;  // 0.1 ln 4 + 1, not exact in f32

// ---- correct outputs hold

TEST(Judge, CorrectOutputsHold) {
  for (const char* line : {"",
                           "pairing=interleaved op=transpose",
                           "dtype=f64",
                           "dtype=f64 contract=exact op=transpose",
                           "contract=exact positions=from:2147483641:1",
                           "contract=exact positions=from:-2147483648:9",
                           "contract=f32_angle positions=from:16777211:3",
                           "rows_by=token positions=from:-9:1",
                           "data=wide",
                           "data=basis",
                           "own_tables=1",
                           "attention_scale=-3.5 dtype=f64",
                           "batch=2 q.in_at=3 q.out_at=5",
                           "dtype=f16",
                           "dtype=bf16 contract=exact op=transpose",
                           "dtype=bf16 contract=f32_angle",
                           "dtype=f16 data=wide attention_scale=64",
                           "data=subnormal dtype=f64",
                           "data=subnormal",
                           "data=subnormal dtype=f16",
                           "data=subnormal dtype=bf16 attention_scale=3",
                           "data=edge dtype=f64",
                           "data=edge",
                           "data=edge dtype=f64 attention_scale=-3",
                           "data=edge dtype=f16 attention_scale=1.25",
                           "data=edge dtype=bf16",
                           "data=span",
                           "data=span dtype=f64",
                           "data=span dtype=f16 attention_scale=-3",
                           "data=span dtype=bf16",
                           "k.dtype=f64",
                           "dtype=f64 k.dtype=bf16",
                           "q.dtype=bf16 k.dtype=f16 op=transpose",
                           "contract=exact dtype=f16 k.dtype=f64",
                           "dtype=f64 k.dtype=f32 data=subnormal",
                           "dtype=f16 k.dtype=f32 data=edge",
                           "table_dtype=f64",
                           "dtype=f16 table_dtype=f64 data=wide",
                           "dtype=f64 table_dtype=f16 attention_scale=3",
                           "k.dtype=f64 table_dtype=bf16 own_tables=1",
                           "attention_scale=1000",
                           "dtype=f16 attention_scale=0.001"}) {
    Judged judged(
        "tokens=7 rotary_dim=8 q.heads=3 q.head_dim=11 q.offset=2 k.heads=1 k.head_dim=8 " +
        std::string(line));
    const Finding f = judged.finding();
    EXPECT_TRUE(f.holds()) << line << ": " << f.margin << " at " << f.where;
    EXPECT_EQ(f.compared, 2 * judged.problem.asked.batch * 7 * 4 * 4) << line;
  }
}

// A bound that correct kernels never approach would hide errors.
TEST(Judge, BoundIsReachedToFourFifths) {
  for (const char* line : {"tokens=256 q.heads=8", "tokens=256 q.heads=8 dtype=f64"}) {
    Judged judged("rotary_dim=128 q.head_dim=128 " + std::string(line));
    const Finding f = judged.finding();
    EXPECT_TRUE(f.holds()) << f.margin;
    EXPECT_GT(f.margin, 0.8) << line;
    EXPECT_NEAR(f.bound, bounds::gamma, 1e-4) << "in u rho";
    EXPECT_EQ(f.bound_unit, "u rho");
  }
}

TEST(Judge, ScaleThatIsRoundedFirstHolds) {
  Judged judged("rotary_dim=128 q.head_dim=128 tokens=128 q.heads=4 attention_scale=" +
                std::to_string(yarn_scale));
  const Finding f = judged.finding();
  EXPECT_TRUE(f.holds()) << f.margin;
  EXPECT_GT(f.margin * bounds::product(0x1p-24, true) / 0x1p-24, bounds::gamma)
      << "the two extra roundings are needed";
  judged.change_all([](Value y) { return Value{y.re * (1 + 1e-6), y.im * (1 + 1e-6)}; });
  EXPECT_FALSE(judged.finding().holds());
  Judged unscaled("attention_scale=1.5");
  unscaled.problem.source.attention_scale = 1;
  EXPECT_FALSE(unscaled.finding().holds()) << "scaled twice is not scaled once";
}

// ---- one wrong place

constexpr const char* several =
    "batch=2 tokens=3 rotary_dim=16 q.heads=2 q.head_dim=16 k.heads=4 k.head_dim=20 k.offset=3 ";

TEST(Judge, OneNotFiniteOutputFailsWhereverItIs) {
  for (const double bad : {not_a_number, infinity, -infinity})
    for (const std::size_t placement : {0u, 1u})
      for (const std::int64_t place : {0, 1, 2}) {
        Judged judged(several);
        const std::int64_t b = place == 2 ? 1 : 0, t = place, h = place, pair = 3 * place;
        const Value y = judged.got(1, b, t, h, pair);
        judged.put(placement, 1, b, t, h, pair, place == 1 ? Value{y.re, bad} : Value{bad, y.im});
        const Finding f = judged.finding();
        EXPECT_FALSE(f.holds());
        EXPECT_EQ(f.margin, infinity);
        EXPECT_TRUE(f.where.starts_with(place_text(1, b, t, h) + " pair " + std::to_string(pair)))
            << f.where;
      }
}

TEST(Judge, LaterValueDoesNotHideNaN) {
  Judged judged(several);
  judged.put(0, {not_a_number, not_a_number});
  judged.put(1, {1e30, 1e30});
  const Finding f = judged.finding();
  EXPECT_EQ(f.margin, infinity);
  EXPECT_TRUE(f.where.starts_with("q[batch 0, token 0, head 0] pair 0")) << f.where;
}

TEST(Judge, LastPairOneAndAHalfBoundsOffIsFoundAndNamed) {
  for (const char* dtype : {"f32", "f64"}) {
    Judged judged(several + ("positions=from:100:7 dtype=" + std::string(dtype)));
    ASSERT_TRUE(judged.finding().holds());
    const PairValue x = input_pair(judged.problem, judged.execution.outputs[0], 1, 1, 2, 3, 7);
    const double bound = pair_bound(judged.facts, judged.problem.source, 0, magnitude(x), 1, x);
    const Rotation r = rotations_of(judged.problem, judged.oracle, 0, 1, 1, 2)[7];
    const PairValue exact = rotate(x, r);
    judged.put(1, 1, 1, 2, 3, 7,
               {static_cast<double>(exact.re) + 1.5 * bound, static_cast<double>(exact.im)});
    const Finding f = judged.finding();
    EXPECT_FALSE(f.holds());
    EXPECT_NEAR(f.margin, 1.5, 0.5) << "rounded to the data type";
    EXPECT_EQ(f.where, "k[batch 1, token 2, head 3] pair 7, position 114");
    EXPECT_NE(f.reason.find("too far"), std::string::npos);
  }
}

// Rounded to f32, f64 results fail, and the others hold as they are.
TEST(Judge, EachTensorIsJudgedInItsOwnType) {
  const auto rounded_to_f32 = [](const std::string& types) {
    Judged judged("tokens=3 rotary_dim=8 q.head_dim=8 k.head_dim=8 positions=from:5:1 " + types);
    EXPECT_TRUE(judged.finding().holds()) << types;
    judged.change_all([](Value y) {
      return Value{double{static_cast<float>(y.re)}, double{static_cast<float>(y.im)}};
    });
    return judged.finding();
  };
  EXPECT_TRUE(rounded_to_f32("k.dtype=bf16").holds());
  for (const char* types :
       {"k.dtype=f64", "dtype=bf16 k.dtype=f64", "k.dtype=f64 table_dtype=f16"}) {
    const Finding f = rounded_to_f32(types);
    EXPECT_GT(f.margin, 1e6) << types;
    EXPECT_TRUE(f.where.starts_with("k[")) << f.where;
  }
  const Finding first = rounded_to_f32("q.dtype=f64 k.dtype=f32");
  EXPECT_GT(first.margin, 1e6);
  EXPECT_TRUE(first.where.starts_with("q[")) << first.where;
}

// A table wider than the arithmetic may be rounded to it once, and no further.
TEST(Judge, AWiderTableMayBeRoundedToTheTypeOfTheArithmetic) {
  const auto by_rounded_rows = [](const std::string& types, double (*rounded)(double)) {
    Judged judged("tokens=40 rotary_dim=32 q.head_dim=32 positions=from:5:9 " + types);
    const Case& c = judged.problem.source;
    for (std::int64_t t = 0; t < c.tokens; ++t) {
      const auto rows = rotations_of(judged.problem, judged.oracle, 0, 0, 0, t);
      for (std::int64_t i = 0; i < c.rotary_dim / 2; ++i) {
        const Rotation& r = rows[static_cast<std::size_t>(i)];
        const PairValue x = input_pair(judged.problem, judged.execution.outputs[0], 0, 0, t, 0, i);
        const PairValue y =
            rotate(x, {DoubleDouble(rounded(r.re.hi)), DoubleDouble(rounded(r.im.hi))});
        judged.put(0, 0, 0, t, 0, i, {y.re.hi, y.im.hi});
      }
    }
    return judged.finding().margin;
  };
  const auto to_f32 = [](double v) { return double{static_cast<float>(v)}; };
  const auto to_bf16 = [](double v) { return double{Bf16(static_cast<float>(v))}; };
  EXPECT_LE(by_rounded_rows("table_dtype=f64", to_f32), 1);
  EXPECT_LE(by_rounded_rows("dtype=f16 table_dtype=f64", to_f32), 1);
  EXPECT_GT(by_rounded_rows("table_dtype=f64", to_bf16), 100);
  EXPECT_GT(by_rounded_rows("", to_bf16), 100);
  EXPECT_GT(by_rounded_rows("dtype=f64", to_f32), 1e6) << "a table as wide as the arithmetic";
  EXPECT_LE(by_rounded_rows("dtype=f64 table_dtype=f32", to_f32), 1) << "exact";
}

TEST(Judge, UnwrittenOutputFails) {
  Judged judged(several);
  for (Outputs& outputs : judged.execution.outputs)
    outputs[static_cast<std::size_t>(judged.problem.tensor[0].out)] =
        judged.problem.buffers[static_cast<std::size_t>(judged.problem.tensor[0].out)].content;
  EXPECT_FALSE(judged.finding().holds());
}

// ---- zeros, huge and tiny values, what is not finite

TEST(Judge, ZeroPairIsExactlyZero) {
  for (const char* dtype : {" dtype=f32", " dtype=f64"}) {
    Judged judged(four_pairs + ("1,0.3,0,-0,0.7,0.1,-0,0" + std::string(dtype)));
    EXPECT_TRUE(judged.finding().holds());
    judged.put(1, {-0.0, 0.0});
    EXPECT_TRUE(judged.finding().holds());
    judged.put(1, {0.0, std::string(dtype) == " dtype=f64" ? 0x1p-1074 : 0x1p-149});
    EXPECT_EQ(judged.finding().margin, infinity);
    EXPECT_NE(judged.finding().where.find("pair 1"), std::string::npos);
  }
}

TEST(Judge, NotFiniteInputNeedsANotFiniteOutput) {
  for (const char* dtype : {"f32", "f64"})
    for (const char* odd : {"inf,1", "1,-inf", "nan,1", "inf,nan", "0,nan", "inf,-inf"}) {
      const std::string line = four_pairs + ("0.3,0.9," + std::string(odd)) + ",0.7,0.1,0.2,0.6";
      Judged judged(line + " dtype=" + dtype);
      EXPECT_TRUE(judged.finding().holds()) << odd;
      for (const Value y : {Value{not_a_number, 0}, {1, infinity}, {-infinity, not_a_number}}) {
        judged.put(1, y);  // which NaN, and its payload, is not judged
        EXPECT_TRUE(judged.finding().holds()) << dtype << " " << odd;
      }
      for (const Value y : {Value{0, 0}, {1, -1}, {1e38, 3e38}}) {
        judged.put(1, y);
        EXPECT_FALSE(judged.finding().holds()) << dtype << " " << odd << " -> " << y.re;
        EXPECT_NE(judged.finding().reason.find("not finite"), std::string::npos);
      }
    }
}

// ---- both ends of the range, and 16 bits

// ---- which bound, and what the message says

TEST(Judge, WordsNameADeclaredBoundThatTheTypeDoesNotNeed) {
  KernelFacts facts;
  facts.angle_contract = ROPE_CONTRACT_TABLE;
  EXPECT_EQ(declared_words(facts, Dtype::bf16), "") << "the suite's own bound";
  facts.error_bound = 5;  // all types need less with a table
  for (const Dtype dtype : tensor_dtypes) EXPECT_EQ(declared_words(facts, dtype), "");
  facts.error_bound = 5.5;
  EXPECT_EQ(declared_words(facts, Dtype::f32), "declared 5.5 u of f32 = 3.3e-07, derived 5 u");
  facts.error_bound = 16;
  EXPECT_EQ(declared_words(facts, Dtype::bf16), "declared 16 u of bf16 = 6.2 %, derived 5 u");
  EXPECT_EQ(declared_words(facts, Dtype::f16), "declared 16 u of f16 = 0.78 %, derived 5 u");
  facts.angle_contract = ROPE_CONTRACT_EXACT;
  EXPECT_EQ(declared_words(facts, Dtype::f64), "declared 16 u of f64 = 1.8e-15, derived 7 u");
  facts.error_bound = 7;  // own angles of f32 and f64 need 6.24 u; those of bf16 are made in f32
  EXPECT_EQ(declared_words(facts, Dtype::f64), "");
  EXPECT_EQ(declared_words(facts, Dtype::f32), "");
  EXPECT_EQ(declared_words(facts, Dtype::bf16), "declared 7 u of bf16 = 2.7 %, derived 5 u");
}

TEST(Judge, DeclaredBoundReplacesItsOwn) {
  Judged judged("rotary_dim=8 q.head_dim=8 tokens=9 contract=exact");
  judged.change_all([](Value y) {
    return Value{y.re * (1 + 10 * 0x1p-24), y.im * (1 + 10 * 0x1p-24)};
  });
  EXPECT_FALSE(judged.finding().holds());
  judged.facts.error_bound = 16;
  EXPECT_TRUE(judged.finding().holds());
  EXPECT_NEAR(judged.finding().bound, 16, 1e-3);
  judged.facts.error_bound = 4;
  EXPECT_FALSE(judged.finding().holds());
}

TEST(Judge, AngleContractsAreDifferentTruths) {
  Judged judged("rotary_dim=8 q.head_dim=8 contract=f32_angle positions=1000003");
  EXPECT_TRUE(judged.finding().holds());
  judged.problem.source.contract = ROPE_CONTRACT_EXACT;
  EXPECT_FALSE(judged.finding().holds());
}

TEST(Judge, DiagnosisNamesPhaseAndGain) {
  Judged turned("tokens=5 rotary_dim=8 q.head_dim=8");
  turned.change_all([](Value y) {
    const double c = std::cos(1e-3), s = std::sin(1e-3);
    return Value{y.re * c - y.im * s, y.im * c + y.re * s};
  });
  EXPECT_NE(turned.finding().diagnosis.find("phase +0.001 rad"), std::string::npos)
      << turned.finding().diagnosis;

  Judged scaled("tokens=5 rotary_dim=8 q.head_dim=8");
  scaled.change_all([](Value y) { return Value{y.re * 0.75, y.im * 0.75}; });
  EXPECT_NE(scaled.finding().diagnosis.find("gain -0.25,"), std::string::npos)
      << scaled.finding().diagnosis;

  Judged lost("tokens=5 rotary_dim=8 q.head_dim=8");
  lost.put(2, {not_a_number, 0});
  EXPECT_NE(lost.finding().diagnosis.find("got (nan, 0), expected ("), std::string::npos)
      << lost.finding().diagnosis;
}

TEST(Judge, WrongDirectionPairingAndPositionAreFound) {
  const std::string line = "tokens=5 rotary_dim=8 q.head_dim=8 contract=exact ";
  Judged direction(line), pairing(line), position(line);
  direction.problem.source.operation = Operation::transpose;
  pairing.problem.asked.pairing = ROPE_INTERLEAVED;
  for (std::int64_t& p : position.problem.positions) ++p;
  for (Judged* wrong : {&direction, &pairing, &position}) EXPECT_FALSE(wrong->finding().holds());
}

}  // namespace
}  // namespace ropewalk::harness
