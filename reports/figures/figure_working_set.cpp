// GB/s over the working set: how speed and ceiling change from cache to cache.
#include "reports/figures/figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <regex>
#include <set>

#include "base/text.h"
#include "reports/numbers/board_name.h"

namespace ropewalk::report {
namespace {

struct SizePoint {
  double bytes = 0, gb_low = 0, gb = 0, gb_high = 0;
};

/// One kernel or the ceiling over all sizes, by workload.
using Points = std::map<std::string, SizePoint>;

/// Everything in one picture: the same model, pairing, dtype and placement.
struct Walk {
  bool is_of_device = false;
  /// Workload -> working set of the ceiling, or the least of the kernels.
  std::map<std::string, std::int64_t> sizes;
  std::map<std::string, Points> kernels;
  Points ceiling;
  std::map<std::string, Outcome> without_speed;  ///< kernel -> its outcome
};

/// Nothing if it has no place on the logarithmic axes.
std::optional<SizePoint> point_of(const BoardEntry& entry) {
  const TimingRow& row = *entry.row;
  // (bytes per call) / (ns per token * tokens per call) = 10^9 bytes per second
  const double scale = static_cast<double>(row.bytes) / static_cast<double>(row.tokens);
  const SizePoint p{static_cast<double>(row.working_set_bytes), scale / entry.ns_max,
                    entry.gb_per_s, scale / entry.ns_min};
  for (const double value : {p.bytes, p.gb_low, p.gb, p.gb_high})
    if (!std::isfinite(value) || value <= 0) return std::nullopt;
  return p;
}

void take(const Contest& contest, Walk& walk) {
  const std::string& workload = contest.of->workload;
  for (const BoardEntry& entry : contest.entries) {
    if (entry.row->is_twin() || entry.row->is_floor()) continue;
    if (!entry.has_speed) {
      if (!entry.row->is_ceiling()) walk.without_speed[entry.row->kernel] = entry.outcome;
      continue;
    }
    const std::optional<SizePoint> point = point_of(entry);
    if (!point) continue;
    Points& points = entry.row->is_ceiling() ? walk.ceiling : walk.kernels[entry.row->kernel];
    if (entry.row->is_ceiling() && points.contains(workload)) continue;  // the fastest comes first
    points[workload] = *point;
    const auto [size, is_new] = walk.sizes.try_emplace(workload, entry.row->working_set_bytes);
    if (!is_new) size->second = std::min(size->second, entry.row->working_set_bytes);
  }
}

/// By the model, the board without its angle source, and the threads.
std::map<std::string, Walk> find_walks(const Summary& summary) {
  std::map<std::string, Walk> walks;
  for (const Board& board : summary.boards)
    for (const Contest& contest : board.contests) {
      if (contest.of->phase != word(WorkloadPhase::working_set)) continue;
      const std::string name = model_of(contest.of->workload) + ", " +
                               BoardName(clean_line(board.name)).without_angles() +
                               threads_text(contest.of->threads);
      Walk& walk = walks[name];
      walk.is_of_device = BoardName(board.name).is_of_device();
      take(contest, walk);
    }
  return walks;
}

/// Kernel names, in the order of speed at their largest working set; the fastest is first.
std::vector<std::string> by_speed(const Walk& walk) {
  std::set<std::pair<double, std::string>> order;
  for (const auto& [kernel, points] : walk.kernels) {
    const auto bytes = [](const auto& each) { return each.second.bytes; };
    order.emplace(-std::ranges::max_element(points, {}, bytes)->second.gb, kernel);
  }
  std::vector<std::string> names;
  for (const auto& each : order) names.push_back(each.second);
  return names;
}

/// Names the caches that the working sets reach in the picture, and the others beside it.
void mark_caches(const std::vector<Cache>& caches, double largest, Chart& chart) {
  Series marks{.name = "caches", .draw = Draw::upright};
  for (const auto& [name, bytes] : caches) {
    if (bytes > 4 * largest) {
      chart.absent.push_back(
          fmt::format("{} ({}): larger than all of these", name, binary_size(bytes)));
      continue;
    }
    marks.x.push_back(bytes);
    marks.labels.push_back(name);
    marks.note += fmt::format("{}{} {}", marks.note.empty() ? "" : ", ", name, binary_size(bytes));
  }
  if (!marks.x.empty()) chart.series.push_back(std::move(marks));
}

std::string cell_text(const Points& points, const std::string& workload) {
  const auto found = points.find(workload);
  if (found == points.end()) return "";
  const auto& [bytes, low, middle, high] = found->second;
  return fmt::format("{} [{} – {}]", number_text(middle), number_text(low), number_text(high));
}

FigureTable table_of(const Walk& walk, const std::vector<std::string>& kernels) {
  FigureTable table;
  table.columns = {"working set"};
  if (!walk.ceiling.empty()) table.columns.push_back("ceiling");
  table.columns.insert(table.columns.end(), kernels.begin(), kernels.end());
  std::set<std::pair<std::int64_t, std::string>> order;
  for (const auto& [workload, bytes] : walk.sizes) order.emplace(bytes, workload);
  for (const auto& [bytes, workload] : order) {
    std::vector<std::string> line{bytes_text(bytes)};
    if (!walk.ceiling.empty()) line.push_back(cell_text(walk.ceiling, workload));
    for (const std::string& kernel : kernels)
      line.push_back(cell_text(walk.kernels.at(kernel), workload));
    table.lines.push_back(std::move(line));
  }
  return table;
}

Series series_of(const Points& points, std::string name, Draw draw, SeriesStyle style) {
  Series series{.name = std::move(name), .draw = draw, .style = style};
  std::multimap<double, SizePoint> by_size;
  for (const auto& each : points) by_size.emplace(each.second.bytes, each.second);
  for (const auto& [bytes, p] : by_size) {
    series.x.push_back(bytes);
    series.y.push_back(p.gb);
    if (draw != Draw::band) continue;
    series.low.push_back(p.gb_low);
    series.high.push_back(p.gb_high);
  }
  return series;
}

Chart working_set_chart(const std::string& name, const Walk& walk, const std::vector<Cache>& caches,
                        const KernelColours& colours) {
  const std::vector<std::string> kernels = by_speed(walk);
  Chart chart{
      .title = "GB/s over the working set",
      .name = name,
      .how_to_read =
          "The same work is done for more and more tokens, so that the data outgrows one cache "
          "after another. Each point is a median. The distance of a kernel below the band is speed "
          "that the kernel leaves unused. Where the band itself falls, memory is the limit. GB/s "
          "counts the bytes that a kernel must move. A table that a kernel reads belongs to its "
          "working set. Both axes are logarithmic.",
      .x = {"working set", Scale::logarithmic, Unit::bytes},
      .y = {"GB/s", Scale::logarithmic},
      .table = table_of(walk, kernels)};
  if (!walk.ceiling.empty()) {
    chart.series.push_back(series_of(walk.ceiling, "ceiling", Draw::band, {}));
    chart.series.back().note = "median; the band spans its repetitions";
  }
  for (std::size_t i = 0; i < kernels.size(); ++i)
    if (i >= chart_series_max)
      chart.absent.push_back(kernels[i] + ": slower than these, in the numbers below");
    else
      chart.series.push_back(
          series_of(walk.kernels.at(kernels[i]), kernels[i], Draw::joined, colours.of(kernels[i])));
  for (const auto& [kernel, outcome] : walk.without_speed)
    if (!walk.kernels.contains(kernel))
      chart.absent.push_back(fmt::format("{}: {}", kernel, outcome));
  std::int64_t largest = 0;
  for (const auto& each : walk.sizes) largest = std::max(largest, each.second);
  mark_caches(caches, static_cast<double>(largest), chart);
  return chart;
}

}  // namespace

std::vector<Cache> caches_of(const std::string& text) {
  static const std::regex pattern("(^|, )(L1d|L2|L3) ([1-9][0-9]{0,8}) (KiB|MiB)");
  std::vector<Cache> caches;
  for (std::sregex_iterator at(text.begin(), text.end(), pattern), end; at != end; ++at) {
    const std::string name = (*at)[2];
    if (std::ranges::find(caches, name, &Cache::name) == caches.end())
      caches.push_back({name, std::stod((*at)[3]) * ((*at)[4] == "KiB" ? 0x1p10 : 0x1p20)});
  }
  return caches;
}

std::vector<Chart> working_set_charts(const Results& results, const Summary& summary,
                                      const KernelColours& colours) {
  const auto& environment = results.run.environment;
  const auto found = environment.find("cpu_caches");
  const auto caches = caches_of(found == environment.end() ? "" : found->second);
  std::vector<Chart> charts;
  for (const auto& [name, walk] : find_walks(summary))
    if (walk.sizes.size() > 1)  // a single size makes no curve
      charts.push_back(working_set_chart(
          name, walk, walk.is_of_device ? std::vector<Cache>{} : caches, colours));
  return charts;
}

}  // namespace ropewalk::report
