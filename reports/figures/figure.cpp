#include "reports/figures/figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace ropewalk::report {

LegendItem legend_item(const ChartSeries& series, std::string name, std::string note) {
  // The marks that chart.cpp asks gnuplot for: 6 circle, 4 square, 8 triangle, 12 diamond, 10 down,
  // 1, 2, 14
  constexpr const char* marks[series_marks] = {"○", "□", "△", "◇", "▽", "+", "×", "⬠"};
  const auto [colour, mark] = series.style;
  return {std::move(name), std::move(note),
          colour == grey ? std::string("mark") : fmt::format("s{}", colour),
          series.draw != Draw::line ? marks[mark]
          : mark == 0               ? "━"
                                    : "╍"};
}

std::string row_label(const std::string& name, std::size_t number) {
  const bool plain = !name.empty() && name.size() <= 44 && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view(" ._-/()").find(c) != std::string_view::npos;
  });
  return plain ? name : fmt::format("no. {}", number);
}

std::string model_of(const std::string& workload) {
  return workload.substr(0, workload.rfind('/'));
}

}  // namespace ropewalk::report
