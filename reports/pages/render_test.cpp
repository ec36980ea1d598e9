#include "reports/pages/render.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <set>
#include <sstream>

#include "base/testing/refusal.h"
#include "reports/numbers/summary.h"
#include "reports/pages/report.h"
#include "reports/testing/sample_results.h"
#include "reports/testing/temp_folder.h"

namespace ropewalk::report {
namespace {

/// The four formats of a report.
std::vector<std::string> all_formats(const Results& results) {
  return {markdown_of(results), html_of(results), csv_of(results), junit_of(results)};
}

/// One kernel that holds, timed once beside its ceiling.
Results small_results() {
  TimingRow ceiling = sample_timing();
  ceiling.kernel = "ceiling_update";
  ceiling.board = "f32 / in place";
  ceiling.role = Role::ceiling;
  ceiling.ns_per_token = {78.65};
  ceiling.iterations = {1000};
  ceiling.ns_per_token_median = 78.65;
  ceiling.gb_per_s_median = 520.8;
  return results_of({sample_verdict()}, {sample_timing(), ceiling});
}

TEST(Render, SameResultsSameBytes) {
  const Results results = sample_results();
  EXPECT_EQ(all_formats(results), all_formats(results));
}

TEST(Render, NothingAtAllStillRenders) {
  const Results results;
  for (const std::string& text : all_formats(results)) EXPECT_FALSE(text.empty());
  EXPECT_TRUE(contains(html_of(results), "Cut off: Nothing was verified so far"));
}

TEST(Headline, SaysWhatHappened) {
  Results results = small_results();
  EXPECT_EQ(summarize(results).headline, "1 kernel verified");
  results.verdicts.push_back(sample_verdict());
  results.verdicts.back().kernel = "dense";
  EXPECT_EQ(summarize(results).headline, "All 2 kernels verified");
  EXPECT_EQ(summarize(results).standing, Standing::verified);
  results.end.exit_code = 1;
  EXPECT_EQ(summarize(results).headline,
            "All 2 kernels verified, but the run ended with exit code 1");
  results.end.exit_code = 0;
  results.verdicts.push_back(sample_verdict());
  results.verdicts.back().kernel = "avx512";
  results.verdicts.back().verdict = Verdict::skipped;
  EXPECT_EQ(summarize(results).headline, "2 kernels verified, 1 could not run");
  results.verdicts.back().verdict = Verdict::hang;
  EXPECT_EQ(summarize(results).headline, "1 of 3 kernels failed");
  results.complete = false;
  EXPECT_EQ(summarize(results).headline, "Cut off: 1 of 3 kernels failed so far");
}

TEST(Summary, NothingComparedIsNoPass) {
  Results results = small_results();
  results.verdicts[0].compared = 0;
  const Summary summary = summarize(results);
  EXPECT_EQ(summary.standing, Standing::failed);
  EXPECT_EQ(summary.verdicts.at(Verdict::vacuous), 1);
}

TEST(Summary, OfTwoVerdictsOnACellTheWorseIsShown) {
  Results results = small_results();
  results.verdicts.push_back(sample_verdict());
  results.verdicts.back().margin = 0.731;
  EXPECT_EQ(summarize(results).matrix.at(0).cells.at(0)->margin, 0.731);
  results.verdicts.push_back(sample_verdict());
  results.verdicts.back().verdict = Verdict::crash;
  EXPECT_EQ(summarize(results).matrix.at(0).cells.at(0)->verdict, Verdict::crash);
  EXPECT_EQ(summarize(results).failures.size(), 1u);
}

TEST(Summary, AMarginThatIsNoNumberIsTheWorst) {
  Results results = small_results();
  results.verdicts.push_back(sample_verdict());
  results.verdicts.back().margin = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(contains(markdown_of(results), "● nan"));
}

TEST(Boards, ACeilingStandsWhereItsPartsAre) {
  const Results results = small_results();
  const Summary summary = summarize(results);
  ASSERT_EQ(summary.boards.size(), 1u);
  const auto& entries = summary.boards[0].contests.at(0).entries;
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_TRUE(entries[0].row->is_ceiling());
  EXPECT_EQ(entries[0].rank, 0);
  EXPECT_EQ(entries[1].rank, 1);
  EXPECT_NEAR(entries[1].percent_of_ceiling, 50, 0.01);
  Results other = small_results();
  other.timings[1].board = "f32 / out of place";
  EXPECT_EQ(summarize(other).boards.size(), 2u);
}

TEST(Boards, UnlikeWorkIsNeverInOneTable) {
  Results results = small_results();
  for (const auto& [board, workload] : std::vector<std::pair<std::string, std::string>>{
           {"interleaved / f32 / in place / table", "llama-3-8b/decode-1"},
           {"half_split / f32 / in place / table", "llama-3-8b/prefill-2048"}}) {
    results.timings.push_back(sample_timing());
    results.timings.back().board = board;
    results.timings.back().workload = workload;
  }
  results.verdicts.push_back(sample_verdict());
  results.verdicts.back().pairing = "interleaved";
  for (const Board& board : summarize(results).boards)
    for (const Contest& contest : board.contests)
      for (const BoardEntry& entry : contest.entries) {
        EXPECT_EQ(entry.row->workload, contest.of->workload);
        if (!entry.row->is_ceiling()) {
          EXPECT_EQ(entry.row->board, board.name);
        }
      }
  EXPECT_EQ(count(html_of(results), "<table class=\"ranks sortable\">"), 3u);
  EXPECT_EQ(count(markdown_of(results), "| kernel | ns/token |"), 3u);
}

// The ceiling and three kernels stand first, and what has no speed is not folded.
TEST(Leaderboards, FoldAllButThree) {
  Results results = sample_results();
  const auto again = [](auto& rows) {
    for (std::size_t i = 0, n = rows.size(); i < n; ++i)
      if (rows[i].kernel == "dense") {
        rows.push_back(rows[i]);
        rows.back().kernel = "denser";
      }
  };
  again(results.verdicts);
  again(results.timings);
  std::size_t folded = 0;
  for (const Board& board : summarize(results).boards)
    for (const Contest& contest : board.contests) {
      const auto ranked = std::ranges::count_if(contest.entries, [](const BoardEntry& e) {
        return e.has_speed && !e.row->is_reference();
      });
      folded += ranked > 4 ? static_cast<std::size_t>(ranked - 3) : 0;
    }
  EXPECT_GT(folded, 0u);
  EXPECT_EQ(count(html_of(results), " folded\">"), folded);
  EXPECT_FALSE(contains(markdown_of(results), " []")) << "a ratio without its interval";
}

/// Rows that state a speed although they may not have one.
std::vector<Results> broken_results() {
  std::vector<Results> all(5, small_results());
  all[0].timings[0].outcome = Outcome::broken;
  all[0].timings[0].reason = "agreement FAIL";
  all[1].timings[0].outcome = Outcome::implausible;
  all[2].verdicts[0].verdict = Verdict::fail;  // measured, but it failed
  all[3].verdicts[0].kernel = "another";       // measured, but never verified
  all[4].timings[0].outcome = Outcome::skipped;
  for (Results& results : all) {
    results.timings[0].ns_per_token = {77777.1, 77777.2, 77777.3};
    results.timings[0].ns_per_token_median = 77777.2;
    results.timings[0].gb_per_s_median = 88888.2;
  }
  return all;
}

TEST(Broken, HasNoNumberAnywhere) {
  for (const Results& results : broken_results())
    for (const std::string& text : all_formats(results))
      for (const char* number : {"77777", "77,777", "88888", "88,888"})
        EXPECT_FALSE(contains(text, number)) << number;
}

TEST(Broken, IsShownWithItsReason) {
  const auto all = broken_results();
  for (const Results& results : {all[0], all[2]}) {
    EXPECT_TRUE(contains(html_of(results), "✗ BROKEN</span> agreement FAIL"));
    EXPECT_TRUE(contains(markdown_of(results), "**✗ BROKEN** agreement FAIL"));
    EXPECT_TRUE(contains(csv_of(results), ",BROKEN,"));
  }
  EXPECT_TRUE(contains(html_of(all[3]), "not verified in this run"));
  Results ended = all[0];
  ended.end.exit_code = 1;
  EXPECT_TRUE(contains(junit_of(ended), "<failure type=\"BROKEN\""));
  EXPECT_EQ(count(junit_of(ended), "<failure "), 1u) << "a row states why";
  EXPECT_EQ(summarize(all[0]).headline, "1 of 1 kernel failed");
}

TEST(Broken, OnlyTheBoardsThatAFailureConcerns) {
  Results results = small_results();
  results.verdicts.push_back(sample_verdict());
  results.verdicts.back().pairing = "interleaved";
  results.verdicts.back().verdict = Verdict::fail;
  EXPECT_TRUE(summarize(results).boards.at(0).contests.at(0).entries.at(1).has_speed);
}

TEST(Hostile, IsInertInHtml) {
  const std::string page = html_of(hostile_results());
  EXPECT_EQ(count(page, "<script"), 1u) << "ours";
  EXPECT_EQ(count(page, "<img"), count(page, "<img class=\"chart\" alt=\"")) << "ours";
  EXPECT_FALSE(contains(page, "\x1b"));
  EXPECT_FALSE(contains(page, "\xff"));
  EXPECT_TRUE(contains(page, "&lt;script&gt;console.error(1)"));
  EXPECT_TRUE(contains(page, "{{headline}}"));
  EXPECT_EQ(count(page, "href=\"http"), 0u);
}

TEST(Hostile, IsInertInMarkdown) {
  const Results results = hostile_results();
  const std::string text = render_export(results) + markdown_of(results);
  EXPECT_FALSE(contains(text, "\n# =cmd"));
  std::istringstream lines(text);
  bool fenced = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("```", 0) == 0) fenced = !fenced;
    if (fenced) continue;
    EXPECT_FALSE(contains(line, "<script")) << line;
    EXPECT_FALSE(contains(line, "<img")) << line;
    EXPECT_FALSE(contains(line, "](http")) << line;
  }
  EXPECT_FALSE(fenced);
}

TEST(Hostile, KeepsEveryMarkdownTableInShape) {
  for (const Results& results : {sample_results(), hostile_results()}) {
    std::istringstream lines(markdown_of(results));
    std::size_t width = 0;
    for (std::string line; std::getline(lines, line);) {
      const bool in_table = line.starts_with('|');
      const std::size_t pipes = count(line, "|") - count(line, "\\|");
      if (in_table && width != 0) {
        EXPECT_EQ(pipes, width) << line;
      }
      width = in_table ? pipes : 0;
    }
  }
}

TEST(Matrix, ACellIsTheWorstOfItsLines) {
  Results results = small_results();
  for (const double margin : {0.9987, 0.2, 0.004}) {
    results.verdicts.push_back(sample_verdict());
    results.verdicts.back().pairing = "interleaved";
    results.verdicts.back().dtype = margin == 0.2 ? "f64" : "f32";
    results.verdicts.back().property = margin == 0.004 ? "norm" : "agreement";
    results.verdicts.back().margin = margin;
  }
  const std::string page = html_of(results);
  EXPECT_EQ(
      count(page, "class=\"good near\" title=\"agreement interleaved f32: PASS 0.9987\">● 0.99"),
      2u)
      << "in the map and in its group; cut off, never rounded up to 1";
  EXPECT_EQ(count(page, "class=\"good far\" title=\"norm interleaved f32: PASS 0.004\">○ &lt;.01"),
            1u);
  results.verdicts[1].verdict = Verdict::fail;
  EXPECT_EQ(count(html_of(results), "<td class=\"bad\" title=\"agreement interleaved"), 2u);
}

TEST(Hostile, IsInertInCsv) {
  Results results = sample_results();
  results.verdicts[0].kernel = "=cmd()|'/c calc'!A1";
  results.verdicts[0].reason = "a,\"b\"\nc";
  const std::string text = csv_of(results);
  EXPECT_TRUE(contains(text, "\nverdict,'=cmd()|'/c calc'!A1,"));
  EXPECT_TRUE(contains(text, "\"a,\"\"b\"\" c\""));
  EXPECT_EQ(count(text, "\n"),
            1 + results.verdicts.size() + results.timings.size() / 3);  // of two launches each
}

TEST(Hostile, IsInertInXml) {
  const std::string text = junit_of(hostile_results());
  EXPECT_FALSE(contains(text, "<script"));
  EXPECT_FALSE(contains(text, "<img"));
  for (const char c : text) EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20);
}

TEST(Html, AsksForNothing) {
  const std::string page = html_of(sample_results());
  const std::string policy = "default-src 'none'; style-src 'nonce-";
  const std::size_t at = page.find(policy);
  ASSERT_NE(at, std::string::npos);
  const std::string nonce = page.substr(at + policy.size(), 32);
  EXPECT_TRUE(fingerprint_of(sample_results()).ends_with(nonce));
  EXPECT_TRUE(contains(page, "'; script-src 'nonce-" + nonce + "'; img-src data:; "));
  EXPECT_EQ(count(page, "<style nonce=\"" + nonce + "\">"), 1u);
  EXPECT_EQ(count(page, "<script nonce=\"" + nonce + "\">"), 1u);
  EXPECT_FALSE(contains(page, "unsafe-inline"));
  EXPECT_FALSE(contains(page, " style=")) << "the policy would not let it have any effect";
  EXPECT_LT(page_text("report.js").size(), 10'000u);
  const std::string image = "<img class=\"chart\" alt=\"", data = "src=\"data:image/svg+xml,";
  EXPECT_EQ(count(page, image), 6u)
      << "two working sets, two forests, two curves; the trades are at one height";
  for (const char* request : {"<script src", "<link rel=\"stylesheet", "@import", "url(",
                              "href=\"http", "<iframe", "<object", "<embed"})
    EXPECT_FALSE(contains(page, request)) << request;
  EXPECT_EQ(count(page, "src="), count(page, data));
}

TEST(Html, LeadsFromAFailedCellToItsCase) {
  const std::string page = html_of(sample_results());
  EXPECT_EQ(count(page, "<a href=\"#failure-"), 1u + 3u)
      << "the worst of the kernel in the map, and of each of its properties";
  for (int i = 1; i <= 6; ++i)
    EXPECT_EQ(count(page, "<dl id=\"failure-" + std::to_string(i) + "\""), 1u);
  EXPECT_TRUE(contains(page, "ropewalk replay 'kernel=wrong_way"));
}

TEST(JUnit, CountsCases) {
  const Results results = sample_results();
  const std::string text = junit_of(results);
  EXPECT_TRUE(contains(text,
                       "<testsuites name=\"ropewalk\" tests=\"182\" failures=\"6\" "
                       "errors=\"0\" skipped=\"18\">"));
  EXPECT_EQ(count(text, "<testcase "), 182u);
  EXPECT_EQ(count(text, "<failure "), 6u);
  EXPECT_EQ(count(text, "<skipped "), 18u);
  Results cut_off = results;
  cut_off.complete = false;
  for (VerdictRow& row : cut_off.verdicts) row.cause = "writes noughts";
  EXPECT_EQ(count(junit_of(cut_off), "; cause: writes noughts\">"), 6u);
  EXPECT_EQ(count(junit_of(cut_off), "<failure type=\"CUT_OFF\""), 1u);
}

TEST(Csv, HasOneHeaderAndEqualLines) {
  EXPECT_TRUE(contains(csv_of(small_results()), ",200,200,200,1638400,"));
  std::istringstream lines(csv_of(small_results()));
  std::string header, line;
  std::getline(lines, header);
  while (std::getline(lines, line)) EXPECT_EQ(count(line, ","), count(header, ",")) << line;
  std::set<std::string> names;
  std::istringstream columns(header);
  for (std::string name; std::getline(columns, name, ',');)
    EXPECT_TRUE(names.insert(name).second) << name << " twice";
}

using WriteReport = TempFolder;

TEST_F(WriteReport, MakesFourFilesAndNoMore) {
  const auto out = folder / "new" / "report";
  write_report(sample_results(), out);
  write_report(sample_results(), out);
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(out)) {
    ++files;
    EXPECT_GT(entry.file_size(), 1000u) << entry.path();
  }
  EXPECT_EQ(files, 4u);
  EXPECT_EQ(bytes_of(out / "report.html"), html_of(sample_results()));
}

TEST_F(WriteReport, NamesWhatCannotBeWritten) {
  const auto taken = folder / "taken";
  put(taken, "a file");
  EXPECT_THROW(write_report(small_results(), taken), std::runtime_error);
  const auto out = folder / "out";
  std::filesystem::create_directories(out / "report.md" / "not a file");
  EXPECT_TRUE(contains(refusal_by<std::runtime_error>([&] { write_report(small_results(), out); }),
                       (out / "report.md").string() + ": cannot be written: "));
  std::size_t entries = 0;
  for (const auto& entry : std::filesystem::directory_iterator(out)) entries += entry.exists();
  EXPECT_EQ(entries, 1u);
}

}  // namespace
}  // namespace ropewalk::report
