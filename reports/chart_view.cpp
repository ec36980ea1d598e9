// Which curves make which chart, and what a reader is told about it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "reports/chart.h"
#include "reports/text.h"
#include "reports/view.h"

namespace ropewalk {
namespace {

struct Explanation {
  const char* title;
  const char* x_label;
  const char* y_label;
  const char* how_to_read;
};

Explanation explain(const std::string& chart) {
  if (chart == "decay")
    return {
        "Decay curve B(D)", "distance D between query and key", "B(D)",
        "B(D) is the mean length of the prefix sums S_1 .. S_n of exp(i D theta_j); it bounds how "
        "strongly a query and a key D positions apart can still act on each other (RoFormer, "
        "section 3.4.3), so a falling line is the long-term decay. The line is the reference; the "
        "points were measured through the kernels and belong on it. This is the picture; the "
        "decay property judges every prefix sum as a complex number."};
  return {"Curve", "x", "y",
          "The line is the reference, points were measured through the kernels."};
}

using Group = std::vector<const CurveRow*>;

/// Charts in order of appearance; in each the reference first. Of rows with the same series and
/// note the last counts.
std::vector<std::pair<std::string, Group>> group_by_chart(const Results& results) {
  std::vector<std::pair<std::string, Group>> charts;
  for (const CurveRow& row : results.curves) {
    auto chart = std::find_if(charts.begin(), charts.end(),
                              [&row](const auto& each) { return each.first == row.chart; });
    if (chart == charts.end()) chart = charts.insert(chart, {row.chart, {}});
    Group& group = chart->second;
    const auto same = std::find_if(group.begin(), group.end(), [&row](const CurveRow* each) {
      return each->series == row.series && each->note == row.note;
    });
    if (same == group.end())
      group.push_back(&row);
    else
      *same = &row;
  }
  for (auto& chart : charts)
    std::stable_partition(chart.second.begin(), chart.second.end(),
                          [](const CurveRow* row) { return row->series == "reference"; });
  return charts;
}

View base_view(const std::string& chart) {
  const Explanation explanation = explain(chart);
  View item;
  item.set("chart_title", explanation.title);
  item.set("chart_name", chart == "decay" ? "" : clean_line(chart));
  item.set("chart_x_label", explanation.x_label);
  item.set("chart_how_to_read", explanation.how_to_read);
  return item;
}

std::string left_out(const Group& group) {
  if (group.size() <= chart_series_max) return "";
  return fmt::format("{} more series are in the results file.", group.size() - chart_series_max);
}

View legend(const Group& group) {
  View out{View::type::list};
  constexpr const char* marks[] = {"○", "□", "△", "◇", "▽", "+", "×", "⬠"};
  // chart.cpp's gnuplot marks by series: 6 circle, 4 square, 8 triangle, 12 diamond, 10 down, 1, 2,
  // 14
  for (std::size_t i = 0; i < std::min(group.size(), chart_series_max); ++i) {
    View item;
    item.set("series_index", std::to_string(i));
    item.set("series_mark", group[i]->series == "reference" ? "━" : marks[i]);
    item.set("series", clean_line(group[i]->series));
    item.set("series_note", clean_line(group[i]->note));
    out << item;
  }
  return out;
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

}  // namespace

View chart_pictures(const Results& results, const std::string& gnuplot) {
  View out{View::type::list};
  for (const auto& [chart, group] : group_by_chart(results)) {
    const Explanation explanation = explain(chart);
    ChartRequest request;
    request.id = fmt::format("chart{}", out.list_value().size());
    request.title = explanation.title;
    request.x_label = explanation.x_label;
    request.y_label = explanation.y_label;
    for (const CurveRow* row : group)
      request.series.push_back({row->x, row->y, row->series == "reference"});
    const Chart drawn = draw_chart(request, gnuplot);
    View item = base_view(chart);
    item.set("chart_svg", drawn.svg);
    item.set("chart_drawn",
             View(drawn.error.empty() ? View::type::bool_true : View::type::bool_false));
    item.set("chart_error", drawn.error);
    item.set("legend", legend(group));
    item.set("chart_left_out", left_out(group));
    out << item;
  }
  return out;
}

View chart_tables(const Results& results) {
  View out{View::type::list};
  for (const auto& [chart, group] : group_by_chart(results)) {
    View item = base_view(chart);
    View series{View::type::list}, lines{View::type::list};
    const std::size_t count = std::min(group.size(), chart_series_max);
    for (std::size_t i = 0; i < count; ++i) {
      View column;
      column.set("series", clean_line(group[i]->series));
      series << column;
    }
    // The places of the last series: a kernel is measured at fewer places than the reference.
    for (const double x : table_places(*group[count - 1])) {
      View line, values{View::type::list};
      line.set("chart_x", fmt::format("{:.6g}", x));
      for (std::size_t i = 0; i < count; ++i) {
        View value;
        value.set("chart_value", value_at(*group[i], x));
        values << value;
      }
      line.set("chart_values", values);
      lines << line;
    }
    item.set("series_columns", series);
    item.set("chart_lines", lines);
    item.set("chart_left_out", left_out(group));
    out << item;
  }
  return out;
}

}  // namespace ropewalk
