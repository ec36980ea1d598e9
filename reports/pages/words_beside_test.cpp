// What a verdict rests on, and an error_bound beyond what the data type needs, stand beside each
// kernel that has them. A kernel that only the host launcher has judged is never shown as one that
// ran on a GPU.
#include <gtest/gtest.h>

#include <sstream>

#include "reports/numbers/summary.h"
#include "reports/pages/render.h"
#include "reports/testing/sample_results.h"

namespace ropewalk::report {
namespace {

const std::string device = "cuda: NVIDIA H100 80GB HBM3";
const std::string in_bf16 = "declared 16 u of bf16 = 6.2 %, derived 5 u";
const std::string in_f32 = "declared 16 u of f32 = 9.5e-07, derived 5 u";
const std::string note =
    "1 of 4 verified kernels is a CUDA kernel, checked on the CPU only. 1 of 4 verified "
    "kernels was checked against an error bound that it declares, larger than its data type needs.";

VerdictRow verdict_on(const std::string& kernel, const std::string& judged_on,
                      const std::string& dtype = "f32", const std::string& declared = "") {
  VerdictRow row = sample_verdict();
  row.kernel = kernel;
  row.judged_on = judged_on;
  row.dtype = dtype;
  row.declared = declared;
  return row;
}

/// One native kernel, one of the host launcher, one of a device and one that declares more than its
/// two data types need hold.
Results mixed_results() {
  return results_of({verdict_on("plain", "native"), verdict_on("mine_host", "host launcher"),
                     verdict_on("mine", device), verdict_on("coarse", "native", "f32", in_f32),
                     verdict_on("coarse", "native", "bf16", in_bf16)});
}

void expect_all(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) EXPECT_TRUE(contains(text, part)) << part;
}

TEST(WordsBeside, NativeAndUntoldLookTheSame) {
  Results untold = sample_results(), native = untold;
  for (VerdictRow& row : native.verdicts) row.judged_on = "native";
  // The fingerprint stands behind the page and, as the nonce, in front of its style.
  const auto shown = [](const Results& results) {
    const std::string page = html_of(results);
    const std::size_t body = page.find("<body>");
    return page.substr(body, page.find("<footer", body) - body);
  };
  EXPECT_EQ(shown(untold), shown(native));
  EXPECT_EQ(junit_of(untold), junit_of(native));
  for (const std::string& text : {html_of(native), markdown_of(native)})
    for (const char* word : {"host launcher", "judged on", "GPU"})
      EXPECT_FALSE(contains(text, word)) << word;
  EXPECT_EQ(words_beside("Native"), "Native") << "a word that is not ours is shown";
  EXPECT_EQ(words_beside(verdict_on("coarse", "host launcher", "f32", in_f32)),
            "host launcher; " + in_f32);
}

TEST(WordsBeside, StandOnThePage) {
  const std::string page = html_of(mixed_results());
  const std::string both = in_f32 + "; " + in_bf16;
  expect_all(page,
             {"<span>All 4 kernels verified (1 a CUDA kernel, checked on the CPU only) (1 to "
              "a declared bound)</span>",
              "<b class=\"good\">4</b> kernels verified,", "<p class=\"counted\">" + note + "</p>",
              "mine_<wbr>host</span> <span class=\"tag\">host launcher</span>",
              "mine</span> <span class=\"tag\">" + device + "</span>",
              "coarse</span> <span class=\"tag\">" + both + "</span>"});
  EXPECT_FALSE(contains(page, "plain</span> <span class=\"tag\">"));
  EXPECT_EQ(count(page, "verified</span> <small>by the host launcher, not on a GPU"), 1u);
  for (const std::string& words : {std::string("host launcher"), device, both})
    EXPECT_EQ(count(page, "<small>table, " + words + "</small>"), 2u) << "map, its group";
}

TEST(WordsBeside, StandInTheFiles) {
  expect_all(
      markdown_of(mixed_results()),
      {"\n" + note + "\n", "**✓ verified** (by the host launcher, not on a GPU) |",
       "| mine_host (host launcher)", "| mine (" + device + ")", "| plain (table) | ",
       "| mine_host (table, host launcher) | ", "| coarse (" + in_f32 + "; " + in_bf16 + ")"});
  Results results = mixed_results();
  results.verdicts[1].plugin = "mine.so";
  expect_all(
      junit_of(results),
      {"<testsuite name=\"mine_host (host launcher) (mine.so)\"",
       "classname=\"mine_host (host launcher).half_split.f32.table\"",
       "<testsuite name=\"mine (" + device + ")\"", "<testsuite name=\"plain\"",
       "classname=\"plain.half_split.f32.table\"", "<testsuite name=\"coarse (" + in_bf16 + ")\"",
       "classname=\"coarse (" + in_bf16 + ").half_split.bf16.table\""});
  const std::string csv = csv_of(results);
  EXPECT_TRUE(contains(csv.substr(0, csv.find('\n')), ",judged_on,declared,coverage,not_offered,"));
  expect_all(csv, {",native,,,", ",host launcher,,,", "," + device + ",,,",
                   ",native,\"" + in_bf16 + "\",,"});
}

TEST(WordsBeside, AreSetApartInTheHeadline) {
  const auto headline = [](std::vector<VerdictRow> rows) {
    const Results results = results_of(std::move(rows));
    return summarize(results).headline;
  };
  const VerdictRow host = verdict_on("mine_host", "host launcher");
  VerdictRow skipped = verdict_on("other", "cuda");
  skipped.verdict = Verdict::skipped;
  EXPECT_EQ(headline({host, verdict_on("plain", "native"), skipped}),
            "2 kernels verified (1 a CUDA kernel, checked on the CPU only), 1 could not run");
  EXPECT_EQ(headline({host}), "1 kernel verified on the CPU only");
  EXPECT_EQ(headline({host, verdict_on("naive_host", "host launcher")}),
            "All 2 kernels verified on the CPU only");
  EXPECT_EQ(headline({verdict_on("mine", device)}), "1 kernel verified");
  EXPECT_EQ(headline({verdict_on("coarse", "native", "f32", in_f32)}),
            "1 kernel verified to a declared bound");
  EXPECT_TRUE(
      contains(html_of(results_of({skipped})), "other</span> <span class=\"tag\">cuda</span>"));
}

// Two verdicts under one name do not add up if they rest on different things.
TEST(WordsBeside, AVerdictByTheHostLauncherIsNoneOnADevice) {
  Results results = results_of({verdict_on("mine", "host launcher"), verdict_on("mine", device)});
  results.verdicts[1].verdict = Verdict::skipped;
  const Summary summary = summarize(results);
  ASSERT_EQ(summary.kernels.size(), 2u);
  EXPECT_EQ(summary.kernels[0].standing, Standing::verified);
  EXPECT_EQ(summary.kernels[1].standing, Standing::not_run);
  EXPECT_EQ(summary.matrix.size(), 2u);
  std::istringstream lines(markdown_of(results));
  for (std::string line; std::getline(lines, line);)
    EXPECT_FALSE(contains(line, device) && contains(line, "verified")) << line;
}

TEST(WordsBeside, AFailureHasThem) {
  Results results = mixed_results();
  for (VerdictRow& row : results.verdicts) row.verdict = Verdict::fail;
  const std::string page = html_of(results), text = markdown_of(results);
  expect_all(page, {"half_split f32 table, host launcher</span></summary>",
                    "<dt>judged on</dt><dd>host launcher</dd>",
                    "<dt>declared</dt><dd>" + in_bf16 + "</dd>"});
  expect_all(text, {"\njudged on  host launcher\n", "\ndeclared   " + in_bf16 + "\n"});
  EXPECT_TRUE(contains(junit_of(results), "judged on: host launcher\n"));
  EXPECT_FALSE(contains(page, "by the host launcher")) << "it is not verified";
}

// The host in a device's place has no speed that is worth a number.
TEST(WordsBeside, TheHostLauncherHasNoSpeed) {
  Results results = mixed_results();
  TimingRow row = sample_timing();
  row.ns_per_token = {77777.1, 77777.2, 77777.3};
  for (const char* kernel : {"mine_host", "plain"}) {
    row.kernel = kernel;
    results.timings = {row};
    const bool on_host = row.kernel == "mine_host";
    for (const std::string& text : {html_of(results), markdown_of(results), csv_of(results)}) {
      EXPECT_NE(contains(text, "77777") || contains(text, "77,777"), on_host);
      EXPECT_EQ(contains(text, "judged by the host launcher: not timed"), on_host);
    }
  }
}

}  // namespace
}  // namespace ropewalk::report
