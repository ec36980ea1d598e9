// Made-up results, for tests only, in which every part of a report has something to show, and what
// tests ask of a page or a file.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "reports/pages/render.h"

namespace ropewalk::report {

/// Four kernels that hold, and a plugin that rotates the wrong way, on three workloads.
Results sample_results();
/// The same with kernels that were timed on a device, in six workloads.
Results sample_device_results();
/// The same with names that a hostile plugin could have.
Results hostile_results();

/// A whole run with these rows alone.
Results results_of(std::vector<VerdictRow> verdicts, std::vector<TimingRow> timings = {});

VerdictRow sample_verdict();
TimingRow sample_timing();
TimingRow sample_device_timing();  ///< the same of kernel `cuda` on a device
/// The same, but of these times.
TimingRow timing_of(const std::string& kernel, Role role, std::int64_t launch,
                    std::vector<double> ns);
void make_broken(TimingRow& row);  ///< by "agreement FAIL", without its times

inline bool contains(const std::string& text, const std::string& what) {
  return text.find(what) != std::string::npos;
}

inline std::size_t count(const std::string& text, const std::string& what) {
  std::size_t times = 0;
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += what.size())
    ++times;
  return times;
}

// The formats of results whose summary the test does not need.
inline std::string html_of(const Results& results, const std::string& gnuplot = {}) {
  return render_html(results, summarize(results), gnuplot);
}
inline std::string markdown_of(const Results& results) {
  return render_markdown(results, summarize(results));
}
inline std::string csv_of(const Results& results) {
  return render_csv(results, summarize(results));
}
inline std::string junit_of(const Results& results) {
  return render_junit(results, summarize(results));
}

inline std::string comparison_text(const Comparison& comparison) {
  return markdown_of(comparison_of(comparison));
}

}  // namespace ropewalk::report
