#include "tools/verbs/failures.h"

#include <gtest/gtest.h>

#include <limits>

#include "properties/search/verdict_rows.h"

namespace ropewalk::tools {
namespace {

using report::VerdictRow;

VerdictRow row_of(double margin, double bound, const std::string& unit) {
  VerdictRow row;
  row.margin = margin;
  row.bound = bound;
  row.bound_unit = unit;
  return row;
}

TEST(Failures, AnErrorIsAPartOfWhatItIsMeasuredBy) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  const struct {
    double margin, bound;
    const char *unit, *dtype, *text;
  } rows[] = {
      {1e6, 2.236, "u rho", "f32", "1.3e-01 of |x|, allowed 1.3e-07"},
      {2, 4, "u rho", "f64", "8.9e-16 of |x|, allowed 4.4e-16"},
      {3, 1, "u |x|", "bf16", "1.2e-02 of |x|, allowed 3.9e-03"},
      {3, 1, "u |q||k|", "f16", "1.5e-03 of |q||k|, allowed 4.9e-04"},
      {3, 1, "u", "f32", "1.8e-07, allowed 6.0e-08"},
      {1.001, 1, "u rho", "f32", "5.97e-08 of |x|, allowed 5.96e-08"},
      {inf, 1, "u rho", "f32", "is not a finite number, allowed 6.0e-08 of |x|"},
      {inf, 0, "bits", "f32", "where none is allowed"},
      {300, 0, "elements", "f32", "300 elements, allowed 0"},
      {3, 0, "u rho", "f32", "3.00 times what is allowed"},
      {2.5, 1, "bound", "f16", "2.50 times what is allowed"},
  };
  for (const auto& r : rows) {
    VerdictRow row = row_of(r.margin, r.bound, r.unit);
    row.dtype = r.dtype;
    EXPECT_EQ(properties::error_text(row), r.text);
  }
  VerdictRow of_k = row_of(3, 1, "u rho");
  of_k.where = "k[batch 0, token 0, head 0] pair 0";
  of_k.shrunk_case = "q.heads=1 k.heads=1 k.dtype=bf16";
  EXPECT_EQ(properties::error_text(of_k), "1.2e-02 of |x|, allowed 3.9e-03");
}

TEST(Failures, TheFirstOfAllHasACauseAndAReplayLine) {
  VerdictRow plain = row_of(2, 1, "u"), named = plain, held = plain;
  plain.property = "agreement";
  named.cause = "a cause";
  held.cause_ids = {"keeps_something"};
  EXPECT_TRUE(tells_more(named, plain) && tells_more(plain, held) && !tells_more(held, named));
}

// Which of its failures are of one cause, by their identifiers alone.
TEST(Failures, CausesAreToldByIdentifiers) {
  int cells = 0;
  const auto row_with = [&](const std::vector<std::string>& ids, const std::string& words) {
    VerdictRow row = row_of(2, 1, "u");
    row.cause_ids = ids;
    row.cause = row.reason = row.diagnosis = words;
    row.dtype = std::to_string(++cells);  // a cell of its own
    return row;
  };
  Causes causes;
  EXPECT_EQ(causes.add(row_with({"next_head"}, "some words")), 0u);
  EXPECT_EQ(causes.add(row_with({"next_head"}, "others (3 wrong pairs fit)")), 0u) << "equal ids";
  EXPECT_EQ(causes.add(row_with({"head_0"}, "some words")), 1u) << "equal words";
  EXPECT_EQ(causes.add(row_with({"zeros", "head_0"}, "two fit")), 1u) << "one id is shared";
  EXPECT_EQ(causes.add(row_with({"zeros"}, "")), 1u) << "and so is the other";
  EXPECT_EQ(causes.add(row_with({"TypeError at a.py line 1"}, "apply answered 2: shape 3")), 2u);
  EXPECT_EQ(causes.add(row_with({"TypeError at a.py line 1"}, "apply answered 2: shape 8")), 2u);
  EXPECT_EQ(causes.add(row_with({"TypeError at a.py line 2"}, "apply answered 2: shape 8")), 3u);
  VerdictRow known = row_with({"next_head"}, "some words");
  known.known = "until 2030-01-01: it is";
  EXPECT_EQ(causes.add(known), 4u) << "a known failure is apart";
}

// One without identifiers is that of its property and case; one gone once elements are put right is
// that of its cell, apart from one of what is not rotated.
TEST(Failures, CausesWithoutANameGoByCaseOrByCell) {
  VerdictRow row = row_of(2, 1, "u");
  row.property = "norm";
  row.shrunk_case = "pairing=interleaved dtype=f32 tokens=3";
  VerdictRow in_other_cell = row, of_other_case = row;
  in_other_cell.shrunk_case = "pairing=half_split dtype=bf16 tokens=3";
  in_other_cell.reason = "words";
  of_other_case.shrunk_case += "4";
  Causes causes;
  EXPECT_EQ(causes.add(row), 0u);
  EXPECT_EQ(causes.add(in_other_cell), 0u);
  EXPECT_EQ(causes.add(of_other_case), 1u);
  VerdictRow named = row, right = of_other_case, outside = of_other_case;
  named.cause_ids = {named.cause = "zeros"};
  right.cause_ids = {"put_right"};
  outside.cause_ids = {"put_right", "only_outside"};
  right.shrunk_case = outside.shrunk_case = "tokens=7";
  EXPECT_EQ(causes.add(named), 2u);
  EXPECT_EQ(causes.add(right), 2u);
  outside.property = "untouched_dims";
  EXPECT_EQ(causes.add(outside), 3u);
}

}  // namespace
}  // namespace ropewalk::tools
