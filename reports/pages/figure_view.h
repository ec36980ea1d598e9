// Figures as data for the templates.
#pragma once
#include <string>
#include <vector>

#include "reports/figures/figure.h"
#include "reports/pages/view.h"

namespace ropewalk::report {

/// Figures as tables, and for HTML also as pictures. The ids of pictures begin with `id`.
View figure_tables(const std::vector<Figure>& figures);
View figure_pictures(const std::vector<Figure>& figures, const std::string& id,
                     const std::string& gnuplot);

}  // namespace ropewalk::report
