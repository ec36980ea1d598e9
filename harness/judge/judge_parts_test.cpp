// The parts of the judge: findings, the shapes that a run is held to, the sample of rows, and an
// input that lies between outputs, which must keep its bytes.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "harness/judge/asked_shapes.h"
#include "harness/judge/judge.h"
#include "harness/judge/placed_buffers.h"
#include "harness/judge/row_sample.h"

namespace ropewalk::harness {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double largest = std::numeric_limits<double>::max();

void add(Tally& tally, double error, double bound, const char* where) {
  tally.add(error, bound, [&](Finding& f) { f.where = where; });
}

TEST(Tally, KeepsTheWorst) {
  Tally tally;
  add(tally, 1, 2, "a");
  add(tally, 3, 4, "b");
  add(tally, 1, 4, "c");
  EXPECT_EQ(tally.finding().margin, 0.75);
  EXPECT_EQ(tally.finding().bound, 4);
  EXPECT_EQ(tally.finding().where, "b");
  EXPECT_EQ(tally.finding().compared, 3);
  EXPECT_TRUE(tally.finding().holds());
  add(tally, 1.0000001, 1, "d");
  EXPECT_FALSE(tally.finding().holds());
}

TEST(Tally, ABoundMayBeReachedAndNotPassed) {
  constexpr double least = 0x1p-1074;
  const double cases[][3] = {
      {0, 1, 0}, {0, 0, 0}, {least, least, 1}, {2 * least, least, 2}, {least, 0, infinity}};
  for (const auto& [error, bound, margin] : cases) {
    Tally tally;
    add(tally, error, bound, "a");
    EXPECT_EQ(tally.finding().margin, margin);
    EXPECT_EQ(tally.finding().where, "a") << "the first is described even without an error";
    EXPECT_EQ(tally.finding().holds(), margin <= 1);
  }
}

TEST(Tally, NotANumberIsTheWorstAndStays) {
  for (const auto& [error, bound] : {std::pair{not_a_number, 1.0},
                                     {1.0, not_a_number},
                                     {infinity, 1.0},
                                     {infinity, infinity},
                                     {-not_a_number, 1.0}}) {
    Tally tally;
    add(tally, 0.5, 1, "before");
    add(tally, error, bound, "here");
    add(tally, largest, 1e-300, "later");
    add(tally, 0, 1, "later");
    EXPECT_EQ(tally.finding().margin, infinity);
    EXPECT_EQ(tally.finding().where, "here");
    EXPECT_EQ(tally.finding().compared, 4);
    EXPECT_FALSE(tally.finding().holds());
  }
}

TEST(Tally, NothingComparedDoesNotHold) {
  EXPECT_FALSE(Tally().finding().holds());
  Tally counted;
  counted.count_harmless();
  EXPECT_TRUE(counted.finding().holds());
  EXPECT_EQ(counted.finding().compared, 1);
}

TEST(Finding, OnlyMeasuredOnesHold) {
  Finding f;
  f.compared = 1;
  EXPECT_TRUE(f.holds());
  f.margin = not_a_number;
  EXPECT_FALSE(f.holds());
  f.margin = 0;
  using Kind = Finding::Kind;
  for (const Kind kind : {Kind::crash, Kind::hang, Kind::broken}) {
    f.kind = kind;
    EXPECT_FALSE(f.holds());
    EXPECT_TRUE(f.ran());
  }
  for (const Kind kind : {Kind::unsupported, Kind::skipped}) {
    f.kind = kind;
    EXPECT_FALSE(f.holds());
    EXPECT_FALSE(f.ran());
  }
}

TEST(DeclaredWords, NameADeclaredBoundThatTheTypeDoesNotNeed) {
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

TEST(FailureOf, KeepsWhatHappened) {
  using Was = CallResult::Kind;
  using Is = Finding::Kind;
  const std::pair<Was, Is> kinds[] = {
      {Was::ok, Is::measured},   {Was::unsupported, Is::unsupported},
      {Was::failed, Is::broken}, {Was::skipped, Is::skipped},
      {Was::crash, Is::crash},   {Was::hang, Is::hang}};
  for (const auto& [was, is] : kinds) {
    Execution e;
    e.result = {was, "why"};
    EXPECT_EQ(failure_of(e).kind, is);
    EXPECT_EQ(failure_of(e).reason, "why");
    EXPECT_FALSE(failure_of(e).holds());
  }
  Execution stray;
  stray.stray_write = "wrote outside its rows";
  EXPECT_EQ(failure_of(stray).kind, Is::broken);
  EXPECT_EQ(failure_of(stray).reason, "wrote outside its rows");
}

// ---- shapes

ModelShape shape_of(const std::string& words) {
  ModelShape out;
  static_cast<Case&>(out) = patched(Case{}, words);
  return out;
}
const ModelShape shape = shape_of(
    "rotary_dim=8 batch=0 tokens=0 q.heads=8 q.head_dim=16 q.offset=4 k.heads=2 k.head_dim=12");

Case fitting() {
  return patched(shape, "batch=1 tokens=3");
}

bool fits(const Case& c, const ModelShape& wanted = shape) {
  validate(c);
  return has_shape(c, wanted);
}

TEST(AskedShapes, QAndKTogetherOrAloneFit) {
  EXPECT_TRUE(fits(fitting()));
  for (const std::size_t alone : {std::size_t{0}, std::size_t{1}}) {
    Case c = fitting();
    c.tensors = {c.tensors[alone]};
    EXPECT_TRUE(fits(c));
  }
  Case swapped = fitting();
  std::swap(swapped.tensors[0], swapped.tensors[1]);
  EXPECT_FALSE(fits(swapped));
}

TEST(AskedShapes, AThirdTensorIsLikeK) {
  Case c = fitting();
  c.tensors.push_back(c.tensors[1]);
  c.tensors[2].rotate = false;
  EXPECT_TRUE(fits(c));
  c.tensors[2] = c.tensors[0];
  EXPECT_FALSE(fits(c));
}

TEST(AskedShapes, EachOtherSizeDoesNotFit) {
  for (const char* words : {"rotary_dim=6", "q.heads=4", "k.heads=8", "q.head_dim=17",
                            "k.head_dim=16", "q.offset=0", "k.offset=4"})
    EXPECT_FALSE(fits(patched(fitting(), words))) << words;
}

TEST(AskedShapes, TokensAndBatchAreFreeUnlessStated) {
  Case c = fitting();
  for (const std::int64_t n : {1, 4}) {
    c.tokens = c.batch = n;
    EXPECT_TRUE(fits(c));
  }
  ModelShape stated = shape;
  stated.tokens = 4;
  EXPECT_TRUE(fits(c, stated));
  c.tokens = 5;
  EXPECT_FALSE(fits(c, stated));
  c.tokens = 4;
  stated.batch = 3;
  EXPECT_FALSE(fits(c, stated));
}

TEST(AskedShapes, TheAnglesOfAModelAreAllOfItsNumbers) {
  ModelShape model =
      shape_of(to_text(shape) + " rope_theta=500000 scaling=linear scaling_values=4 scale=1.5");
  EXPECT_TRUE(fits(fitting(), model)) << "any angles";
  model.angles = true;
  EXPECT_FALSE(fits(fitting(), model));
  Case c = fitting();
  take_angles(c, model);
  EXPECT_TRUE(fits(c, model));
  for (const char* change : {"rope_theta=10000", "scaling_values=8", "scale=0", "inv_freq=1,1,1,1"})
    EXPECT_FALSE(fits(patched(c, change), model)) << change;
}

// ---- rows

Case large_case(std::int64_t batch, std::int64_t tokens, std::int64_t heads) {
  Case c;
  c.batch = batch;
  c.tokens = tokens;
  c.tensors[0].heads = heads;
  c.tensors[0].head_dim = 128;
  return c;
}

std::int64_t taken(const RowSample& sample, const Case& c) {
  std::int64_t count = 0;
  for (std::int64_t b = 0; b < c.batch; ++b)
    for (std::int64_t t = 0; t < c.tokens; ++t) count += sample.has(b, t) ? 1 : 0;
  return count;
}

TEST(RowSample, OfASmallCaseHasEveryRow) {
  const Case c = large_case(2, 128, 2);
  EXPECT_TRUE(RowSample::of(c).has_all());
  EXPECT_EQ(taken(RowSample::of(c), c), 256);
  EXPECT_TRUE(RowSample().has_all());
  EXPECT_TRUE(RowSample().has(1'000'000, 1'000'000));
}

TEST(RowSample, OfALargeCaseHasItsEndsAndAPart) {
  Case c = large_case(40, 1000, 32);
  const RowSample sample = RowSample::of(c);
  EXPECT_FALSE(sample.has_all());
  for (const std::int64_t b : {0, 1, 2, 3, 36, 37, 38, 39}) {
    EXPECT_TRUE(sample.has(b, 0));
    EXPECT_TRUE(sample.has(b, 999));
  }
  for (const std::int64_t t : {0, 1, 2, 3}) {
    EXPECT_TRUE(sample.has(0, t));
    EXPECT_TRUE(sample.has(39, 999 - t));
  }
  // 2^16 elements are 16 tokens here, beside 22 at the ends.
  EXPECT_GT(taken(sample, c), 22);
  EXPECT_LT(taken(sample, c), 80);
  // Another seed takes other tokens.
  c.seed = 2;
  const RowSample other = RowSample::of(c);
  std::int64_t both = 0;
  for (std::int64_t b = 0; b < c.batch; ++b)
    for (std::int64_t t = 0; t < c.tokens; ++t) both += sample.has(b, t) && other.has(b, t) ? 1 : 0;
  EXPECT_LT(both, taken(other, c));
}

// ---- buffers

TEST(PlacedBuffers, InputsBetweenOutputsKeepTheirBytes) {
  Oracle oracle;
  const Problem p = make_problem(  // q.out_at: one element between them
      case_from_text("tokens=2 q.heads=2 one_buffer=1 q.in=0,10,5 q.out=0,10,5 q.out_at=3"),
      oracle);
  const int buffer = p.output(0).buffer;
  ASSERT_EQ(p.buffer(Operand::in), buffer);
  const Buffer& b = p.buffers[static_cast<std::size_t>(buffer)];
  for (const int placement : {0, 1}) {
    const std::uint64_t gaps = gap_bits(p, b, placement);
    EXPECT_EQ(gaps == poison_bits(Poison::a, b.dtype), placement == 0) << "then a number";
    EXPECT_EQ(std::isnan(std::bit_cast<float>(static_cast<std::uint32_t>(gaps))), placement == 0);
    const Placed at = place_buffers(p, {0, placement, true}, {}, 0).front();
    std::vector<std::byte> memory(at.pages_bytes);
    const auto& content = given(p, placement, buffer);
    // What is said when the byte `byte` of the buffer has changed.
    const auto after_change = [&](std::size_t byte) {
      write_buffer(b, content, at, memory.data(), poison_of(placement), gaps);
      EXPECT_EQ(find_stray_write(b, content, at, memory.data(), gaps), "");
      memory[at.lead + byte] ^= std::byte{1};
      return find_stray_write(b, content, at, memory.data(), gaps);
    };
    EXPECT_EQ(after_change(20), "changed its input: q.in_out, element 5 (of 20), byte offset 20");
    EXPECT_EQ(after_change(12), "") << "an output";
    EXPECT_EQ(after_change(11),
              "wrote outside its rows: q.in_out, element 2 (of 20), byte offset 8");
  }
}

}  // namespace
}  // namespace ropewalk::harness
