// Renders the two formats that templates describe, and writes all of them.
#include <fmt/format.h>

#include <future>
#include <stdexcept>
#include <system_error>

#include "base/text.h"
#include "base/text_file.h"
#include "reports/figures/figure.h"
#include "reports/pages/render.h"
#include "reports/pages/view.h"

namespace ropewalk::report {
namespace {

constexpr int legend_line = 22, legend_font = 13;

// The page's style begins with the colours of both schemes.
std::string colours() {
  const std::string style = template_text("report.css");
  return style.substr(0, style.find("\n* {"));
}

// The mark of a series as the chart draws it, and its name.
std::string legend_entry(const ChartSeries& series, const std::string& name, int y) {
  const std::string colour = series.style.colour == grey
                                 ? std::string("var(--muted)")
                                 : fmt::format("var(--series-{})", series.style.colour);
  const std::string mark =
      series.draw == Draw::points
          ? fmt::format(
                "<circle cx=\"26\" cy=\"{}\" r=\"4\" fill=\"none\" stroke=\"{}\" "
                "stroke-width=\"1.5\"/>",
                y - 5, colour)
          : fmt::format("<path d=\"M12 {} h28\" stroke=\"{}\" stroke-width=\"2\"{}/>", y - 5,
                        colour, series.style.mark == 0 ? "" : " stroke-dasharray=\"6 3\"");
  return fmt::format("{}\n<text x=\"50\" y=\"{}\" font-size=\"{}\" fill=\"var(--ink)\">{}</text>\n",
                     mark, y, legend_font, xml_text(name));
}

void replace_once(std::string& text, const std::string& what, const std::string& with) {
  const std::size_t at = text.find(what);
  if (at == std::string::npos) throw std::runtime_error("gnuplot drew no picture with " + what);
  text.replace(at, what.size(), with);
}

/// A template that another template includes.
View part(const std::string& name) {
  return kainjow::mustache::partial{[name] { return template_text(name); }};
}

/// Adds style and script, with the nonce by which the page's policy knows them. No other style or
/// script has any effect in the page, even if a foreign name plants one: it would have to name the
/// fingerprint of the results in which it stands.
void add_own_code(const Results& results, const Summary& summary, View& view) {
  const std::string fingerprint = fingerprint_of(results);
  view.set("nonce", fingerprint.substr(fingerprint.find(':') + 1));
  view.set("style", View(fmt::format("\n:root {{ --columns: {}; }}\n", summary.properties.size()) +
                         template_text("report.css")));
  view.set("script", View("\n" + template_text("report.js")));
}

/// The page's data. `show` makes those of a list of figures, whose pictures begin with a name.
template <class Show>
View page_view(const Results& results, const Summary& summary, const std::string& format,
               const Show& show) {
  View view = make_view(results, summary);
  const KernelColours colours(results, summary);
  view.set("fingerprint", fingerprint_of(results));
  view.set("figure", part("figure." + format + ".mustache"));
  view.set("walks", show(working_set_figures(results, summary, colours), "walk"));
  view.set("forests", show(forest_figures(summary, colours), "forest"));
  view.set("trades", show(trade_figures(results, summary, colours), "trade"));
  view.set("charts", show(curve_figures(results, colours), "chart"));
  return view;
}

}  // namespace

std::string picture_file(const ChartRequest& request, ChartSize size,
                         const std::vector<std::string>& names) {
  Chart chart = draw_chart(request, size);
  if (!chart.error.empty()) throw std::runtime_error(chart.error);
  std::string legend;
  int height = size.height;
  for (std::size_t i = 0; i < names.size(); ++i)
    legend += legend_entry(request.series[i], names[i], height += legend_line);
  height += legend_line / 2;
  const auto box = [&](int h) { return fmt::format("viewBox=\"0 0 {} {}\"", size.width, h); };
  // Without sizes of its own a picture would fill its page.
  replace_once(chart.svg, box(size.height),
               fmt::format("width=\"{}\" height=\"{}\" {}", size.width, height, box(height)));
  replace_once(chart.svg, "font-family=\"inherit\"", "font-family=\"sans-serif\"");
  replace_once(chart.svg, "</title>",
               fmt::format("</title>\n<style>{}</style>\n<rect width=\"100%\" height=\"100%\" "
                           "fill=\"var(--card)\"/>",
                           colours()));
  chart.svg.insert(chart.svg.rfind("</svg>"), legend);
  return chart.svg + "\n";
}

std::string render_html(const Results& results, const Summary& summary,
                        const std::string& gnuplot) {
  View view = page_view(results, summary, "html", [&](const auto& figures, const char* id) {
    return figure_pictures(figures, id, gnuplot);
  });
  add_own_code(results, summary, view);
  view.set("cell", part("cell.html.mustache"));
  return fill_template("report.html.mustache", view, kainjow::mustache::html_escape<std::string>);
}

std::string render_markdown(const Results& results, const Summary& summary) {
  View view = page_view(results, summary, "md",
                        [](const auto& figures, const char*) { return figure_tables(figures); });
  view.set("answer_table", part("answers.md.mustache"));
  return fill_template("report.md.mustache", view,
                       [](const std::string& text) { return markdown_code(text); });
}

std::string render_export(const Results& results) {
  const Summary summary = summarize(results);
  View view = make_view(results, summary);
  view.set("answer_table", part("answers.md.mustache"));
  for (const auto& [name, key] :
       {std::pair("machine", "cpu_model"), {"revision", "git_revision"}}) {
    const auto found = results.run.environment.find(key);
    view.set(name, found == results.run.environment.end() ? "not known" : found->second);
  }
  return fill_template("export.md.mustache", view,
                       [](const std::string& text) { return markdown_code(text); });
}

void write_report(const Results& results, const std::filesystem::path& out_dir) {
  std::error_code error;
  std::filesystem::create_directories(out_dir, error);
  if (error) throw std::runtime_error(out_dir.string() + ": cannot be made: " + error.message());
  const Summary summary = summarize(results);
  // The page takes as long as the other three formats together, so they run beside it.
  struct Others {
    std::string markdown, csv, junit;
  };
  auto others = std::async(std::launch::async, [&] {
    return Others{render_markdown(results, summary), render_csv(results, summary),
                  render_junit(results, summary)};
  });
  const std::string html = render_html(results, summary);
  const auto [markdown, csv, junit] = others.get();
  write_whole_file(out_dir / "report.md", markdown);
  write_whole_file(out_dir / "report.html", html);
  write_whole_file(out_dir / "results.csv", csv);
  write_whole_file(out_dir / "junit.xml", junit);
}

}  // namespace ropewalk::report
