// The two formats that templates describe.
#include "reports/render.h"
#include "reports/text.h"
#include "reports/view.h"

namespace ropewalk {

std::string render_html(const Results& results, const std::string& gnuplot) {
  const Summary summary = summarize(results);
  View view = make_view(results, summary);
  view.set("style", template_text("report.css"));
  view.set("has_charts",
           View(results.curves.empty() ? View::type::bool_false : View::type::bool_true));
  view.set("charts", chart_pictures(results, gnuplot));
  return fill_template("report.html.mustache", view, kainjow::mustache::html_escape<std::string>);
}

std::string render_markdown(const Results& results) {
  const Summary summary = summarize(results);
  View view = make_view(results, summary);
  view.set("has_charts",
           View(results.curves.empty() ? View::type::bool_false : View::type::bool_true));
  view.set("charts", chart_tables(results));
  return fill_template("report.md.mustache", view,
                       [](const std::string& text) { return markdown_code(text); });
}

}  // namespace ropewalk
