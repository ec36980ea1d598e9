// Accuracy against speed: how much accuracy a faster kernel costs, if any.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/text.h"
#include "reports/figures/figure.h"
#include "reports/numbers/board_name.h"

namespace ropewalk::report {
namespace {

// Kernels with a table are measured up to this position, so all kernels are compared up to it.
constexpr double position_max = 65536;

struct TradePoint {
  std::string kernel, angles;
  SeriesStyle style;
  double ns = 0, error = 0;
};

/// All angle sources of one workload, pairing, dtype and placement.
struct Trade {
  std::string board;  ///< the board's name without its angle source
  const Contest* of = nullptr;
  std::vector<TradePoint> points;
  std::vector<std::string> without_error;
};

/// The largest measured error of a kernel against the exact rotation.
std::optional<double> error_of(const Results& results, const std::string& kernel,
                               const std::string& dtype) {
  std::optional<double> worst;
  for (const CurveRow& row : results.curves) {
    if (row.chart != "error_over_position" || row.series != kernel) continue;
    if (dtype.empty() || row.dtype != dtype) continue;
    for (std::size_t i = 0; i < std::min(row.x.size(), row.y.size()); ++i)
      if (row.x[i] <= position_max && std::isfinite(row.y[i]))
        worst = std::max(worst.value_or(0), row.y[i]);
  }
  return worst;
}

void take(const Results& results, const Board& board, const Contest& contest,
          const KernelColours& colours, Trade& trade) {
  const BoardName name(board.name);
  const std::string dtype(name.dtype()), angles(name.angles());
  for (const BoardEntry& entry : contest.entries) {
    if (!entry.has_speed || entry.row->is_reference() || entry.row->is_twin()) continue;
    if (const auto error = error_of(results, entry.row->kernel, dtype))
      trade.points.push_back(
          {ranked_name(*entry.row), angles, colours.of(entry.row->kernel), entry.ns, *error});
    else
      trade.without_error.push_back(entry.row->kernel + ": its error was not measured");
  }
}

/// One trade for each pairing, dtype and placement, on its smallest workload: there the kernel
/// matters most and memory least.
std::vector<Trade> trades_of(const Results& results, const Summary& summary,
                             const KernelColours& colours) {
  std::vector<Trade> trades;
  const auto smaller = [](const Contest& a, const Contest& b) {
    return a.of->working_set_bytes < b.of->working_set_bytes;
  };
  for (const Board& board : summary.boards)
    for (const Contest& contest : board.contests) {
      const std::string name = BoardName(board.name).without_angles();
      auto trade =
          std::ranges::find_if(trades, [&name](const Trade& each) { return each.board == name; });
      if (trade == trades.end()) trade = trades.insert(trade, {name, &contest, {}, {}});
      if (smaller(contest, *trade->of)) trade->of = &contest;
    }
  for (const Board& board : summary.boards)
    for (const Contest& contest : board.contests)
      for (Trade& trade : trades)
        if (trade.board == BoardName(board.name).without_angles() &&
            trade.of->of->workload == contest.of->workload &&
            trade.of->of->threads == contest.of->threads)
          take(results, board, contest, colours, trade);
  return trades;
}

/// Whether no other kernel is at least as fast and as accurate, and better in one of the two.
bool is_best(const TradePoint& point, const std::vector<TradePoint>& all) {
  return std::ranges::none_of(all, [&point](const TradePoint& other) {
    return other.ns <= point.ns && other.error <= point.error &&
           (other.ns < point.ns || other.error < point.error);
  });
}

/// Marks at one height say nothing that the table of answers does not.
bool tells(const Trade& trade) {
  const auto [low, high] = std::ranges::minmax(trade.points, {}, &TradePoint::error);
  return high.error > 2 * std::max(low.error, error_floor);
}

std::vector<ChartPlace> log_ticks(double low, double high) {
  std::vector<ChartPlace> ticks;
  const bool powers_alone = high > 1000 * low;
  for (int power = -3; power < 9; ++power)
    for (const double digit : {1.0, 2.0, 5.0}) {
      const double value = digit * std::pow(10, power);
      if (value < low / 1.5 || value > high * 1.5 || (powers_alone && digit > 1)) continue;
      ticks.push_back({value, powers_alone ? fmt::format("10^{{{}}}", power)
                              : power < 0  ? fmt::format("{:g}", value)
                                           : count_text(std::llround(value))});
    }
  return ticks;
}

Figure figure_of(Trade trade) {
  std::ranges::sort(trade.points, [](const TradePoint& a, const TradePoint& b) {
    return std::pair(a.ns, a.kernel) < std::pair(b.ns, b.kernel);
  });
  Figure figure;
  ChartRequest& picture = figure.picture;
  picture.title = "Accuracy against speed";
  picture.x_label = "ns a token";
  picture.y_label = "worst error / |x|";
  picture.x_scale = Scale::logarithmic;
  picture.y_scale = Scale::logarithmic;
  picture.y_floor = error_floor;
  picture.x_ticks = log_ticks(trade.points.front().ns, trade.points.back().ns);
  figure.name = fmt::format("{}, {}", clean_line(trade.board), clean_line(trade.of->of->workload));
  figure.how_to_read =
      "Points to the left are faster, lower points are more accurate. The error is the largest one "
      "measured at positions up to 65,536, with the frequencies that the legend of the error over "
      "the position names. It was measured with the first pairing that a kernel offers. Errors of "
      "1e-9 or less are drawn at 1e-9. A kernel is "
      "marked best if no other kernel is at least as good in both and better in one. Kernels of "
      "all angle sources share this picture, but no ranking. The error is measured against the "
      "exact rotation whatever angles a kernel's contract promises.";
  figure.absent = std::move(trade.without_error);
  figure.table.columns = {"kernel", "angles", "ns a token", "worst error / |x|", ""};
  for (const TradePoint& point : trade.points) {
    const bool best = is_best(point, trade.points);
    figure.table.lines.push_back({point.kernel, point.angles, number_text(point.ns),
                                  fmt::format("{:.3g}", point.error), best ? "best" : ""});
    if (picture.series.size() == chart_series_max) {
      figure.absent.push_back(point.kernel + ": in the numbers below");
      continue;
    }
    ChartSeries series{{point.ns}, {std::max(point.error, error_floor)}, Draw::points};
    series.style = point.style;
    figure.legend.push_back(
        legend_item(series, point.kernel, best ? point.angles + ", best" : point.angles));
    picture.series.push_back(std::move(series));
  }
  return figure;
}

}  // namespace

std::vector<Figure> trade_figures(const Results& results, const Summary& summary,
                                  const KernelColours& colours) {
  std::vector<Figure> figures;
  for (Trade& trade : trades_of(results, summary, colours))
    if (trade.points.size() >= 2 && tells(trade)) figures.push_back(figure_of(std::move(trade)));
  return figures;
}

}  // namespace ropewalk::report
