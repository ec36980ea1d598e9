// The two formats that templates describe.
#include <fmt/format.h>

#include "reports/digest.h"
#include "reports/render.h"
#include "reports/text.h"
#include "reports/view.h"

namespace ropewalk {

namespace {

/// A template that another one includes.
View part(const std::string& name) {
  return kainjow::mustache::partial{[name] { return template_text(name); }};
}

/// Style and script, and the digests by which the page's policy knows them: no other style or
/// script has any effect in the page, whoever planted it.
void add_own_code(const Summary& summary, View& view) {
  const std::string style =
      fmt::format("\n:root {{ --columns: {}; }}\n", summary.properties.size()) +
      template_text("report.css");
  const std::string script = "\n" + template_text("report.js");
  view.set("style", style);
  view.set("style_hash", sha256_base64(style));
  view.set("script", script);
  view.set("script_hash", sha256_base64(script));
}

/// Everything but the figures, which each format shows its own way (template `figure`).
View page_view(const Results& results, const Summary& summary, const std::vector<Figure>& walks,
               const std::vector<Figure>& curves, const std::string& figure) {
  View view = make_view(results, summary);
  view.set("figure", part(figure));
  view.set("has_walks", flag(!walks.empty()));
  view.set("has_charts", flag(!curves.empty()));
  return view;
}

}  // namespace

std::string render_html(const Results& results, const std::string& gnuplot) {
  const Summary summary = summarize(results);
  const auto walks = working_set_figures(results, summary), curves = curve_figures(results);
  View view = page_view(results, summary, walks, curves, "figure.html.mustache");
  add_own_code(summary, view);
  view.set("cell", part("cell.html.mustache"));
  view.set("walks", figure_pictures(walks, "walk", gnuplot));
  view.set("charts", figure_pictures(curves, "chart", gnuplot));
  return fill_template("report.html.mustache", view, kainjow::mustache::html_escape<std::string>);
}

std::string render_markdown(const Results& results) {
  const Summary summary = summarize(results);
  const auto walks = working_set_figures(results, summary), curves = curve_figures(results);
  View view = page_view(results, summary, walks, curves, "figure.md.mustache");
  view.set("walks", figure_tables(walks));
  view.set("charts", figure_tables(curves));
  return fill_template("report.md.mustache", view,
                       [](const std::string& text) { return markdown_code(text); });
}

}  // namespace ropewalk
