// A document as JUnit XML, by which CI servers show what failed.
#include <fmt/format.h>

#include "reports/document/document.h"

namespace ropewalk::report {
namespace {

struct Counts {
  int tests = 0, failures = 0, skipped = 0;
  double seconds = 0;
  void operator+=(const Counts& other) {
    tests += other.tests;
    failures += other.failures;
    skipped += other.skipped;
    seconds += other.seconds;
  }
};

std::string text_of(const Facts& facts) {
  std::string out;
  for (const Fact& fact : facts.facts)
    for (const Span& span : fact.value.spans)
      out += (&span == fact.value.spans.data() ? fact.name.spans.at(0).text.html() + ": " : " ") +
             span.text.html() + (&span == &fact.value.spans.back() ? "\n" : "");
  return out;
}

/// A known failure is <skipped>, as pytest writes its expected failures. CI servers neither count
/// it as a pass nor turn red for it, and they show its message. Most do not show a <property>.
std::string case_of(const Check& check, Counts& counts) {
  ++counts.tests;
  const double seconds = check.seconds > 0 && check.seconds < 1e9 ? check.seconds : 0;
  counts.seconds += seconds;
  std::string inside;
  const std::string message = fmt::format(" message=\"{}\"", check.message.html());
  if (check.standing == Standing::failed && !check.is_known) {
    ++counts.failures;
    inside = fmt::format("<failure type=\"{}\"{}>{}</failure>\n", check.verdict.html(), message,
                         text_of(check.facts));
  } else if (check.standing != Standing::verified) {
    ++counts.skipped;
    inside = fmt::format("<skipped{}/>\n", message);
    if (check.is_known)
      inside += fmt::format("<system-out>{}</system-out>\n", text_of(check.facts));
  }
  if (!check.output.empty())
    inside += fmt::format("<system-out>{}</system-out>\n", check.output.html());
  std::string group = check.kernel.html();
  if (!check.beside.empty()) group += " (" + check.beside.html() + ")";
  for (const char c : check.where.empty() ? "" : " " + check.where.html())
    group += c == ' ' ? '.' : c;
  return fmt::format("<testcase classname=\"{}\" name=\"{}\" time=\"{:.3f}\">{}</testcase>\n",
                     group, check.name.html(), seconds, inside);
}

}  // namespace

std::string junit_of(const Document& document) {
  Counts all;
  std::string suites;
  for (const Part& part : document.parts) {
    Counts counts;
    std::string cases;
    for (const Block& block : part.blocks)
      if (const auto* check = std::get_if<Check>(&block.content)) cases += case_of(*check, counts);
    suites += fmt::format(
        "<testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\" "
        "time=\"{:.3f}\">\n{}</testsuite>\n",
        part.title.html(), counts.tests, counts.failures, counts.skipped, counts.seconds, cases);
    all += counts;
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"{}\" tests=\"{}\" "
      "failures=\"{}\" errors=\"0\" skipped=\"{}\">\n{}</testsuites>\n",
      document.title.html(), all.tests, all.failures, all.skipped, suites);
}

}  // namespace ropewalk::report
