// What a verdict rests on stands beside each kernel that is not native. A kernel that only the
// host launcher has judged is never shown as one that ran on a GPU.
#include <gtest/gtest.h>

#include <sstream>

#include "reports/numbers/summary.h"
#include "reports/pages/certificate.h"
#include "reports/pages/render.h"
#include "reports/testing/sample_results.h"
#include "reports/testing/text.h"

namespace ropewalk::report {
namespace {

const std::string device = "cuda: NVIDIA H100 80GB HBM3";
const std::string note =
    "1 of 3 verified kernels was judged by the host launcher: its verdict says nothing about a GPU";

/// The lines of `text` that hold `what`.
std::string lines_with(const std::string& text, const std::string& what) {
  std::string out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (contains(line, what)) out += line + '\n';
  return out;
}

VerdictRow verdict_on(const std::string& kernel, const std::string& judged_on) {
  VerdictRow row = sample_verdict();
  row.kernel = kernel;
  row.judged_on = judged_on;
  return row;
}

/// One native kernel, one of the host launcher and one of a device hold.
Results mixed_results() {
  Results results;
  results.run = sample_results().run;
  results.verdicts = {verdict_on("plain", "native"), verdict_on("mine_host", "host launcher"),
                      verdict_on("mine", device)};
  results.complete = true;
  return results;
}

/// The sample, in which every verdict rests on `judged_on`.
Results sample_on(const std::string& judged_on) {
  Results results = sample_results();
  for (VerdictRow& row : results.verdicts) row.judged_on = judged_on;
  return results;
}

/// The pages of such a sample without its fingerprint, so that they differ only in what they show.
std::vector<std::string> pages_of(const Results& results) {
  const std::string fingerprint = fingerprint_of(results);
  std::vector<std::string> pages = {render_html(results), render_markdown(results),
                                    render_junit(results)};
  for (const std::string& what : {fingerprint, fingerprint.substr(fingerprint.find(':') + 1)})
    for (std::string& page : pages)
      for (std::size_t at; (at = page.find(what)) != std::string::npos;)
        page.erase(at, what.size());
  return pages;
}

TEST(JudgedOn, NativeAndUntoldLookTheSame) {
  const Results untold = sample_on(""), native = sample_on("native");
  EXPECT_EQ(pages_of(untold), pages_of(native));
  for (const std::string& text : {render_html(native), render_markdown(native)})
    for (const char* word : {"host launcher", "judged on", "GPU"})
      EXPECT_FALSE(contains(text, word)) << word;
  // The note leaves no trace in the page of a run that has none.
  EXPECT_TRUE(contains(render_html(native), "  </ul>\n  <p class=\"counted\">Planned"));
  EXPECT_TRUE(contains(render_markdown(native), "** values\n\n\n| run | |"));
  const auto other = pages_of(sample_on("host launcher")), without = pages_of(native);
  for (std::size_t i = 0; i < other.size(); ++i) EXPECT_NE(other[i], without[i]);
}

TEST(JudgedOn, ThePageSaysWhatEachVerdictRestsOn) {
  const std::string page = render_html(mixed_results());
  EXPECT_TRUE(contains(page, "<span>All 3 kernels verified (1 by the host launcher)</span>"));
  EXPECT_TRUE(contains(page, "<b>3</b> kernels verified, 1 by the host launcher</li>"));
  EXPECT_TRUE(contains(page, "<p class=\"counted\">" + note + ".</p>"));
  EXPECT_TRUE(contains(page, "mine_host</span> <span class=\"tag\">host launcher</span>"));
  EXPECT_TRUE(contains(page, "mine</span> <span class=\"tag\">" + device + "</span>"));
  EXPECT_FALSE(contains(page, "plain</span> <span class=\"tag\">"));
  EXPECT_EQ(count(page, "verified</span><span class=\"sub\">by the host launcher, not on a GPU"),
            1u);
  EXPECT_EQ(count(page, "<span class=\"sub\">host launcher</span>"), 2u) << "map, matrix";
  EXPECT_EQ(count(page, "<span class=\"sub\">" + device + "</span>"), 2u) << "map, matrix";
}

TEST(JudgedOn, MarkdownSaysIt) {
  const std::string text = render_markdown(mixed_results());
  EXPECT_TRUE(contains(text, "\n" + note + ".\n"));
  EXPECT_TRUE(contains(text,
                       "| `mine_host` (`host launcher`) | ✓ verified by the host launcher, "
                       "not on a GPU |"));
  EXPECT_TRUE(contains(text, "| `mine` (`" + device + "`) | ✓ verified |"));
  EXPECT_TRUE(contains(text, "| `plain` | ✓ verified |"));
  EXPECT_TRUE(contains(text, "| `mine_host` (`host launcher`) | `half_split` |"));
  EXPECT_TRUE(contains(text, "| `plain` | `half_split` |"));
}

TEST(JudgedOn, JUnitNamesItInSuiteAndCase) {
  Results results = mixed_results();
  results.verdicts[1].plugin = "mine.so";
  results.verdicts[1].verdict = Verdict::fail;
  const std::string text = render_junit(results);
  EXPECT_TRUE(contains(text, "<testsuite name=\"mine_host (host launcher) (mine.so)\""));
  EXPECT_TRUE(contains(text, "classname=\"mine_host (host launcher).half_split.f32.table\""));
  EXPECT_TRUE(contains(text, "judged on: host launcher\n"));
  EXPECT_TRUE(contains(text, "<testsuite name=\"mine (" + device + ")\""));
  EXPECT_TRUE(contains(text, "<testsuite name=\"plain\""));
  EXPECT_TRUE(contains(text, "classname=\"plain.half_split.f32.table\""));
}

TEST(JudgedOn, CsvHasAColumn) {
  const std::string text = render_csv(mixed_results());
  EXPECT_TRUE(
      text.substr(0, text.find('\n')).ends_with(",judged_on,declared,coverage,not_offered"));
  for (const char* words : {"native", "host launcher"})
    EXPECT_TRUE(contains(text, std::string(",,") + words + ",,,\n")) << words;
  EXPECT_TRUE(contains(text, ",," + device + ",,,\n"));
}

TEST(JudgedOn, TheHeadlineSetsTheHostLauncherApart) {
  Results results = mixed_results();
  results.verdicts.push_back(verdict_on("other", "cuda"));
  results.verdicts.back().verdict = Verdict::skipped;
  EXPECT_EQ(summarize(results).headline,
            "3 kernels verified (1 by the host launcher), 1 could not run");
  EXPECT_TRUE(contains(render_html(results), "other <span class=\"tag\">cuda</span></th>"));
  EXPECT_TRUE(contains(render_markdown(results), "| `other` (`cuda`) | SKIPPED |"));
  results.verdicts = {verdict_on("mine_host", "host launcher")};
  EXPECT_EQ(summarize(results).headline, "1 kernel verified by the host launcher");
  results.verdicts.push_back(verdict_on("naive_host", "host launcher"));
  EXPECT_EQ(summarize(results).headline, "All 2 kernels verified by the host launcher");
  EXPECT_TRUE(contains(render_markdown(results),
                       "2 of 2 verified kernels were judged by the host launcher: their verdicts"));
  for (VerdictRow& row : results.verdicts) row.judged_on = device;
  EXPECT_EQ(summarize(results).headline, "All 2 kernels verified");
  EXPECT_FALSE(contains(render_html(results), "host launcher"));
}

// Two verdicts under one name do not add up if they rest on different things.
TEST(JudgedOn, AVerdictByTheHostLauncherIsNoneOnADevice) {
  Results results = mixed_results();
  results.verdicts = {verdict_on("mine", "host launcher"), verdict_on("mine", device)};
  results.verdicts[1].verdict = Verdict::skipped;
  const Summary summary = summarize(results);
  ASSERT_EQ(summary.kernels.size(), 2u);
  EXPECT_EQ(summary.kernels[0].standing, Standing::verified);
  EXPECT_EQ(summary.kernels[1].standing, Standing::not_run);
  EXPECT_EQ(summary.matrix.size(), 2u);
  const std::string lines = lines_with(render_markdown(results), device);
  EXPECT_FALSE(contains(lines, "verified")) << lines;
  EXPECT_TRUE(contains(lines, "SKIPPED")) << lines;
}

TEST(JudgedOn, AFailureSaysIt) {
  Results results = mixed_results();
  results.verdicts[1].verdict = Verdict::fail;
  const std::string page = render_html(results), text = render_markdown(results);
  EXPECT_TRUE(contains(page, "half_split / f32 / table, host launcher</span></summary>"));
  EXPECT_TRUE(contains(page, "<dt>judged on</dt><dd>host launcher</dd>"));
  EXPECT_TRUE(contains(text, "\njudged on  host launcher\n"));
  EXPECT_FALSE(contains(page, "by the host launcher")) << "it is not verified";
}

// The host in a device's place has no speed that is worth a number.
TEST(JudgedOn, TheHostLauncherHasNoSpeed) {
  Results results = mixed_results();
  TimingRow row = sample_timing();
  row.ns_per_token = {77777.1, 77777.2, 77777.3};
  for (const char* kernel : {"mine_host", "plain"}) {
    row.kernel = kernel;
    results.timings = {row};
    const bool on_host = row.kernel == "mine_host";
    for (const std::string& text :
         {render_html(results), render_markdown(results), render_csv(results)}) {
      EXPECT_NE(contains(text, "77777") || contains(text, "77,777"), on_host);
      EXPECT_EQ(contains(text, "judged by the host launcher: not timed"), on_host);
    }
  }
}

const std::string hostile_device =
    "cuda: <img src=x onerror=alert(2)>|`]](http://evil.test)\n# =cmd(){{headline}}\x1b\xff";

TEST(JudgedOn, TheNameOfADeviceIsInert) {
  Results results = mixed_results();
  for (VerdictRow& row : results.verdicts) row.judged_on = hostile_device;
  results.verdicts[0].verdict = Verdict::fail;
  results.verdicts[1].verdict = Verdict::skipped;
  const std::string page = render_html(results), xml = render_junit(results);
  for (const std::string& text : {page, xml}) {
    EXPECT_FALSE(contains(text, "<img"));
    EXPECT_FALSE(contains(text, "\x1b"));
    EXPECT_FALSE(contains(text, "\xff"));
    EXPECT_TRUE(contains(text, "&lt;img src=x"));
  }
  EXPECT_TRUE(contains(page, "{{headline}}"));
  std::istringstream lines(render_markdown(results));
  std::size_t width = 0;
  bool fenced = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("```")) fenced = !fenced;
    const bool in_table = !fenced && line.starts_with('|');
    const std::size_t pipes = count(line, "|");
    if (in_table && width != 0) {
      EXPECT_EQ(pipes, width) << line;
    }
    width = in_table ? pipes : 0;
    EXPECT_TRUE(fenced || !contains(line, "](http")) << line;
    EXPECT_FALSE(line.starts_with("# =cmd")) << line;
  }
  const std::string csv = render_csv(results);
  EXPECT_EQ(count(csv, "\n"), 1 + results.verdicts.size());
}

TEST(JudgedOn, ACertificateSaysItAndDoesNotJoinAnother) {
  CertificateRow row = sample_certificate();
  EXPECT_FALSE(contains(certificate_text({row}), "judged on"));
  row.judged_on = "native";
  EXPECT_FALSE(contains(certificate_text({row}), "judged on"));
  row.judged_on = "host launcher";
  EXPECT_TRUE(contains(certificate_text({row}),
                       "| judged on | host launcher: this says nothing about a GPU |"));
  EXPECT_EQ(difference(row, sample_certificate()), "judged_on: host launcher, not ");
  row.judged_on = device;
  EXPECT_TRUE(contains(certificate_text({row}), "| judged on | " + device + " |"));
}

}  // namespace
}  // namespace ropewalk::report
