// A chart as a file of its own.
#include <fmt/format.h>

#include <stdexcept>

#include "base/text.h"
#include "reports/pages/render.h"

namespace ropewalk::report {
namespace {

constexpr int legend_line = 22, legend_font = 13;

// The page's style begins with the colours of both schemes.
std::string colours() {
  const std::string style = page_text("report.css");
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

}  // namespace ropewalk::report
