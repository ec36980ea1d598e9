// What tests ask of a page or a file.
#pragma once
#include <cstddef>
#include <string>

#include "reports/pages/render.h"

namespace ropewalk::report {

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

}  // namespace ropewalk::report
