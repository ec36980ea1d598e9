#include "reports/numbers/compare.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "reports/pages/render.h"
#include "reports/testing/sample_results.h"

namespace ropewalk::report {
namespace {

/// A run in which both builds of turn have the times of `elementwise`, head's times `factor`.
Results run_of(double factor) {
  Results results = sample_results();
  results.complete = true;
  const auto build = [&](auto rows, const std::string& kernel) {
    std::erase_if(rows, [](const auto& row) { return row.kernel != "elementwise"; });
    for (auto& row : rows) row.kernel = kernel;
    return rows;
  };
  for (const std::string kernel : {"base:turn", "head:turn"}) {
    const auto verdicts = build(results.verdicts, kernel);
    results.verdicts.insert(results.verdicts.end(), verdicts.begin(), verdicts.end());
    for (TimingRow& row : build(results.timings, kernel)) {
      for (double& ns : row.ns_per_token) ns *= kernel == "head:turn" ? factor : 1;
      results.timings.push_back(row);
    }
  }
  return results;
}

/// The times of head's round i are multiplied by factor_of(i).
template <class Factor>
Results changed(Results results, Factor&& factor_of) {
  for (TimingRow& row : results.timings)
    for (std::size_t i = 0; row.kernel == "head:turn" && i < row.ns_per_token.size(); ++i)
      row.ns_per_token[i] *= factor_of(i);
  return results;
}

template <class Change>
Results with_head(Results results, Change&& change) {
  for (TimingRow& row : results.timings)
    if (row.kernel == "head:turn") change(row);
  return results;
}

Comparison compare(const Results& run, double max_regression = 0.05) {
  return compare_builds(run, "run.jsonl", max_regression);
}

enum class Answer { regressed, cannot_tell, no_worse, not_compared };
Answer answer_of(const ComparedCell& cell) {
  EXPECT_FALSE(cell.regression && cell.cannot_tell) << cell.note;
  if (cell.regression || cell.cannot_tell)
    return cell.regression ? Answer::regressed : Answer::cannot_tell;
  return cell.ratio.rounds > 0 ? Answer::no_worse : Answer::not_compared;
}

/// The answer of all cells, which all have the same.
Answer answer_of(const Comparison& comparison) {
  EXPECT_EQ(comparison.cells.size(), 12u) << "six workloads, two pairings";
  for (const ComparedCell& cell : comparison.cells) {
    EXPECT_EQ(cell.kernel, "turn");
    EXPECT_EQ(answer_of(cell), answer_of(comparison.cells.front())) << cell.note;
  }
  return answer_of(comparison.cells.front());
}

TEST(CompareBuilds, FindsTheSlowerBuildAndNoOther) {
  const Comparison equal = compare(run_of(1)), twice = compare(run_of(2));
  EXPECT_EQ(answer_of(equal), Answer::no_worse);
  EXPECT_EQ(exit_code_of(equal), 0);
  EXPECT_EQ(answer_of(compare(run_of(0.9))), Answer::no_worse);
  EXPECT_EQ(answer_of(twice), Answer::regressed);
  EXPECT_EQ(twice.regressions, 12);
  EXPECT_EQ(exit_code_of(twice), 1);
  EXPECT_NEAR(twice.cells.front().ratio.ratio, 2, 1e-9);
  EXPECT_EQ(twice.cells.front().launches_b, 3);
  // Noise of both builds in a round is no noise of the ratio.
  EXPECT_NEAR(equal.cells.front().ratio.low, 1, 1e-9);
  // A slowdown that is allowed.
  EXPECT_EQ(answer_of(compare(run_of(1.2), 0.25)), Answer::no_worse);
  EXPECT_EQ(answer_of(compare(run_of(1.2), 0.15)), Answer::regressed);
}

TEST(CompareBuilds, NoiseIsNoAnswer) {
  const auto uneven = [](std::size_t round) { return round % 2 == 0 ? 0.8 : 1.3; };
  const Comparison noisy = compare(changed(run_of(1), uneven));
  EXPECT_EQ(answer_of(noisy), Answer::cannot_tell);
  EXPECT_EQ(exit_code_of(noisy), 3);
  // One launch that was faster as a whole.
  const auto one_launch = [](TimingRow& row) {
    if (row.launch == 1)
      for (double& ns : row.ns_per_token) ns *= 0.5;
  };
  EXPECT_EQ(answer_of(compare(with_head(run_of(2), one_launch))), Answer::cannot_tell);
  // The twin differs from the baseline by more than head from base.
  Results invalid = run_of(1.2);
  for (TimingRow& row : invalid.timings)
    for (double& ns : row.ns_per_token) ns *= row.is_twin() ? 1.3 : 1;
  EXPECT_EQ(answer_of(compare(invalid)), Answer::cannot_tell);
  const auto doubled = [](std::size_t) { return 2; };
  EXPECT_EQ(answer_of(compare(changed(invalid, doubled))), Answer::regressed);
  // Too few rounds for an interval.
  Results short_run = run_of(2);
  for (TimingRow& row : short_run.timings)
    row.ns_per_token.resize(std::min<std::size_t>(row.ns_per_token.size(), 1));
  EXPECT_EQ(answer_of(compare(short_run)), Answer::cannot_tell);
}

TEST(CompareBuilds, WithoutAnAnswerTheCellSaysWhatWouldDecide) {
  const auto noise = [](std::size_t round) { return round % 2 == 0 ? 1 / 1.3 : 1.3; };
  const Results run = changed(run_of(1.2), noise);
  const ComparedCell far = compare(run).cells.front();
  ASSERT_EQ(answer_of(far), Answer::cannot_tell);
  EXPECT_NE(far.note.find(" times as much timing may decide it"), std::string::npos) << far.note;
  const double at_the_ratio = far.ratio.ratio - 1 + 1e-6;
  const ComparedCell near = compare(run, at_the_ratio).cells.front();
  ASSERT_EQ(answer_of(near), Answer::cannot_tell);
  EXPECT_TRUE(near.note.starts_with("unchanged code differs by ")) << near.note;
}

TEST(CompareBuilds, AKernelWithoutASpeed) {
  EXPECT_EQ(answer_of(compare(with_head(run_of(1), make_broken))), Answer::regressed);
  const auto skip = [](TimingRow& row) {
    make_broken(row);
    row.outcome = Outcome::skipped;
  };
  EXPECT_EQ(answer_of(compare(with_head(run_of(1), skip))), Answer::cannot_tell);
  Results base_broken = run_of(1);
  for (TimingRow& row : base_broken.timings)
    if (row.kernel == "base:turn") make_broken(row);
  EXPECT_EQ(answer_of(compare(base_broken)), Answer::not_compared);
  EXPECT_EQ(exit_code_of(compare(base_broken)), 3) << "nothing was compared";
  // Head has lost the kernel, and has a new one.
  const auto rename = [](TimingRow& row) { row.kernel = "head:other"; };
  Results renamed = with_head(run_of(1), rename);
  for (VerdictRow& row : renamed.verdicts)
    if (row.kernel == "head:turn") row.kernel = "head:other";
  const Comparison lost = compare(renamed);
  EXPECT_EQ(lost.regressions, 12);
  EXPECT_EQ(lost.cells.front().kernel, "turn");
  EXPECT_EQ(answer_of(lost.cells.back()), Answer::not_compared);
}

TEST(CompareBuilds, AVerdictThatFailsInHeadAlone) {
  Results results = run_of(1);
  for (VerdictRow& row : results.verdicts)
    if (row.kernel.ends_with(":turn") && row.dtype == "f64" && row.property == "norm") {
      row.verdict = Verdict::fail;  // of a type that is not timed
      row.reason = "too long";
    }
  EXPECT_EQ(exit_code_of(compare(results)), 0) << "base fails too";
  for (VerdictRow& row : results.verdicts)
    if (row.kernel == "base:turn") row.verdict = Verdict::pass;
  const Comparison fails = compare(results);
  ASSERT_EQ(fails.verdicts.size(), 1u);
  EXPECT_TRUE(fails.verdicts.front().starts_with("turn: norm")) << fails.verdicts.front();
  EXPECT_EQ(exit_code_of(fails), 1);
}

TEST(CompareBuilds, RefusesARunThatCannotBeCompared) {
  Results cut = run_of(1);
  cut.complete = false;
  EXPECT_THROW(compare(cut), BadFile);
  EXPECT_THROW(compare(with_head(run_of(1), [](TimingRow& row) { row.kernel = "x"; })), BadFile);
  EXPECT_THROW(compare(sample_results()), BadFile);
}

TEST(CompareBuilds, TheTableHasTheAnswers) {
  const auto text = [](const Results& run) { return comparison_text(compare(run)); };
  const std::string twice = text(run_of(2)), less = text(run_of(1.0123));
  EXPECT_TRUE(twice.starts_with("# ✗ 12 regressions\n\nbase → head, in run.jsonl")) << twice;
  const std::string of = " % | turn | llama-3-8b/decode-1 |";
  EXPECT_TRUE(contains(twice, "| ✗ SLOWER | seen: at least 99.9" + of) ||
              contains(twice, "| ✗ SLOWER | seen: at least 100.0" + of))
      << twice;
  EXPECT_TRUE(contains(less, " | none: at most 1.3 % | turn | ")) << "rounded up: " << less;
  const std::string broken = text(with_head(run_of(1), make_broken));
  EXPECT_TRUE(contains(broken, "| ✗ BROKEN | seen | turn | ")) << broken;
  EXPECT_TRUE(contains(broken, " | agreement FAIL |\n")) << broken;
}

}  // namespace
}  // namespace ropewalk::report
