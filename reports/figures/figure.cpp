#include "reports/figures/figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "reports/numbers/board_name.h"

namespace ropewalk::report {
namespace {

using Group = std::vector<const CurveRow*>;

bool is_reference(const CurveRow& row) {
  return row.series == "reference";
}

/// Of several rows with the same series and note, the last counts.
Group rows_of(const Results& results, const std::string& chart) {
  Group group;
  for (const CurveRow& row : results.curves) {
    if (row.chart != chart) continue;
    const auto same = std::ranges::find_if(group, [&row](const CurveRow* each) {
      return each->series == row.series && each->note == row.note;
    });
    if (same == group.end())
      group.push_back(&row);
    else
      *same = &row;
  }
  return group;
}

/// One curve of a picture. Kernels with bit-identical numbers share it.
struct Shared {
  const CurveRow* row;
  std::string names;
};

std::vector<Shared> shared_curves(const Group& group) {
  std::vector<Shared> out;
  for (const CurveRow* row : group) {
    const auto same = std::ranges::find_if(out, [row](const Shared& each) {
      return !is_reference(*row) && !is_reference(*each.row) && each.row->note == row->note &&
             each.row->x == row->x && each.row->y == row->y;
    });
    if (same == out.end())
      out.push_back({row, row->series});
    else
      same->names += ", " + row->series;
  }
  return out;
}

/// Puts the reference first, then the first curve of every other note, then the rest. So a reader
/// sees each kind.
void put_kinds_first(std::vector<Shared>& curves) {
  std::stable_partition(curves.begin(), curves.end(),
                        [](const Shared& each) { return is_reference(*each.row); });
  std::set<std::string> seen;
  std::stable_partition(curves.begin(), curves.end(), [&seen](const Shared& each) {
    return is_reference(*each.row) || seen.insert(each.row->note).second;
  });
}

/// At most nine places on the x axis, spread evenly over the logarithm.
std::vector<double> table_places(const CurveRow& curve) {
  std::set<double> all;
  for (const double x : curve.x)
    if (std::isfinite(x)) all.insert(x);
  if (all.size() <= 9) return {all.begin(), all.end()};
  const double low = *all.begin(), high = *all.rbegin();
  std::set<double> chosen;
  for (int i = 0; i <= 8; ++i) {
    const double target = low + std::expm1(std::log1p(high - low) * i / 8);
    const auto at = all.lower_bound(target * (1 - 1e-12));
    chosen.insert(at == all.end() ? high : *at);
  }
  return {chosen.begin(), chosen.end()};
}

std::string value_at(const CurveRow& curve, double x) {
  for (std::size_t i = 0; i < std::min(curve.x.size(), curve.y.size()); ++i)
    if (curve.x[i] == x)
      return std::isfinite(curve.y[i]) ? fmt::format("{:.4g}", curve.y[i])
                                       : std::string("not finite");
  return "";
}

std::string place_text(double x) {
  const bool whole = std::fabs(x) < 1e15 && x == std::floor(x);
  return whole ? count_text(static_cast<std::int64_t>(x)) : fmt::format("{:.6g}", x);
}

FigureTable table_of(const std::string& x_label, const std::vector<Shared>& curves) {
  FigureTable table;
  table.columns.push_back(x_label);
  for (const Shared& curve : curves) table.columns.push_back(curve.names);
  // The places of the last series are used, since a kernel is measured at fewer places than the
  // reference.
  for (const double x : table_places(*curves.back().row)) {
    std::vector<std::string> line{place_text(x)};
    for (const Shared& curve : curves) line.push_back(value_at(*curve.row, x));
    table.lines.push_back(std::move(line));
  }
  return table;
}

double largest_x(const std::vector<Shared>& curves) {
  double largest = 0;
  for (const Shared& curve : curves)
    for (const double x : curve.row->x)
      if (std::isfinite(x)) largest = std::max(largest, x);
  return largest;
}

void describe_decay(Figure& figure, double x_max) {
  ChartRequest& picture = figure.picture;
  picture.title = "Decay curve B(D)";
  figure.is_folded = true;
  picture.x_label = "distance D between query and key";
  picture.y_label = "B(D)";
  constexpr double linear_axis_max = 1100;
  if (x_max > linear_axis_max) {
    picture.x_scale = Scale::from_zero;
    picture.x_ticks.push_back({0, "0"});
    const double last = std::min(x_max, 0x1p53);  // beyond it the axis has no more numbers
    for (double tic = 4; tic <= last; tic *= 4)
      picture.x_ticks.push_back({tic, fmt::format("{:.0f}", tic)});
  }
  figure.how_to_read =
      "B(D) is the mean length of the prefix sums S_1 .. S_n of exp(i D theta_j). It bounds how "
      "strongly a query and a key can act on each other over a distance of D positions (RoFormer, "
      "section 3.4.3). A falling line is the long-term decay. The line is the reference. The "
      "points were measured through the kernels and belong on the line. The picture is an "
      "illustration: the decay property judges every prefix sum as a complex number.";
}

void describe_error(Figure& figure) {
  ChartRequest& picture = figure.picture;
  picture.title = "Error over the position";
  picture.x_label = "position";
  picture.y_label = "worst error / |x|";
  picture.x_scale = Scale::from_zero;
  picture.x_ticks.push_back({0, "0"});
  for (int power = 0; power <= 28; power += 4)
    picture.x_ticks.push_back({std::exp2(power), fmt::format("2^{{{}}}", power)});
  picture.x_ticks.push_back({std::exp2(31), "2^{31}"});
  picture.y_floor = error_floor;
  figure.how_to_read =
      "Each point is the largest error of a pair, relative to its length, against the exact "
      "rotation. It shows what a kernel's angle contract costs at large positions. Kernels with a "
      "table or exact angles keep the rounding error of their data type. An f32 angle is the "
      "position times inv_freq in single precision, and loses one bit with each doubling of the "
      "position. That contract allows this loss: the verdicts judge every kernel by its own "
      "contract. Errors of 1e-9 or less, 0 included, are drawn at 1e-9.";
}

ChartSeries series_of(const CurveRow& row, double y_floor) {
  ChartSeries series{row.x, row.y, is_reference(row) ? Draw::line : Draw::points};
  if (!(y_floor > 0)) return series;
  series.draw = Draw::joined;
  for (double& y : series.y)
    if (y < y_floor) y = y_floor;  // a NaN stays NaN
  return series;
}

// The forest plot: every ratio to the baseline with its interval. The null twin stands among them.
// It is the baseline itself, so it shows how far noise alone reaches.

constexpr std::size_t rows_max = 28;

/// One line of the picture.
struct ForestLine {
  const Contest* contest;
  const BoardEntry* entry;
};

struct Kind {
  std::optional<Outcome> outcome;  ///< none: the null twin
  const char* note;
};
constexpr Kind kinds[] = {{Outcome::faster, "the whole interval lies beyond the margin, below 1"},
                          {Outcome::slower, "the whole interval lies beyond the margin, above 1"},
                          {Outcome::same, "the interval lies within 1 % of the baseline"},
                          {Outcome::unresolved, "the interval allows both faster and slower"},
                          {std::nullopt, "the baseline a second time, which shows noise alone"},
                          {Outcome::invalid, "the null twin differs, so there is no claim"}};

std::size_t kind_of(const BoardEntry& entry) {
  std::optional<Outcome> outcome;
  if (!entry.row->is_twin()) outcome = entry.outcome;
  const auto found =
      std::ranges::find_if(kinds, [&](const Kind& kind) { return kind.outcome == outcome; });
  return static_cast<std::size_t>((found == std::end(kinds) ? std::begin(kinds) + 3 : found) -
                                  std::begin(kinds));
}

std::vector<ForestLine> lines_of(const Board& board) {
  std::vector<ForestLine> lines;
  for (const Contest& contest : board.contests)
    for (const BoardEntry& entry : contest.entries)
      if (entry.is_compared()) lines.push_back({&contest, &entry});
  return lines;
}

bool can_be_drawn(const Interval& interval) {
  return interval.low > 0 && std::isfinite(interval.high);
}

std::string launches_text(const Claim& claim) {
  std::string text;
  for (const double ratio : claim.launch_ratios)
    text += (text.empty() ? "" : ", ") + ratio_text(ratio);
  return text;
}

FigureTable table_of(const std::vector<ForestLine>& lines) {
  FigureTable table;
  table.columns = {"no.",      "contestant", "workload",    "ratio",  "interval",
                   "coverage", "rounds",     "each launch", "outcome"};
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const Claim& claim = *lines[i].entry->claim;
    const Interval& interval = claim.interval;
    table.lines.push_back(
        {count_text(static_cast<std::int64_t>(i + 1)), ranked_name(*lines[i].entry->row),
         lines[i].contest->of->workload, ratio_text(interval.ratio), range_text(interval),
         fmt::format("{:.2f} %", 100 * interval.coverage), count_text(interval.rounds),
         launches_text(claim), std::string(word(lines[i].entry->outcome))});
  }
  return table;
}

void draw(const std::vector<ForestLine>& lines, const KernelColours& colours, Figure& figure) {
  ChartRequest& picture = figure.picture;
  std::map<std::pair<std::size_t, int>, ChartSeries> series;  // by kind and colour
  const Contest* last = nullptr;
  double y = 0;
  std::size_t drawn = 0, number = 0;
  for (const ForestLine& line : lines) {
    ++number;
    const Interval& interval = line.entry->claim->interval;
    if (!can_be_drawn(interval) || drawn == rows_max) continue;
    if (line.contest != last) {
      y -= 1;
      const double margin = line.contest->group->margin;
      picture.boxes.push_back({std::max(1 - margin, 1e-6), 1 + margin, y - 0.5, y - 0.5});
      const std::string name = line.contest->of->workload;
      picture.y_rows.push_back({y, row_label(name, number) + ":"});
      last = line.contest;
    }
    y -= 1;
    picture.boxes.back().y_low = y - 0.5;
    ++drawn;
    picture.y_rows.push_back({y, row_label(ranked_name(*line.entry->row), number)});
    const std::size_t kind = kind_of(*line.entry);
    const int colour = colours.of(line.entry->row->kernel).colour;
    ChartSeries& to = series[{kind, colour}];
    to.style = {colour, static_cast<int>(kind)};
    to.x.push_back(interval.ratio);
    to.y.push_back(y);
    to.x_low.push_back(interval.low);
    to.x_high.push_back(interval.high);
  }
  if (drawn < lines.size())
    figure.absent.push_back(fmt::format("{} of {} lines, which the numbers below show",
                                        lines.size() - drawn, lines.size()));
  std::size_t kinds_told = 0;
  for (auto& [key, of] : series) {
    const Kind& kind = kinds[key.first];
    if (key.first >= kinds_told)
      figure.legend.push_back(
          legend_item({{}, {}, Draw::points, {}, {}, {grey, of.style.mark}},
                      std::string(kind.outcome ? word(*kind.outcome) : "null twin"), kind.note));
    kinds_told = key.first + 1;
    picture.series.push_back(std::move(of));
  }
}

std::vector<ChartPlace> ratio_ticks(const ChartRequest& picture) {
  double low = 1, high = 1;
  for (const ChartSeries& series : picture.series)
    for (std::size_t i = 0; i < series.x.size(); ++i) {
      low = std::min(low, series.x_low[i]);
      high = std::max(high, series.x_high[i]);
    }
  std::vector<double> values = {0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1,   1.5,
                                2,    3,    5,    10,  20,  50,  100, 200, 500, 1000};
  if (high / low < 1.6)
    values = {0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1, 1.05, 1.1, 1.15, 1.2, 1.3, 1.4, 1.5};
  std::vector<ChartPlace> ticks;
  for (const double value : values)
    if (value >= low / 1.1 && value <= high * 1.1)
      ticks.push_back({value, fmt::format("{:g}", value)});
  return ticks;
}

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

std::vector<Figure> curve_figures(const Results& results, const KernelColours& colours) {
  std::vector<Figure> figures;
  for (const std::string chart : {"error_over_position", "decay"}) {
    const Group group = rows_of(results, chart);
    if (group.empty()) continue;
    std::vector<Shared> curves = shared_curves(group);
    put_kinds_first(curves);
    Figure figure;
    if (chart == "decay")
      describe_decay(figure, largest_x(curves));
    else
      describe_error(figure);
    for (std::size_t i = 0; i < curves.size(); ++i) {
      const Shared& curve = curves[i];
      if (i >= chart_series_max) {
        figure.absent.push_back(curve.names);
        continue;
      }
      figure.picture.series.push_back(series_of(*curve.row, figure.picture.y_floor));
      figure.picture.series.back().style = colours.of(curve.row->series);
      figure.legend.push_back(
          legend_item(figure.picture.series.back(), curve.names, curve.row->note));
    }
    figure.table = table_of(figure.picture.x_label, curves);
    figures.push_back(std::move(figure));
  }
  return figures;
}

std::vector<Figure> forest_figures(const Summary& summary, const KernelColours& colours) {
  std::vector<Figure> figures;
  for (const Board& board : summary.boards) {
    const std::vector<ForestLine> lines = lines_of(board);
    if (lines.empty()) continue;
    Figure figure;
    figure.picture.title = "Ratios to the baseline";
    figure.picture.x_label = "time / baseline's time";
    figure.picture.x_scale = Scale::logarithmic;
    figure.name = board.name;
    figure.how_to_read =
        "A mark is the median ratio of all rounds, and its line is the interval of the claim. "
        "The shape is the outcome, the colour is the kernel's in all pictures. The interval is "
        "corrected for the number of comparisons and of looks, and that of the launches if they "
        "scatter. A grey box is the margin of its workload: a ratio that reaches into it shows "
        "no difference. The null twin is the baseline under another name, so it belongs on 1.";
    figure.picture.x_marks.push_back({1, ""});
    draw(lines, colours, figure);
    figure.picture.x_ticks = ratio_ticks(figure.picture);
    figure.table = table_of(lines);
    figures.push_back(std::move(figure));
  }
  return figures;
}

std::vector<Figure> trade_figures(const Results& results, const Summary& summary,
                                  const KernelColours& colours) {
  std::vector<Figure> figures;
  for (Trade& trade : trades_of(results, summary, colours))
    if (trade.points.size() >= 2 && tells(trade)) figures.push_back(figure_of(std::move(trade)));
  return figures;
}

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
