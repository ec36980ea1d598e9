// The judge accepts what a correct kernel returns, and finds and places every planted error. The
// outputs are computed here, without a kernel and without a worker.
#include "harness/judge/judge.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>

#include "kernels/api/kernel.h"

namespace ropewalk::harness {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr const char* four_pairs =
    "rotary_dim=8 q.head_dim=8 pairing=interleaved positions=3 q.values=";

struct Value {
  double re, im;
};

/// One case, its correct outputs, and the judge's finding about the changed outputs.
class Judged {
 public:
  explicit Judged(const std::string& line) : problem(make_problem(case_from_text(line), oracle)) {
    execution.outputs[0].resize(problem.buffers.size());
    for (std::size_t i = 0; i < problem.buffers.size(); ++i)
      if (problem.buffers[i].writable) execution.outputs[0][i] = problem.buffers[i].content;
    execution.outputs[1] = execution.outputs[0];
    facts.angle_contract = problem.source.contract;
    for_each_pair([&](std::uint32_t tensor, auto... place) {
      with_floating_type(tensor_dtype(problem.source, tensor),
                         [&]<class Data>(std::type_identity<Data>) {
                           rotate_as<TableOf<Data>>(tensor, place...);
                         });
    });
  }

  void put(std::size_t placement, std::uint32_t tensor, std::int64_t b, std::int64_t t,
           std::int64_t h, std::int64_t pair, Value y) {
    const Place& at = problem.output(tensor);
    auto& bytes = execution.outputs[placement][static_cast<std::size_t>(at.buffer)];
    const std::int64_t row = at.at + out_index(problem.asked, tensor, b, t, h) +
                             problem.asked.tensor[tensor].rotary_offset;
    const auto [first, second] =
        pair_index(problem.asked.pairing, pair, problem.asked.rotary_dim / 2);
    const Dtype dtype = tensor_dtype(problem.source, tensor);
    store(bytes, dtype, row + first, y.re);
    store(bytes, dtype, row + second, y.im);
  }
  /// Sets pair `pair` of q's first head, in both placements.
  void put(std::int64_t pair, Value y) {
    for (const std::size_t placement : {0u, 1u}) put(placement, 0, 0, 0, 0, pair, y);
  }
  Value got(std::uint32_t tensor, std::int64_t b, std::int64_t t, std::int64_t h,
            std::int64_t pair) const {
    const PairValue y = output_pair(problem, execution.outputs[0], tensor, b, t, h, pair);
    return {y.re.hi, y.im.hi};
  }
  Value got(std::int64_t pair) const { return got(0, 0, 0, 0, pair); }

  /// Replaces every output y by change(y).
  void change_all(const std::function<Value(Value)>& change) {
    for_each_pair([&](std::uint32_t tensor, auto... place) {
      const Value y = change(got(tensor, place...));
      for (const std::size_t placement : {0u, 1u}) put(placement, tensor, place..., y);
    });
  }

  Finding finding() {
    Subject subject{worker, oracle, facts};
    return compare_with_truth(subject, problem, execution);
  }

  Oracle oracle;
  KernelFacts facts;
  Problem problem;
  Execution execution;

 private:
  template <class Visit>
  void for_each_pair(Visit&& visit) {
    for_each_rotated_head(problem, [&](std::uint32_t tensor, auto... place) {
      for (std::int64_t i = 0; i < problem.asked.rotary_dim / 2; ++i) visit(tensor, place..., i);
    });
  }
  /// The plain loop in the data type, or in f32 for 16-bit types. A scale is rounded to that type
  /// first.
  template <class Real>
  void rotate_as(std::uint32_t tensor, std::int64_t b, std::int64_t t, std::int64_t h,
                 std::int64_t pair) {
    const auto r = rotations_of(problem, oracle, 0, tensor, b, {t})[static_cast<std::size_t>(pair)];
    const PairValue in = input_pair(problem, execution.outputs[0], tensor, b, t, h, pair);
    const auto scale = static_cast<Real>(ropewalk::scale_of(problem.asked));
    const auto x1 = static_cast<Real>(in.re.hi), x2 = static_cast<Real>(in.im.hi);
    const auto c = static_cast<Real>(r.re.hi);
    const auto s =
        static_cast<Real>(problem.asked.operation == ROPE_TRANSPOSE ? -r.im.hi : r.im.hi);
    const Real y1 = scale * (x1 * c - x2 * s), y2 = scale * (x2 * c + x1 * s);
    for (const std::size_t placement : {0u, 1u})
      put(placement, tensor, b, t, h, pair, {double{y1}, double{y2}});
  }

  Worker worker{WorkerOptions{}};  // this worker is never started
};

void expect_correct_outputs_hold(const std::string& line) {
  Judged judged("tokens=7 rotary_dim=8 q.heads=3 q.head_dim=11 q.offset=2 k.heads=1 k.head_dim=8 " +
                line);
  const Finding f = judged.finding();
  EXPECT_TRUE(f.holds()) << line << ": " << f.margin << " at " << f.where;
  EXPECT_EQ(f.compared, 2 * judged.problem.asked.batch * 7 * 4 * 4) << line;
}

TEST(Judge, CorrectOutputsOfEachTypeAndDataHold) {
  for (const std::string dtype : {"f64", "f32", "f16", "bf16"})
    for (const std::string data : {"unit", "wide", "basis", "subnormal", "edge", "span"})
      for (const char* scale : {"0", "-3", "1.25"})
        expect_correct_outputs_hold("dtype=" + dtype + " data=" + data +
                                    " attention_scale=" + scale);
}

TEST(Judge, CorrectOutputsOfEachFormHold) {
  for (const char* line : {"pairing=interleaved op=transpose",
                           "dtype=f64 contract=exact op=transpose",
                           "contract=exact positions=from:2147483641:1",
                           "contract=exact positions=from:-2147483648:9",
                           "contract=f32_angle positions=from:16777211:3",
                           "rows_by=token positions=from:-9:1",
                           "own_tables=1",
                           "batch=2 q.in_at=3 q.out_at=5",
                           "dtype=bf16 contract=exact op=transpose",
                           "dtype=bf16 contract=f32_angle",
                           "dtype=f16 data=wide attention_scale=64",
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
                           "dtype=f16 attention_scale=0.001"})
    expect_correct_outputs_hold(line);
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
  Judged judged("rotary_dim=128 q.head_dim=128 tokens=128 q.heads=4 attention_scale=1.138629");
  const Finding f = judged.finding();
  EXPECT_TRUE(f.holds()) << f.margin;
  EXPECT_GT(f.margin * bounds::product(0x1p-24, true) / 0x1p-24, bounds::gamma)
      << "the two extra roundings are needed";
  judged.change_all([](Value y) { return Value{y.re * (1 + 1e-6), y.im * (1 + 1e-6)}; });
  EXPECT_FALSE(judged.finding().holds());
}

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

TEST(Judge, LastPairOneAndAHalfBoundsOffIsFoundAndNamed) {
  for (const char* dtype : {"f32", "f64"}) {
    Judged judged(several + ("positions=from:100:7 dtype=" + std::string(dtype)));
    ASSERT_TRUE(judged.finding().holds());
    const PairValue x = input_pair(judged.problem, judged.execution.outputs[0], 1, 1, 2, 3, 7);
    const double bound = pair_bound(judged.facts, judged.problem.source, 0, magnitude(x), 1, x);
    const Rotation r = rotations_of(judged.problem, judged.oracle, 0, 1, 1, {2})[7];
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
      const auto rows = rotations_of(judged.problem, judged.oracle, 0, 0, 0, {t});
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

TEST(Judge, HugeAndTinyPairsAreComparedToo) {
  const struct {
    const char *dtype, *values;
    double off;
  } pairs[] = {{"f64", "1e200,1e200", 1e-12},  {"f64", "1e-200,2e-200", 1e-12},
               {"f64", "1e-290,1e290", 1e-12}, {"f64", "1e-300,1e-300", 1e-12},
               {"f32", "1e37,1e37", 1e-5},     {"f32", "1e-30,1e-30", 1e-5}};
  for (const auto& [dtype, values, off] : pairs) {
    const std::string line = four_pairs + ("0.3,0.9,0.4,0.7," + std::string(values)) + ",0.2,0.6";
    Judged judged(line + " dtype=" + dtype);
    EXPECT_TRUE(judged.finding().holds()) << values;
    const Value y = judged.got(2);
    for (const Value wrong : {Value{0, 0}, {-y.re, -y.im}, {y.re * (1 + off), y.im}}) {
      judged.put(2, wrong);
      EXPECT_FALSE(judged.finding().holds()) << values << " -> " << wrong.re;
    }
  }
}

TEST(Judge, NothingIsPromisedWhereProductsMayOverflow) {
  Judged judged(four_pairs + std::string("3e38,3e38,3e38,-3e38,-3e38,3e38,3e38,3e38"));
  EXPECT_EQ(judged.finding().compared, 0);
  EXPECT_FALSE(judged.finding().holds()) << "nothing was compared";
}

TEST(Judge, SubnormalsMayBeFlushedOnlyWhereDeclared) {
  const std::string line = four_pairs + std::string("1e-39,2e-39,0.3,0.4,0.1,0.2,0.6,0.8");
  Judged judged(line);
  EXPECT_TRUE(judged.finding().holds());
  judged.put(0, {0, 0});
  EXPECT_FALSE(judged.finding().holds());
  judged.facts.flags |= ROPE_FLUSHES_SUBNORMALS;
  EXPECT_TRUE(judged.finding().holds());
}

TEST(Judge, SubnormalsAreJudgedToAFewUnits) {
  for (const Dtype type : tensor_dtypes) {
    const std::string dtype(data_type(type).word);
    Judged judged("rotary_dim=8 q.head_dim=8 positions=3 data=subnormal dtype=" + dtype);
    ASSERT_TRUE(judged.finding().holds()) << dtype;
    EXPECT_EQ(judged.finding().compared, 8) << dtype;
    const Value y = judged.got(2);
    judged.put(2, {y.re + 10 * data_type(judged.problem.source.dtype).format.eta, y.im});
    EXPECT_FALSE(judged.finding().holds()) << dtype;
  }
}

TEST(Judge, PairsNextToOverflowAreJudged) {
  for (const Dtype type : tensor_dtypes)
    for (const char* scale : {"0", "-3", "0.25"}) {
      const std::string dtype(data_type(type).word);
      Judged judged("rotary_dim=8 q.head_dim=8 positions=3 data=edge attention_scale=" +
                    std::string(scale) + " dtype=" + dtype);
      ASSERT_TRUE(judged.finding().holds()) << dtype << " " << scale;
      EXPECT_EQ(judged.finding().compared, 8) << dtype << " " << scale;
      const Value y = judged.got(2);
      const double off = 1 + 4 * data_type(judged.problem.source.dtype).format.u;
      for (const Value wrong :
           {Value{y.re * off * off, y.im * off * off}, {0, 0}, {infinity, y.im}}) {
        judged.put(2, wrong);
        EXPECT_FALSE(judged.finding().holds()) << dtype << " " << scale << " " << wrong.re;
      }
    }
}

// The bound of 16-bit results is half a unit in the last place and no more. A result rounded to the
// other neighbour is found, unless that neighbour was nearly as near.
TEST(Judge, SixteenBitResultsAreJudgedByTheirHalfUnits) {
  for (const Dtype type : tensor_dtypes) {
    if (!is_narrow(type)) continue;
    const std::string dtype(data_type(type).word);
    Judged judged("rotary_dim=64 q.head_dim=64 tokens=64 q.heads=2 dtype=" + dtype);
    const Finding f = judged.finding();
    ASSERT_TRUE(f.holds()) << f.margin;
    EXPECT_GT(f.margin, 0.95) << dtype;
    const double u = data_type(judged.problem.source.dtype).format.u;
    const Value y = judged.got(5);
    const bool first = std::abs(y.re) > std::abs(y.im);
    const double two_units = 4 * u * std::exp2(std::ilogb(first ? y.re : y.im));
    judged.put(5, {first ? y.re + two_units : y.re, first ? y.im : y.im + two_units});
    EXPECT_FALSE(judged.finding().holds()) << dtype;
    judged.put(5, y);
    EXPECT_TRUE(judged.finding().holds()) << dtype;
  }
}

TEST(Judge, DeclaredBoundReplacesItsOwnInUnitsOfTheType) {
  for (const Dtype type : {Dtype::f32, Dtype::bf16}) {
    Judged judged("rotary_dim=8 q.head_dim=8 tokens=9 contract=exact dtype=" +
                  std::string(data_type(type).word));
    const double off = 1 + 10 * data_type(type).format.u;
    judged.change_all([off](Value y) { return Value{y.re * off, y.im * off}; });
    for (const double declared : {0, 4, 16}) {
      judged.facts.error_bound = declared;
      EXPECT_EQ(judged.finding().holds(), declared == 16) << declared;
    }
    EXPECT_NEAR(judged.finding().bound, 16, 1e-3);
  }
}

TEST(Judge, DiagnosisNamesPhaseOrWhatWasGot) {
  Judged turned("tokens=5 rotary_dim=8 q.head_dim=8");
  turned.change_all([](Value y) {
    const double c = std::cos(1e-3), s = std::sin(1e-3);
    return Value{y.re * c - y.im * s, y.im * c + y.re * s};
  });
  EXPECT_NE(turned.finding().diagnosis.find("phase +0.001 rad"), std::string::npos)
      << turned.finding().diagnosis;

  Judged lost("tokens=5 rotary_dim=8 q.head_dim=8");
  lost.put(2, {not_a_number, 0});
  EXPECT_NE(lost.finding().diagnosis.find("got (nan, 0), expected ("), std::string::npos)
      << lost.finding().diagnosis;
}

TEST(Judge, WrongDirectionPairingPositionAndContractAreFound) {
  const std::string line = "tokens=5 rotary_dim=8 q.head_dim=8 contract=exact ";
  Judged direction(line), pairing(line), position(line),
      contract(line + "positions=from:1000003:1");
  direction.problem.source.operation = Operation::transpose;
  pairing.problem.asked.pairing = ROPE_INTERLEAVED;
  for (std::int64_t& p : position.problem.positions) ++p;
  contract.problem.source.contract = ROPE_CONTRACT_F32_ANGLE;
  for (Judged* wrong : {&direction, &pairing, &position, &contract})
    EXPECT_FALSE(wrong->finding().holds());
}

}  // namespace
}  // namespace ropewalk::harness
