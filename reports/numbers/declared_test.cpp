// A PASS by an error_bound beyond what the data type needs is never shown as a plain PASS.
#include <gtest/gtest.h>

#include "reports/numbers/summary.h"
#include "reports/pages/certificate.h"
#include "reports/pages/render.h"
#include "reports/testing/sample_results.h"
#include "reports/testing/text.h"

namespace ropewalk::report {
namespace {

const std::string in_bf16 = "declared 16 u of bf16 = 6.2 %, derived 5 u";
const std::string in_f32 = "declared 16 u of f32 = 9.5e-07, derived 5 u";

VerdictRow verdict_in(const std::string& kernel, const std::string& dtype,
                      const std::string& declared) {
  VerdictRow row = sample_verdict();
  row.kernel = kernel;
  row.dtype = dtype;
  row.judged_on = "native";
  row.declared = declared;
  return row;
}

/// Two kernels hold. One of them declares more than its two data types need.
Results results_of_two() {
  Results results;
  results.run = sample_results().run;
  results.verdicts = {verdict_in("plain", "f32", ""), verdict_in("coarse", "f32", in_f32),
                      verdict_in("coarse", "bf16", in_bf16)};
  results.complete = true;
  return results;
}

TEST(Declared, IsCountedApart) {
  Results results = results_of_two();
  EXPECT_EQ(summarize(results).kernels.size(), 2u) << "one kernel, whatever its types declare";
  EXPECT_EQ(summarize(results).kernels[1].declared, in_f32 + "; " + in_bf16);
  EXPECT_EQ(summarize(results).headline, "All 2 kernels verified (1 to a declared bound)");
  results.verdicts.erase(results.verdicts.begin());
  EXPECT_EQ(summarize(results).headline, "1 kernel verified to a declared bound");
  for (VerdictRow& row : results.verdicts) row.declared.clear();
  EXPECT_EQ(summarize(results).headline, "1 kernel verified");
}

TEST(Declared, StandsBesideTheKernelOnEveryPage) {
  const Results results = results_of_two();
  const std::string page = render_html(results), text = render_markdown(results);
  const std::string both = in_f32 + "; " + in_bf16;
  const std::string note =
      "1 of 2 verified kernels is held to an error that it declares, larger than its data type "
      "needs";
  EXPECT_TRUE(contains(page, "<p class=\"counted\">" + note + ".</p>"));
  EXPECT_TRUE(contains(page, "<b>2</b> kernels verified, 1 to a declared bound</li>"));
  EXPECT_TRUE(contains(page, "coarse</span> <span class=\"tag\">" + both + "</span>"));
  EXPECT_TRUE(contains(page, "<span class=\"sub\">" + both + "</span>")) << "in the matrix";
  EXPECT_FALSE(contains(page, "plain</span> <span class=\"tag\">"));
  EXPECT_TRUE(contains(text, "\n" + note + ".\n"));
  EXPECT_TRUE(contains(text, "| `coarse` (`" + both + "`) | ✓ verified |"));
  EXPECT_TRUE(contains(text, "| `coarse` (`" + in_bf16 + "`) | `half_split` | `bf16` |"));
  EXPECT_TRUE(contains(text, "| `plain` | ✓ verified |"));
  EXPECT_TRUE(contains(text, "| `plain` | `half_split` |"));
}

TEST(Declared, StandsInTheFilesForOtherPrograms) {
  const Results results = results_of_two();
  const std::string xml = render_junit(results), table = render_csv(results);
  EXPECT_TRUE(contains(xml, "<testsuite name=\"coarse (" + in_bf16 + ")\""));
  EXPECT_TRUE(contains(xml, "classname=\"coarse (" + in_bf16 + ").half_split.bf16.table\""));
  EXPECT_TRUE(contains(xml, "<testsuite name=\"plain\""));
  EXPECT_TRUE(contains(table, ",native,\"" + in_bf16 + "\",,\n"));
  EXPECT_TRUE(contains(table, ",native,,,\n"));
  EXPECT_TRUE(contains(to_json_line(results.verdicts[2]), "\"declared\":\"" + in_bf16 + "\""));
}

TEST(Declared, StandsBehindWhatTheVerdictRestsOn) {
  VerdictRow row = verdict_in("coarse", "f32", in_f32);
  EXPECT_EQ(words_beside(row), in_f32);
  row.judged_on = "host launcher";
  EXPECT_EQ(words_beside(row), "host launcher; " + in_f32);
  row.declared.clear();
  EXPECT_EQ(words_beside(row), "host launcher");
}

TEST(Declared, AFailureNamesItToo) {
  Results results = results_of_two();
  results.verdicts[2].verdict = Verdict::fail;
  EXPECT_TRUE(contains(render_html(results), "<dt>declared</dt><dd>" + in_bf16 + "</dd>"));
  EXPECT_TRUE(contains(render_markdown(results), "\ndeclared   " + in_bf16 + "\n"));
}

TEST(Declared, ACertificateSaysItAndDoesNotJoinAnother) {
  CertificateRow row = sample_certificate();
  EXPECT_FALSE(contains(certificate_text({row}), "declared"));
  row.declared = in_f32;
  EXPECT_TRUE(contains(certificate_text({row}), "| declared error | " + in_f32 + " |"));
  EXPECT_EQ(difference(row, sample_certificate()), "declared: " + in_f32 + ", not ");
}

}  // namespace
}  // namespace ropewalk::report
