// From rows to reports. Each function is pure: the same results give the same bytes. The summary is
// that of the results. For results with millions of rounds it takes most of the time, so it is made
// once for all formats.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "reports/document/document.h"
#include "reports/numbers/compare.h"
#include "reports/numbers/summary.h"
#include "reports/record/record.h"

namespace ropewalk::report {

/// The report as Markdown.
std::string render_markdown(const Results& results, const Summary& summary);

/// The answers as Markdown, fit for a pull request: a line about the run, and a table with a line
/// for each workload and board.
std::string render_export(const Results& results);

/// The report as one page. It requests nothing over the network. Without its script it only loses
/// sorting and filtering. `gnuplot` draws the charts; empty means the one of PATH.
/// Without gnuplot the page says so in their place.
std::string render_html(const Results& results, const Summary& summary,
                        const std::string& gnuplot = {});

/// One table with a header line and a line for each verdict and contestant. Column `row` names the
/// kind of row. A cell that does not apply is empty. Text that a spreadsheet would run as a formula
/// gets an apostrophe.
std::string render_csv(const Results& results, const Summary& summary);

/// JUnit XML with one suite for each kernel and one case for each verdict. FAIL, CRASH, HANG,
/// VACUOUS and a kernel that broke while timed are failures. UNSUPPORTED and SKIPPED are skipped. A
/// run that was cut off fails as well.
std::string render_junit(const Results& results, const Summary& summary);

/// A comparison: the answer stands first, and what did not become slower is folded away.
Document comparison_of(const Comparison& comparison);

/// report.css or report.js, which are compiled in.
std::string page_text(const std::string& name);

/// Writes report.md, report.html, results.csv and junit.xml into out_dir, each whole or not at all.
/// Makes out_dir if it is missing. Throws std::runtime_error with one line that names the file.
void write_report(const Results& results, const std::filesystem::path& out_dir);

}  // namespace ropewalk::report
