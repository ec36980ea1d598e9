// The report as data for the templates: every value is ready to print, every name used once, so
// that a template decides only where things stand. HTML and Markdown share it.
#pragma once
#include <kainjow/mustache.hpp>
#include <string>

#include "reports/record.h"
#include "reports/summary.h"

namespace ropewalk {

using View = kainjow::mustache::data;

View make_view(const Results& results, const Summary& summary);

/// The charts of the curve rows: pictures for HTML, tables for Markdown.
View chart_pictures(const Results& results, const std::string& gnuplot);
View chart_tables(const Results& results);

/// The text of templates/NAME, compiled in.
std::string template_text(const std::string& name);

/// {{x}} goes through `escape`; an error in a template throws std::logic_error.
std::string fill_template(const std::string& name, View view,
                          const kainjow::mustache::mustache::escape_handler& escape);

}  // namespace ropewalk
