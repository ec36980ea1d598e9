// Renders the two formats that templates describe.
#include <fmt/format.h>

#include <future>

#include "base/digest.h"
#include "base/text.h"
#include "reports/figures/chart.h"
#include "reports/figures/curves.h"
#include "reports/figures/forest.h"
#include "reports/figures/trade.h"
#include "reports/figures/working_set.h"
#include "reports/pages/figure_view.h"
#include "reports/pages/page_data.h"
#include "reports/pages/render.h"
#include "reports/pages/render_parts.h"
#include "reports/pages/view.h"

namespace ropewalk::report {

namespace {

/// A template that another template includes.
View part(const std::string& name) {
  return kainjow::mustache::partial{[name] { return template_text(name); }};
}

/// Adds style and script, with the digests by which the page's policy knows them. No other style or
/// script has any effect in the page, even if a foreign name plants one.
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

struct Figures {
  std::vector<Figure> walks, forests, trades, curves;
};

Figures figures_of(const Results& results, const Summary& summary) {
  return {working_set_figures(results, summary), forest_figures(summary),
          trade_figures(results, summary), curve_figures(results)};
}

/// Everything but the figures, which each format shows in its own way (template `figure`).
View page_view(const Results& results, const Summary& summary, const Figures& figures,
               const std::string& figure) {
  View view = make_view(results, summary);
  view.set("figure", part(figure));
  view.set("has_walks", flag(!figures.walks.empty()));
  view.set("has_forests", flag(!figures.forests.empty()));
  view.set("has_trades", flag(!figures.trades.empty()));
  view.set("has_charts", flag(!figures.curves.empty()));
  return view;
}

/// Puts a large block into its place in the page. A template would copy it several times.
void fill_block(std::string& page, std::string_view begin, const std::string& content) {
  page.insert(page.rfind(begin) + begin.size(), content);
}

/// The text from which the results were read, without a copy if it is there already.
std::string_view carried_text(const Results& results, std::string& made) {
  if (results.text.empty()) made = text_of(results);
  return results.text.empty() ? std::string_view(made) : std::string_view(results.text);
}

}  // namespace

std::string html_of(const Results& results, const Summary& summary, const std::string& gnuplot) {
  std::string made;
  const std::string_view text = carried_text(results, made);
  auto text_block = std::async(std::launch::async, packed, text);
  const Figures figures = figures_of(results, summary);
  View view = page_view(results, summary, figures, "figure.html.mustache");
  add_own_code(summary, view);
  view.set("results_sha256", sha256_hex(text));
  view.set("maker", fmt::format("ropewalk {}; {}", ROPEWALK_VERSION, gnuplot_version(gnuplot)));
  view.set("cell", part("cell.html.mustache"));
  view.set("walks", figure_pictures(figures.walks, "walk", gnuplot));
  view.set("forests", figure_pictures(figures.forests, "forest", gnuplot));
  view.set("trades", figure_pictures(figures.trades, "trade", gnuplot));
  view.set("charts", figure_pictures(figures.curves, "chart", gnuplot));
  std::string page =
      fill_template("report.html.mustache", view, kainjow::mustache::html_escape<std::string>);
  // From the last to the first, because no block may hold the text with which another begins.
  fill_block(page, results_begin, text_block.get());
  fill_block(page, cells_begin, cells_json(summary));
  return page;
}

std::string markdown_of(const Results& results, const Summary& summary) {
  const Figures figures = figures_of(results, summary);
  View view = page_view(results, summary, figures, "figure.md.mustache");
  std::string made;
  view.set("results_sha256", sha256_hex(carried_text(results, made)));
  view.set("walks", figure_tables(figures.walks));
  view.set("forests", figure_tables(figures.forests));
  view.set("trades", figure_tables(figures.trades));
  view.set("charts", figure_tables(figures.curves));
  return fill_template("report.md.mustache", view,
                       [](const std::string& text) { return markdown_code(text); });
}

std::string render_html(const Results& results, const std::string& gnuplot) {
  return html_of(results, summarize(results), gnuplot);
}

std::string render_markdown(const Results& results) {
  return markdown_of(results, summarize(results));
}

}  // namespace ropewalk::report
