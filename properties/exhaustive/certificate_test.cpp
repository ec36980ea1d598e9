#include "properties/exhaustive/certify.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace ropewalk::properties {
namespace {

using report::VerdictRow;

std::string words(std::int64_t first, std::int64_t last) {
  return "kernel=phase property=exhaustive contract=exact tokens=" +
         std::to_string(last - first + 1) + fmt::format(" rotary_dim=16 seed={:#x}", 7 + first) +
         " positions=from:" + std::to_string(first) + ":1 q.heads=3 q.head_dim=16";
}

// A part of 0:99, with its worst error at its first position.
CertificatePart part(std::int64_t first, std::int64_t last, double margin = 0.5) {
  VerdictRow row;
  row.kernel = "phase";
  row.pairing = "half_split";
  row.dtype = "f32";
  row.verdict = report::Verdict::pass;
  row.shrunk_case = words(first, last);
  row.part_of = words(0, 99) + " call_positions=9 oracle=b version=1 code=a";
  row.planned = row.executed = row.compared_cases = last - first + 1;
  row.compared = row.planned * 3 * 8;
  row.margin = margin;
  row.bound = 2;
  row.bound_unit = "u";
  row.where = "position " + std::to_string(first);
  row.judged_on = "native";
  return {row, "file_of_" + std::to_string(first)};
}

// Changes what the part says, in its words of the whole or in a field.
CertificatePart with(CertificatePart from, const std::string& word, const std::string& other) {
  const std::size_t at = from.row.part_of.find(word);
  EXPECT_NE(at, std::string::npos) << word;
  from.row.part_of.replace(at, word.size(), other);
  return from;
}

std::string refusal(std::vector<CertificatePart> parts) {
  try {
    joined(std::move(parts));
  } catch (const BadFile& bad) {
    return bad.what();
  }
  return "";
}

bool contains(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

TEST(Joined, KeepsTheWorstAndOfEqualErrorsTheSmallerPosition) {
  const VerdictRow equal = joined({part(50, 99), part(0, 49)}).front();
  EXPECT_EQ(equal.where, "position 0");
  EXPECT_EQ(equal.shrunk_case, words(0, 99)) << "the range of the whole";
  EXPECT_EQ(equal.compared, 100 * 3 * 8);
  const VerdictRow later = joined({part(0, 49), part(50, 99, 0.75)}).front();
  EXPECT_EQ(later.where, "position 50");
  EXPECT_EQ(later.margin, 0.75);
}

TEST(Joined, TwoDataTypesOfAKernelAreTwoWholes) {
  std::vector<CertificatePart> parts = {part(0, 49), part(0, 9, 0.7), part(50, 99), part(10, 99)};
  for (const std::size_t narrow : {1u, 3u}) parts[narrow].row.dtype = "bf16";
  const std::vector<VerdictRow> rows = joined(parts);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].dtype, "bf16");
  EXPECT_EQ(rows[0].margin, 0.7);
  EXPECT_EQ(rows[1].dtype, "f32");
  EXPECT_EQ(rows[1].margin, 0.5);
  parts[3].row.dtype = "f16";
  EXPECT_EQ(refusal(parts).find("positions 10:99 of"), 0u) << refusal(parts);
}

TEST(Joined, RefusesWhatIsNoWhole) {
  const struct {
    std::vector<CertificatePart> parts;
    const char* what;
  } cases[] = {
      {{part(0, 49)}, "positions 50:99 of"},
      {{part(50, 99)}, "positions 0:49 of"},
      {{part(0, 9), part(20, 99)}, "positions 10:19 of"},
      {{part(0, 49), part(40, 99)}, "overlap"},
      {{part(0, 99), part(10, 20)}, "overlap"},
      {{part(0, 99), part(0, 99)}, "in two files: file_of_0 and file_of_0"},
  };
  for (const auto& c : cases) {
    const std::string said = refusal(c.parts);
    EXPECT_TRUE(contains(said, c.what)) << said << "\nwanted: " << c.what;
    EXPECT_FALSE(contains(said, "\n"));
  }
  const PositionRange shard{50, 99};
  EXPECT_EQ(joined({part(50, 99)}, shard).front().where, "position 50");
}

TEST(Joined, RefusesPartsOfDifferentRuns) {
  const auto expect = [](const CertificatePart& other, const std::string& field) {
    const std::string said = refusal({part(0, 49), other});
    EXPECT_TRUE(contains(said, "not parts of one run: " + field + ": ")) << said;
  };
  const CertificatePart half = part(50, 99);
  expect(with(half, "version=1", "version=9"), "version");
  expect(with(half, "code=a", "code=c"), "code");
  expect(with(half, "oracle=b", "oracle=c"), "oracle");
  expect(with(half, " rotary_dim", " rope_theta=5 rotary_dim"), "rope_theta");
  expect(with(half, "seed=0x7", "seed=0x8"), "seed");
  expect(with(half, "tokens=100", "tokens=101"), "tokens");
  expect(with(half, "call_positions=9", "call_positions=8"), "call_positions");
  CertificatePart other = half;
  other.row.judged_on = "host launcher";
  expect(other, "judged_on");
  other = half;
  other.row.declared = "declared 16 u";
  expect(other, "declared");
  other = half;
  other.row.reason = "refused: backward";
  expect(other, "not sampled");
  other = half;
  other.row.kernel = "zeta";
  EXPECT_NE(refusal({part(0, 49), other}), "") << "two halves, no whole";
}

TEST(Joined, RefusesARowThatContradictsItself) {
  const auto said = [](auto&& change) {
    CertificatePart bad = part(0, 99);
    change(bad.row);
    return refusal({bad});
  };
  EXPECT_EQ(said([](VerdictRow&) {}), "");
  EXPECT_NE(said([](VerdictRow& r) { r.compared_cases -= 1; }), "");
  EXPECT_NE(said([](VerdictRow& r) { r.planned += 1; }), "");
  EXPECT_NE(said([](VerdictRow& r) { r.executed = 0; }), "");
  EXPECT_NE(said([](VerdictRow& r) { r.compared = 0; }), "");
  EXPECT_NE(said([](VerdictRow& r) { r.margin = 1.5; }), "");
  EXPECT_NE(said([](VerdictRow& r) { r.margin = 0.0 / 0.0; }), "");
  EXPECT_NE(said([](VerdictRow& r) { r.shrunk_case = words(0, 200); }), "");
}

// Foreign texts throw, and none of their numbers overflows.
TEST(Certificate, RefusesWordsOfNoRange) {
  for (const char* bad :
       {"x", "kernel=phase tokens=0", "kernel=phase rotary_dim=0", "kernel=phase dtype=f64",
        "tokens=9223372036854775807 positions=from:9223372036854775807:1",
        "positions=from:-9223372036854775808:1", "tokens=4294967296 positions=from:0:1"}) {
    VerdictRow row = part(0, 99).row;
    row.shrunk_case = bad;
    EXPECT_THROW(range_of(row), harness::BadCase) << bad;
    row.part_of = std::string(bad) + " call_positions=9";
    EXPECT_THROW(whole_plan_of(row), harness::BadCase) << bad;
  }
}

TEST(Certificate, SaysWhatItRestsOn) {
  VerdictRow row = part(0, 99).row;
  const std::string native = certificate_text({row});
  for (const char* word :
       {"| positions | 0 to 99, every one |", "| 100 positions, 800 blocks (position, pair) |",
        "| 0.500000 of its bound, 2 u; at position 0 |", "rotary_dim 16, rope_theta 10000, seed 7",
        "with int64 positions, and backward |", "| code | ropewalk, a |", "| oracle | b |"})
    EXPECT_TRUE(contains(native, word)) << word << "\n" << native;
  for (const char* word : {"judged on", "declared"}) EXPECT_FALSE(contains(native, word)) << word;
  row.judged_on = "host launcher";
  EXPECT_TRUE(contains(certificate_text({row}), "| judged on | host launcher, not a GPU |"));
  row.judged_on = "cuda: a GPU";
  EXPECT_TRUE(contains(certificate_text({row}), "| judged on | cuda: a GPU |"));
  row.declared = "declared 16 u";
  EXPECT_TRUE(contains(certificate_text({row}), "| declared error | declared 16 u |"));
  row.reason = "refused: backward";
  EXPECT_TRUE(contains(certificate_text({row}), "| refused: backward |"));
}

}  // namespace
}  // namespace ropewalk::properties
