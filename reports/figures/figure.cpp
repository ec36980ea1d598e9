#include "reports/figures/figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
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

bool is_reference(const CurveRow& row) {
  return row.series == "reference";
}

/// One curve of a picture. Kernels with bit-identical numbers share it.
struct Shared {
  const CurveRow* row;
  std::string names;
};

/// Of several rows with the same series and note, the last counts.
std::vector<Shared> shared_curves(const Results& results, const std::string& chart) {
  std::vector<const CurveRow*> rows;
  for (const CurveRow& row : results.curves) {
    const auto same = std::ranges::find_if(rows, [&row](const CurveRow* each) {
      return each->series == row.series && each->note == row.note;
    });
    if (row.chart == chart) *(same == rows.end() ? rows.insert(same, &row) : same) = &row;
  }
  std::vector<Shared> out;
  for (const CurveRow* row : rows) {
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
std::set<double> table_places(const CurveRow& curve) {
  std::set<double> all, chosen;
  for (const double x : curve.x)
    if (std::isfinite(x)) all.insert(x);
  if (all.size() <= 9) return all;
  const double low = *all.begin(), high = *all.rbegin();
  for (int i = 0; i <= 8; ++i) {
    const auto at =
        all.lower_bound((low + std::expm1(std::log1p(high - low) * i / 8)) * (1 - 1e-12));
    chosen.insert(at == all.end() ? high : *at);
  }
  return chosen;
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

Chart decay_chart() {
  return {
      .title = "Decay curve B(D)",
      .how_to_read =
          "B(D) is the mean length of the prefix sums S_1 .. S_n of exp(i D theta_j). It bounds "
          "how strongly a query and a key can act on each other over a distance of D positions "
          "(RoFormer, section 3.4.3). A falling line is the long-term decay. The line is the "
          "reference. The points were measured through the kernels and belong on the line. The "
          "picture is an illustration: the decay property judges every prefix sum as a complex "
          "number.",
      .is_folded = true,
      .x = {"distance D between query and key", Scale::from_zero, Unit::power_of_two},
      .y = {"B(D)"}};
}

Chart error_chart() {
  return {
      .title = "Error over the position",
      .how_to_read =
          "Each point is the largest error of a pair, relative to its length, against the exact "
          "rotation. It shows what a kernel's angle contract costs at large positions. Kernels "
          "with a table or exact angles keep the rounding error of their data type. An f32 "
          "angle is the position times inv_freq in single precision, and loses one bit with "
          "each doubling of the position. That contract allows this loss: the verdicts judge "
          "every kernel by its own contract. Errors of 1e-9 or less, 0 included, are drawn at "
          "1e-9.",
      .x = {"position", Scale::from_zero, Unit::power_of_two},
      .y = {"worst error / |x|", Scale::logarithmic, Unit::power_of_ten, error_floor}};
}

/// A NaN stays NaN, and is left out.
std::vector<double> not_below(std::vector<double> values, double floor) {
  for (double& value : values)
    if (value < floor) value = floor;
  return values;
}

// The forest plot: every ratio to the baseline with its interval. The null twin stands among them.
// It is the baseline itself, so it shows how far noise alone reaches.

constexpr std::size_t rows_max = 28;

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
  const auto found = std::ranges::find(kinds, outcome, &Kind::outcome);
  return static_cast<std::size_t>((found == std::end(kinds) ? std::begin(kinds) + 3 : found) -
                                  std::begin(kinds));
}

std::vector<std::string> forest_line(std::size_t number, const Contest& contest,
                                     const BoardEntry& entry) {
  const Interval& interval = entry.claim->interval;
  std::string launches;
  for (const double ratio : entry.claim->launch_ratios)
    launches += (launches.empty() ? "" : ", ") + ratio_text(ratio);
  return {count_text(static_cast<std::int64_t>(number)),
          ranked_name(*entry.row),
          contest.of->workload,
          ratio_text(interval.ratio),
          range_text(interval),
          fmt::format("{:.2f} %", 100 * interval.coverage),
          count_text(interval.rounds),
          launches,
          std::string(word(entry.outcome))};
}

using SeriesByKind = std::map<std::pair<std::size_t, int>, Series>;  // and by colour

/// Puts the lines of a contest below the others, under a row with the name of its workload.
void add_rows(const Contest& contest, const KernelColours& colours, Chart& chart,
              SeriesByKind& series) {
  const std::size_t contests = chart.boxes.size();
  double y = chart.rows.empty() ? 0 : chart.rows.back().at;
  for (const BoardEntry& entry : contest.entries) {
    if (!entry.is_compared()) continue;
    const std::size_t number = chart.table.lines.size() + 1;
    chart.table.lines.push_back(forest_line(number, contest, entry));
    const Interval& interval = entry.claim->interval;
    const bool is_full = chart.rows.size() - chart.boxes.size() == rows_max;
    if (!(interval.low > 0) || !std::isfinite(interval.high) || is_full) continue;
    if (chart.boxes.size() == contests) {
      const double margin = contest.group->margin;
      chart.rows.push_back({--y, row_label(contest.of->workload, number) + ":"});
      chart.boxes.push_back({std::max(1 - margin, 1e-6), 1 + margin, y - 0.5, y - 0.5});
    }
    chart.rows.push_back({--y, row_label(ranked_name(*entry.row), number)});
    chart.boxes.back().y_low = y - 0.5;
    const std::size_t kind = kind_of(entry);
    const int colour = colours.of(entry.row->kernel).colour;
    Series& to = series[{kind, colour}];
    to.style = {colour, static_cast<int>(kind)};
    to.x.push_back(interval.ratio);
    to.y.push_back(y);
    to.low.push_back(interval.low);
    to.high.push_back(interval.high);
  }
}

/// The legend names each shape once and in grey, as it stands for all colours.
void add_series(SeriesByKind series, Chart& chart) {
  std::set<std::size_t> told;
  for (auto& [key, of] : series) {
    const auto& [outcome, note] = kinds[key.first];
    if (told.insert(key.first).second)
      chart.series.push_back({.name = std::string(outcome ? word(*outcome) : "null twin"),
                              .note = note,
                              .style = {grey, of.style.mark}});
    chart.series.push_back(std::move(of));
  }
}

// Kernels with a table are measured up to this position, so all kernels are compared up to it.
constexpr double position_max = 65536;

struct TradePoint {
  std::string kernel, angles;
  SeriesStyle style;
  double ns = 0, error = 0;
};

/// The largest measured error of a kernel against the exact rotation.
std::optional<double> error_of(const Results& results, const std::string& kernel,
                               std::string_view dtype) {
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
          const KernelColours& colours, std::vector<TradePoint>& points, Chart& chart) {
  const BoardName name(board.name);
  for (const BoardEntry& entry : contest.entries) {
    if (!entry.has_speed || entry.row->is_reference() || entry.row->is_twin()) continue;
    const std::string& kernel = entry.row->kernel;
    if (const auto error = error_of(results, kernel, name.dtype()))
      points.push_back({ranked_name(*entry.row), std::string(name.angles()), colours.of(kernel),
                        entry.ns, *error});
    else
      chart.absent.push_back(kernel + ": its error was not measured");
  }
}

/// Whether no other kernel is at least as fast and as accurate, and better in one of the two.
bool is_best(const TradePoint& point, const std::vector<TradePoint>& all) {
  return std::ranges::none_of(all, [&point](const TradePoint& other) {
    return other.ns <= point.ns && other.error <= point.error &&
           (other.ns < point.ns || other.error < point.error);
  });
}

/// Marks at one height say nothing that the table of answers does not.
bool tells(const std::vector<TradePoint>& points) {
  if (points.size() < 2) return false;
  const auto [low, high] = std::ranges::minmax(points, {}, &TradePoint::error);
  return high.error > 2 * std::max(low.error, error_floor);
}

Chart trade_chart(const std::string& board, const std::string& workload) {
  return {
      .title = "Accuracy against speed",
      .name = fmt::format("{}, {}", clean_line(board), clean_line(workload)),
      .how_to_read =
          "Points to the left are faster, lower points are more accurate. The error is the "
          "largest one measured at positions up to 65,536, with the frequencies that the legend "
          "of the error over the position names. It was measured with the first pairing that a "
          "kernel offers. Errors of 1e-9 or less are drawn at 1e-9. A kernel is marked best if "
          "no other kernel is at least as good in both and better in one. Kernels of all angle "
          "sources share this picture, but no ranking. The error is measured against the exact "
          "rotation whatever angles a kernel's contract promises.",
      .x = {"ns a token", Scale::logarithmic},
      .y = {"worst error / |x|", Scale::logarithmic, Unit::power_of_ten, error_floor},
      .table = {{"kernel", "angles", "ns a token", "worst error / |x|", ""}, {}}};
}

void show(std::vector<TradePoint> points, Chart& chart) {
  std::ranges::sort(points, {},
                    [](const TradePoint& point) { return std::pair(point.ns, point.kernel); });
  for (const TradePoint& point : points) {
    const bool best = is_best(point, points);
    chart.table.lines.push_back({point.kernel, point.angles, number_text(point.ns),
                                 fmt::format("{:.3g}", point.error), best ? "best" : ""});
    if (chart.series.size() == chart_series_max)
      chart.absent.push_back(point.kernel + ": in the numbers below");
    else
      chart.series.push_back({.name = point.kernel,
                              .note = point.angles + (best ? ", best" : ""),
                              .style = point.style,
                              .x = {point.ns},
                              .y = {std::max(point.error, error_floor)}});
  }
}

}  // namespace

std::vector<Chart> curve_charts(const Results& results, const KernelColours& colours) {
  std::vector<Chart> charts;
  for (const std::string name : {"error_over_position", "decay"}) {
    std::vector<Shared> curves = shared_curves(results, name);
    if (curves.empty()) continue;
    put_kinds_first(curves);
    Chart chart = name == "decay" ? decay_chart() : error_chart();
    chart.table = table_of(chart.x.label, curves);
    for (const auto& [row, names] : curves)
      if (chart.series.size() == chart_series_max)
        chart.absent.push_back(names);
      else
        chart.series.push_back({.name = names,
                                .note = row->note,
                                .draw = chart.y.floor > 0    ? Draw::joined
                                        : is_reference(*row) ? Draw::line
                                                             : Draw::points,
                                .style = colours.of(row->series),
                                .x = row->x,
                                .y = not_below(row->y, chart.y.floor)});
    charts.push_back(std::move(chart));
  }
  return charts;
}

std::vector<Chart> forest_charts(const Summary& summary, const KernelColours& colours) {
  std::vector<Chart> charts;
  for (const Board& board : summary.boards) {
    Chart chart{
        .title = "Ratios to the baseline",
        .name = board.name,
        .how_to_read =
            "A mark is the median ratio of all rounds, and its line is the interval of the claim. "
            "The shape is the outcome, the colour is the kernel's in all pictures. The interval is "
            "corrected for the number of comparisons and of looks, and that of the launches if "
            "they "
            "scatter. A grey box is the margin of its workload: a ratio that reaches into it shows "
            "no difference. The null twin is the baseline under another name, so it belongs on 1.",
        .x = {"time / baseline's time", Scale::logarithmic},
        .series = {{.draw = Draw::upright, .x = {1}}},
        .table = {{"no.", "contestant", "workload", "ratio", "interval", "coverage", "rounds",
                   "each launch", "outcome"},
                  {}}};
    SeriesByKind series;
    for (const Contest& contest : board.contests) add_rows(contest, colours, chart, series);
    add_series(std::move(series), chart);
    const std::size_t all = chart.table.lines.size();
    if (const std::size_t drawn = chart.rows.size() - chart.boxes.size(); drawn < all)
      chart.absent.push_back(
          fmt::format("{} of {} lines, which the numbers below show", all - drawn, all));
    if (all > 0) charts.push_back(std::move(chart));
  }
  return charts;
}

// On the smallest workload of each: there the kernel matters most and memory least.
std::vector<Chart> trade_charts(const Results& results, const Summary& summary,
                                const KernelColours& colours) {
  std::vector<Chart> charts;
  std::set<std::string> seen;
  for (const Board& first : summary.boards) {
    const std::string name = BoardName(first.name).without_angles();
    if (!seen.insert(name).second) continue;
    std::vector<std::pair<const Board*, const Contest*>> contests;
    for (const Board& board : summary.boards)
      for (const Contest& contest : board.contests)
        if (BoardName(board.name).without_angles() == name) contests.emplace_back(&board, &contest);
    if (contests.empty()) continue;
    const TimingRow& of = *std::ranges::min_element(contests, {}, [](const auto& each) {
                             return each.second->of->working_set_bytes;
                           })->second->of;
    Chart chart = trade_chart(name, of.workload);
    std::vector<TradePoint> points;
    for (const auto& [board, contest] : contests)
      if (contest->of->workload == of.workload && contest->of->threads == of.threads)
        take(results, *board, *contest, colours, points, chart);
    if (!tells(points)) continue;
    show(std::move(points), chart);
    charts.push_back(std::move(chart));
  }
  return charts;
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
    styles_[kernel] = {is_grey ? grey : number % static_cast<int>(series_colours.size()),
                       number % series_marks};
  }
}

SeriesStyle KernelColours::of(const std::string& kernel) const {
  const auto found = styles_.find(kernel);
  return found == styles_.end() ? SeriesStyle{} : found->second;
}

std::string model_of(const std::string& workload) {
  return workload.substr(0, workload.rfind('/'));
}

}  // namespace ropewalk::report
