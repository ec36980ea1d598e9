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
