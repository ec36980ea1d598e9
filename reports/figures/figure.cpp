#include "reports/figures/figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

namespace ropewalk::report {

KernelColours::KernelColours(const Results& results, const Summary& summary) {
  std::set<std::string> timed, drawn, baselines;
  for (const Board& board : summary.boards)
    for (const Contest& contest : board.contests)
      for (const BoardEntry& entry : contest.entries) {
        if (!entry.has_speed || entry.row->is_reference() || entry.row->is_twin()) continue;
        timed.insert(entry.row->kernel);
        if (entry.row->role == Role::baseline) baselines.insert(entry.row->kernel);
      }
  for (const CurveRow& row : results.curves)
    if (row.series != "reference") drawn.insert(row.series);
  std::vector<std::string> order;
  for (const std::set<std::string>* names : {&timed, &drawn}) {
    for (const KernelSummary& kernel : summary.kernels)
      if (names->contains(kernel.name)) order.push_back(kernel.name);
    order.insert(order.end(), names->begin(), names->end());  // those without a verdict
  }
  int colours = 0, greys = 0;
  for (const std::string& kernel : order) {
    if (styles_.contains(kernel)) continue;
    const bool is_grey = baselines.contains(kernel);
    const int number = is_grey ? greys++ : colours++;
    styles_[kernel] = {is_grey ? grey : number % series_colours, number % series_marks};
  }
}

SeriesStyle KernelColours::of(const std::string& kernel) const {
  const auto found = styles_.find(kernel);
  return found == styles_.end() ? SeriesStyle{} : found->second;
}

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
