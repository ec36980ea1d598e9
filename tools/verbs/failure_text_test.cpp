#include "tools/verbs/failure_text.h"

#include <gtest/gtest.h>

#include <limits>

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

TEST(FailureText, AnErrorIsAPartOfWhatItIsMeasuredBy) {
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
  for (const auto& r : rows)
    EXPECT_EQ(error_text(row_of(r.margin, r.bound, r.unit), std::string("dtype=") + r.dtype),
              r.text);
  VerdictRow of_k = row_of(3, 1, "u rho");
  of_k.where = "k[batch 0, token 0, head 0] pair 0";
  EXPECT_EQ(error_text(of_k, "q.heads=1 k.heads=1 k.dtype=bf16"),
            "1.2e-02 of |x|, allowed 3.9e-03");
}

TEST(FailureText, TheFirstOfAllHasACauseAndAReplayLine) {
  VerdictRow plain = row_of(2, 1, "u"), named = plain, held = plain;
  plain.property = "agreement";
  named.cause = held.cause = "a cause";
  held.reason = std::string("wrong") + std::string(report::held_again);
  EXPECT_TRUE(tells_more(named, plain) && tells_more(plain, held) && !tells_more(held, named));
}

TEST(FailureText, LinesEndAtPartsThenAtSpacesThenAtCommas) {
  const std::string word(60, 'a');
  EXPECT_EQ(wrapped(word + "; " + word, 2), (std::vector{word + ";", "  " + word}));
  EXPECT_EQ(wrapped(word + " " + word, 2), (std::vector{word, "  " + word}));
  EXPECT_EQ(wrapped(word + "," + word, 2), (std::vector{word + ",", "  " + word}));
  EXPECT_EQ(wrapped(word + " " + word, 2, 61), (std::vector{word + " " + word}));
}

}  // namespace
}  // namespace ropewalk::tools
