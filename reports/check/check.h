// Checks that a page shows what its results give. Everything that the page prints is computed
// again.
#pragma once
#include <optional>
#include <string>

#include "reports/record/record.h"

namespace ropewalk::report {

struct PageCheck {
  bool holds = false;
  /// False if another gnuplot drew the pictures, so that they were compared by content.
  bool in_full = true;
  std::string text;  ///< one line: what was compared, or the first difference and its place
};

/// Renders the results again and compares. The results are `results`, or else those that the page
/// carries. `name` stands for the page in messages; `gnuplot` is as in render_html. Throws BadFile
/// if `page` is no page of this ropewalk.
PageCheck check_page(const std::string& page, const std::string& name,
                     const std::optional<Results>& results, const std::string& gnuplot = {});

/// The results that a page carries. Throws BadFile if it carries none.
Results results_of_page(const std::string& page, const std::string& name);

}  // namespace ropewalk::report
