#include "reports/figures/figure.h"

#include <fmt/format.h>

#include <iterator>
#include <utility>

namespace ropewalk::report {

LegendItem legend_item(std::size_t index, const ChartSeries& series, std::string name,
                       std::string note) {
  // The marks that chart.cpp asks gnuplot for: 6 circle, 4 square, 8 triangle, 12 diamond, 10 down,
  // 1, 2, 14
  constexpr const char* marks[] = {"○", "□", "△", "◇", "▽", "+", "×", "⬠"};
  return {std::move(name), std::move(note), fmt::format("s{}", index),
          series.draw == Draw::line ? "━" : marks[index % std::size(marks)]};
}

}  // namespace ropewalk::report
