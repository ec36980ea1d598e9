// Renders the two formats that templates describe.
#include <fmt/format.h>

#include "base/text.h"
#include "reports/figures/curves.h"
#include "reports/figures/device.h"
#include "reports/figures/forest.h"
#include "reports/figures/trade.h"
#include "reports/figures/working_set.h"
#include "reports/pages/figure_view.h"
#include "reports/pages/render.h"
#include "reports/pages/render_parts.h"
#include "reports/pages/view.h"

namespace ropewalk::report {

namespace {

/// A template that another template includes.
View part(const std::string& name) {
  return kainjow::mustache::partial{[name] { return template_text(name); }};
}

/// Adds style and script, with the nonce by which the page's policy knows them. No other style or
/// script has any effect in the page, even if a foreign name plants one: it would have to name the
/// fingerprint of the results in which it stands.
void add_own_code(const Results& results, const Summary& summary, View& view) {
  const std::string fingerprint = fingerprint_of(results);
  view.set("fingerprint", fingerprint);
  view.set("nonce", fingerprint.substr(fingerprint.find(':') + 1));
  view.set("style", fmt::format("\n:root {{ --columns: {}; }}\n", summary.properties.size()) +
                        template_text("report.css"));
  view.set("script", "\n" + template_text("report.js"));
}

struct Figures {
  std::vector<Figure> walks, forests, trades, curves, devices;
};

Figures figures_of(const Results& results, const Summary& summary) {
  const KernelColours colours(results, summary);
  return {working_set_figures(results, summary, colours), forest_figures(summary, colours),
          trade_figures(results, summary, colours), curve_figures(results, colours),
          device_figures(summary, colours)};
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
  view.set("has_device_figures", flag(!figures.devices.empty()));
  return view;
}

}  // namespace

std::string html_of(const Results& results, const Summary& summary, const std::string& gnuplot) {
  const Figures figures = figures_of(results, summary);
  View view = page_view(results, summary, figures, "figure.html.mustache");
  add_own_code(results, summary, view);
  view.set("cell", part("cell.html.mustache"));
  view.set("walks", figure_pictures(figures.walks, "walk", gnuplot));
  view.set("forests", figure_pictures(figures.forests, "forest", gnuplot));
  view.set("trades", figure_pictures(figures.trades, "trade", gnuplot));
  view.set("charts", figure_pictures(figures.curves, "chart", gnuplot));
  view.set("device_figures", figure_pictures(figures.devices, "device", gnuplot));
  return fill_template("report.html.mustache", view, kainjow::mustache::html_escape<std::string>);
}

std::string markdown_of(const Results& results, const Summary& summary) {
  const Figures figures = figures_of(results, summary);
  View view = page_view(results, summary, figures, "figure.md.mustache");
  view.set("fingerprint", fingerprint_of(results));
  view.set("answer_table", part("answers.md.mustache"));
  view.set("walks", figure_tables(figures.walks));
  view.set("forests", figure_tables(figures.forests));
  view.set("trades", figure_tables(figures.trades));
  view.set("charts", figure_tables(figures.curves));
  view.set("device_figures", figure_tables(figures.devices));
  return fill_template("report.md.mustache", view,
                       [](const std::string& text) { return markdown_code(text); });
}

std::string render_html(const Results& results, const std::string& gnuplot) {
  return html_of(results, summarize(results), gnuplot);
}

std::string render_markdown(const Results& results) {
  return markdown_of(results, summarize(results));
}

std::string render_export(const Results& results) {
  const Summary summary = summarize(results);
  View view = make_view(results, summary);
  view.set("answer_table", part("answers.md.mustache"));
  for (const auto& [name, key] :
       {std::pair("machine", "cpu_model"), {"revision", "git_revision"}}) {
    const auto found = results.run.environment.find(key);
    view.set(name,
             clean_line(found == results.run.environment.end() ? "not known" : found->second));
  }
  return fill_template("export.md.mustache", view,
                       [](const std::string& text) { return markdown_code(text); });
}

}  // namespace ropewalk::report
