// GB/s over the working set: how speed and ceiling change from cache to cache.
#include "reports/figures/figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

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

SizePoint point_of(const BoardEntry& entry) {
  const TimingRow& row = *entry.row;
  // (bytes per call) / (ns per token * tokens per call) = 10^9 bytes per second
  const auto gb_of = [&row](double ns) {
    return static_cast<double>(row.bytes) / (ns * static_cast<double>(row.tokens));
  };
  return {static_cast<double>(row.working_set_bytes), gb_of(entry.ns_max), entry.gb_per_s,
          gb_of(entry.ns_min)};
}

bool can_be_drawn(const SizePoint& p) {
  const auto good = [](double v) { return std::isfinite(v) && v > 0; };
  return good(p.bytes) && good(p.gb_low) && good(p.gb) && good(p.gb_high);
}

void take(const Contest& contest, Walk& walk) {
  const std::string& workload = contest.of->workload;
  for (const BoardEntry& entry : contest.entries) {
    if (entry.row->is_twin() || entry.row->is_floor()) continue;
    if (!entry.has_speed) {
      if (!entry.row->is_ceiling()) walk.without_speed[entry.row->kernel] = entry.outcome;
      continue;
    }
    const SizePoint point = point_of(entry);
    if (!can_be_drawn(point)) continue;
    Points& points = entry.row->is_ceiling() ? walk.ceiling : walk.kernels[entry.row->kernel];
    if (entry.row->is_ceiling() && points.contains(workload)) continue;  // the fastest comes first
    points[workload] = point;
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

std::vector<SizePoint> by_size(const Points& points) {
  std::vector<SizePoint> out;
  for (const auto& each : points) out.push_back(each.second);
  std::ranges::sort(out, [](const SizePoint& a, const SizePoint& b) { return a.bytes < b.bytes; });
  return out;
}

/// Kernel names, in the order of speed at their largest working set; the fastest is first.
std::vector<std::string> by_speed(const Walk& walk) {
  std::vector<std::pair<double, std::string>> order;
  for (const auto& [kernel, points] : walk.kernels)
    order.emplace_back(-by_size(points).back().gb, kernel);
  std::ranges::sort(order);
  std::vector<std::string> names;
  for (const auto& each : order) names.push_back(each.second);
  return names;
}

std::string binary_size(double bytes) {
  const char* unit = "KiB";
  double value = bytes / 1024;
  for (const char* next : {"MiB", "GiB"}) {
    if (value < 1024) break;
    value /= 1024;
    unit = next;
  }
  return fmt::format("{:g} {}", value, unit);
}

std::vector<ChartPlace> size_ticks(const ChartRequest& picture) {
  double low = std::numeric_limits<double>::infinity(), high = 0;
  const auto widen = [&](const std::vector<double>& values) {
    for (const double bytes : values) {
      low = std::min(low, bytes);
      high = std::max(high, bytes);
    }
  };
  for (const ChartSeries& series : picture.series) widen(series.x);
  widen(picture.band.x);
  for (const ChartPlace& mark : picture.x_marks) widen({mark.x});
  std::vector<ChartPlace> ticks;
  double at = 1024;
  while (at <= 1.5 * high) {
    if (at >= low / 1.5) ticks.push_back({at, binary_size(at)});
    at *= 4;
  }
  return ticks;
}

/// Marks the caches that the working sets reach, and names the others.
void mark_caches(const std::vector<Cache>& caches, double largest, Figure& figure) {
  std::string names;
  for (const Cache& cache : caches) {
    if (cache.bytes > 4 * largest) {
      figure.absent.push_back(
          fmt::format("{} ({}): larger than all of these", cache.name, binary_size(cache.bytes)));
      continue;
    }
    figure.picture.x_marks.push_back({cache.bytes, cache.name});
    names +=
        fmt::format("{}{} {}", names.empty() ? "" : ", ", cache.name, binary_size(cache.bytes));
  }
  if (!names.empty()) figure.legend.push_back({"caches", names, "mark", "┆"});
}

std::string cell_text(const Points& points, const std::string& workload) {
  const auto found = points.find(workload);
  if (found == points.end()) return "";
  const SizePoint& p = found->second;
  return fmt::format("{} [{} – {}]", number_text(p.gb), number_text(p.gb_low),
                     number_text(p.gb_high));
}

FigureTable table_of(const Walk& walk, const std::vector<std::string>& kernels) {
  FigureTable table;
  table.columns = {"working set"};
  if (!walk.ceiling.empty()) table.columns.push_back("ceiling");
  table.columns.insert(table.columns.end(), kernels.begin(), kernels.end());
  std::vector<std::pair<std::int64_t, std::string>> order;
  for (const auto& [workload, bytes] : walk.sizes) order.emplace_back(bytes, workload);
  std::ranges::sort(order);
  for (const auto& [bytes, workload] : order) {
    std::vector<std::string> line{bytes_text(bytes)};
    if (!walk.ceiling.empty()) line.push_back(cell_text(walk.ceiling, workload));
    for (const std::string& kernel : kernels)
      line.push_back(cell_text(walk.kernels.at(kernel), workload));
    table.lines.push_back(std::move(line));
  }
  return table;
}

void add_ceiling(const Walk& walk, Figure& figure) {
  ChartBand& band = figure.picture.band;
  for (const SizePoint& p : by_size(walk.ceiling)) {
    band.x.push_back(p.bytes);
    band.low.push_back(p.gb_low);
    band.middle.push_back(p.gb);
    band.high.push_back(p.gb_high);
  }
  if (!band.x.empty())
    figure.legend.push_back({"ceiling", "median; the band spans its repetitions", "band", "▒"});
}

Figure figure_of(const std::string& name, const Walk& walk, const std::vector<Cache>& caches,
                 const KernelColours& colours) {
  Figure figure;
  ChartRequest& picture = figure.picture;
  picture.title = "GB/s over the working set";
  picture.x_label = "working set";
  picture.y_label = "GB/s";
  picture.x_scale = picture.y_scale = Scale::logarithmic;
  figure.name = name;
  figure.how_to_read =
      "The same work is done for more and more tokens, so that the data outgrows one cache after "
      "another. Each point is a median. The distance of a kernel below the band is speed that the "
      "kernel leaves unused. Where the band itself falls, memory is the limit. GB/s counts the "
      "bytes that a kernel must move. A table that a kernel reads belongs to its working set. Both "
      "axes are logarithmic.";
  add_ceiling(walk, figure);
  const std::vector<std::string> kernels = by_speed(walk);
  for (const std::string& kernel : kernels) {
    if (picture.series.size() == chart_series_max) {
      figure.absent.push_back(kernel + ": slower than these, in the numbers below");
      continue;
    }
    ChartSeries series;
    series.draw = Draw::joined;
    for (const SizePoint& p : by_size(walk.kernels.at(kernel))) {
      series.x.push_back(p.bytes);
      series.y.push_back(p.gb);
    }
    series.style = colours.of(kernel);
    figure.legend.push_back(legend_item(series, kernel, ""));
    picture.series.push_back(std::move(series));
  }
  for (const auto& [kernel, outcome] : walk.without_speed)
    if (walk.kernels.count(kernel) == 0)
      figure.absent.push_back(fmt::format("{}: {}", kernel, outcome));
  std::int64_t largest = 0;
  for (const auto& each : walk.sizes) largest = std::max(largest, each.second);
  mark_caches(caches, static_cast<double>(largest), figure);
  picture.x_ticks = size_ticks(picture);
  figure.table = table_of(walk, kernels);
  return figure;
}

}  // namespace

std::vector<Cache> caches_of(const std::string& text) {
  std::vector<Cache> caches;
  for (const char* name : {"L1d", "L2", "L3"}) {
    const std::string start = std::string(name) + ' ';
    std::size_t at = text.rfind(start, 0) == 0 ? 0 : text.find(", " + start);
    if (at == std::string::npos) continue;
    at = text.find(start, at) + start.size();
    std::int64_t count = 0;
    const auto read = std::from_chars(text.data() + at, text.data() + text.size(), count);
    const std::string unit(
        read.ptr,
        std::min<std::size_t>(4, static_cast<std::size_t>(text.data() + text.size() - read.ptr)));
    const double scale = unit == " KiB" ? 0x1p10 : unit == " MiB" ? 0x1p20 : 0;
    if (read.ec == std::errc() && count > 0 && count < 1'000'000'000 && scale > 0)
      caches.push_back({name, static_cast<double>(count) * scale});
  }
  return caches;
}

std::vector<Figure> working_set_figures(const Results& results, const Summary& summary,
                                        const KernelColours& colours) {
  const auto& environment = results.run.environment;
  const auto found = environment.find("cpu_caches");
  const auto caches = caches_of(found == environment.end() ? "" : found->second);
  std::vector<Figure> figures;
  for (const auto& [name, walk] : find_walks(summary))
    if (walk.sizes.size() > 1)  // a single size makes no curve
      figures.push_back(
          figure_of(name, walk, walk.is_of_device ? std::vector<Cache>{} : caches, colours));
  return figures;
}

}  // namespace ropewalk::report
