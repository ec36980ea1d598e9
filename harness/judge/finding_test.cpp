#include "harness/judge/finding.h"

#include <gtest/gtest.h>

#include "harness/judge/judge.h"

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

TEST(Tally, FirstIsDescribedEvenWithoutError) {
  Tally tally;
  add(tally, 0, 1, "a");
  EXPECT_EQ(tally.finding().where, "a");
  EXPECT_EQ(tally.finding().margin, 0);
  EXPECT_TRUE(tally.finding().holds());
}

TEST(Tally, ErrorOfTheBoundHolds) {
  Tally tally;
  add(tally, 0x1p-1074, 0x1p-1074, "a");
  EXPECT_EQ(tally.finding().margin, 1);
  EXPECT_TRUE(tally.finding().holds());
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

TEST(Tally, BoundOfZeroMeansExact) {
  Tally exact;
  add(exact, 0, 0, "a");
  EXPECT_TRUE(exact.finding().holds());
  Tally off;
  add(off, 0x1p-1074, 0, "a");
  EXPECT_EQ(off.finding().margin, infinity);
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

}  // namespace
}  // namespace ropewalk::harness
