// Is a page what its results make of it? Everything that is printed is worked out again.
#pragma once
#include <optional>
#include <string>

#include "reports/record/record.h"

namespace ropewalk::report {

struct PageCheck {
  bool holds = false;
  bool in_full = true;  ///< false: pictures of another gnuplot were compared by what they show
  std::string text;     ///< one line: what was compared, or the first thing that differs and where
};

/// Renders the results again and compares: those of `results` (a results file), or without it those
/// that the page carries. `name` stands for the page in messages; `gnuplot` as in render_html.
/// Throws BadFile for what is no page of this ropewalk.
PageCheck check_page(const std::string& page, const std::string& name,
                     const std::optional<Results>& results, const std::string& gnuplot = {});

/// The results that a page carries. Throws BadFile.
Results results_of_page(const std::string& page, const std::string& name);

}  // namespace ropewalk::report
