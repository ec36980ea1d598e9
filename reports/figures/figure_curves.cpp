// Decides which curves make which chart, and how the report explains each chart.
#include "reports/figures/figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "base/text.h"

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

}  // namespace ropewalk::report
