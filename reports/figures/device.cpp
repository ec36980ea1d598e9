// Prefill on a device is held to the ceiling, decode to the floors: a call of a few tokens takes
// little longer than an empty kernel. Host and device share one picture and no ranking.
#include "reports/figures/device.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "base/text.h"
#include "reports/figures/figure.h"
#include "reports/numbers/board_name.h"

namespace ropewalk::report {
namespace {

constexpr std::string_view device_suffix = " / cuda";
constexpr std::size_t kernels_max = chart_series_max - 2;  // beside two floors
constexpr std::size_t rows_max = 28;

using Entries = std::vector<const BoardEntry*>;
/// The entries of one picture by kernel, each in the order of its tokens.
using ByKernel = std::map<std::string, Entries>;

/// What a picture over tokens shows of an entry; 0: nothing.
using Value = std::function<double(const BoardEntry&)>;

double us_of_call(const BoardEntry& entry) {
  return entry.ns * static_cast<double>(entry.row->tokens) / 1000;
}

/// Pictures by their name: the model, and the board without its angle source.
std::map<std::string, ByKernel> entries_of(const Summary& summary, WorkloadPhase phase,
                                           const Value& value) {
  std::map<std::string, ByKernel> pictures;
  for (const Board& board : summary.boards) {
    const BoardName name(clean_line(board.name));
    if (!name.is_of_device()) continue;
    for (const Contest& contest : board.contests) {
      if (contest.of->phase != word(phase)) continue;
      ByKernel& kernels = pictures[model_of(contest.of->workload) + ", " + name.without_angles()];
      for (const BoardEntry& entry : contest.entries)
        if (entry.has_speed && !entry.row->is_twin() && entry.row->tokens > 0 && value(entry) > 0)
          kernels[entry.row->kernel].push_back(&entry);
    }
  }
  for (auto& [name, kernels] : pictures)
    for (auto& [kernel, entries] : kernels)
      std::stable_sort(entries.begin(), entries.end(), [](const auto* a, const auto* b) {
        return a->row->tokens < b->row->tokens;
      });
  return pictures;
}

/// Draws kernels as points, and floors as thin lines after them.
void draw_over_tokens(const ByKernel& kernels, const Value& value, const KernelColours& colours,
                      Figure& figure) {
  ChartRequest& picture = figure.picture;
  picture.x_label = "tokens in a call";
  picture.x_scale = Scale::logarithmic;
  std::map<std::int64_t, std::string> ticks;
  int grey_lines = 0;
  for (const bool floors : {false, true})
    for (const auto& [kernel, entries] : kernels) {
      if (entries.front()->row->is_floor() != floors) continue;
      if (picture.series.size() == (floors ? chart_series_max : kernels_max)) {
        figure.absent.push_back(kernel + ": in the numbers below");
        continue;
      }
      ChartSeries series;
      series.draw = floors ? Draw::line : Draw::joined;
      for (const BoardEntry* entry : entries) {
        series.x.push_back(static_cast<double>(entry->row->tokens));
        series.y.push_back(value(*entry));
        ticks[entry->row->tokens] = count_text(entry->row->tokens);
      }
      series.style = floors ? SeriesStyle{grey, grey_lines++} : colours.of(kernel);
      figure.legend.push_back(legend_item(series, kernel, ""));
      picture.series.push_back(std::move(series));
    }
  for (const auto& [tokens, text] : ticks)
    picture.x_ticks.push_back({static_cast<double>(tokens), text});
}

/// A single size makes no curve.
bool has_a_curve(const ByKernel& kernels) {
  return std::any_of(kernels.begin(), kernels.end(), [](const auto& each) {
    return each.second.front()->row->tokens != each.second.back()->row->tokens;
  });
}

double share_of(const BoardEntry& entry) {
  return entry.row->is_reference() ? 0 : entry.percent_of_ceiling;
}

void add_shares(const Summary& summary, const KernelColours& colours,
                std::vector<Figure>& figures) {
  for (const auto& [name, kernels] : entries_of(summary, WorkloadPhase::prefill, share_of)) {
    if (!has_a_curve(kernels)) continue;
    Figure figure;
    figure.name = name;
    figure.picture.title = "Share of the ceiling over the tokens";
    figure.picture.y_label = "% of ceiling";
    figure.how_to_read =
        "Each point is the ceiling's time divided by the kernel's, both timed on the device in the "
        "same rounds. The ceiling moves the same bytes and computes nothing, so 100 % is all that "
        "the memory allows. The buffers of the calls together are larger than the L2.";
    draw_over_tokens(kernels, share_of, colours, figure);
    figure.table.columns = {"tokens", "kernel", "% of ceiling", "ns a token", "GB/s"};
    for (const auto& [kernel, entries] : kernels)
      for (const BoardEntry* entry : entries)
        figure.table.lines.push_back({count_text(entry->row->tokens), kernel,
                                      fmt::format("{:.1f} %", entry->percent_of_ceiling),
                                      number_text(entry->ns), number_text(entry->gb_per_s)});
    figures.push_back(std::move(figure));
  }
}

double call_of(const BoardEntry& entry) {
  return entry.row->is_ceiling() ? 0 : us_of_call(entry);
}

void add_calls(const Summary& summary, const KernelColours& colours, std::vector<Figure>& figures) {
  for (const auto& [name, kernels] : entries_of(summary, WorkloadPhase::decode, call_of)) {
    if (!has_a_curve(kernels)) continue;
    Figure figure;
    figure.name = name;
    figure.picture.title = "Time of a call of decode";
    figure.picture.y_label = "us a call";
    figure.how_to_read =
        "A call of a few tokens takes little longer than a kernel that does nothing. The lines are "
        "the floors, timed in the same rounds: floor is an empty kernel, and floor_copy reads a "
        "position, its table row and x, and writes x back. All calls use one set of buffers, which "
        "stays in the L2.";
    draw_over_tokens(kernels, call_of, colours, figure);
    double low = 0, high = 0;
    figure.table.columns = {"tokens", "kernel", "us a call", "/ floor_copy", "/ floor"};
    const auto ratio = [](double value) { return value > 0 ? ratio_text(value) : ""; };
    for (const auto& [kernel, entries] : kernels)
      for (const BoardEntry* entry : entries) {
        const double us = us_of_call(*entry);
        low = low > 0 ? std::min(low, us) : us;
        high = std::max(high, us);
        figure.table.lines.push_back({count_text(entry->row->tokens), kernel, number_text(us),
                                      ratio(entry->of_floor_copy), ratio(entry->of_floor)});
      }
    constexpr double linear_max = 20;
    if (high > linear_max * low) figure.picture.y_scale = Scale::logarithmic;
    figures.push_back(std::move(figure));
  }
}

/// The kernels of one workload by where they ran.
using Sides = std::map<std::string, Entries>;
/// One picture: workloads by their tokens and name.
using SideBySide = std::map<std::pair<std::int64_t, std::string>, Sides>;

/// Pictures by their name: the model, and the host's board without its angle source.
std::map<std::string, SideBySide> side_by_side(const Summary& summary) {
  std::map<std::string, SideBySide> out;
  for (const Board& board : summary.boards) {
    const BoardName parts(clean_line(board.name));
    std::string name = parts.without_angles();
    if (name.ends_with(device_suffix)) name.resize(name.size() - device_suffix.size());
    for (const Contest& contest : board.contests) {
      const TimingRow& of = *contest.of;
      const std::string where = parts.is_of_device() ? "cuda"
                                : of.threads > 1     ? fmt::format("host, {} threads", of.threads)
                                                     : "host";
      for (const BoardEntry& entry : contest.entries)
        if (entry.has_speed && !entry.row->is_reference() && !entry.row->is_twin())
          out[model_of(of.workload) + ", " + name][{of.tokens, of.workload}][where].push_back(
              &entry);
    }
  }
  for (auto& [name, workloads] : out)
    std::erase_if(workloads, [](const auto& each) {
      return each.second.size() < 2 || !each.second.contains("cuda");
    });
  std::erase_if(out, [](const auto& each) { return each.second.empty(); });
  return out;
}

/// "llama-3-8b/decode-8" gives "decode-8".
std::string size_of(const std::string& workload) {
  return workload.substr(workload.rfind('/') + 1);
}

void draw_sides(const SideBySide& workloads, const KernelColours& colours, Figure& figure) {
  ChartRequest& picture = figure.picture;
  constexpr int on_device = 0, on_host = 1;  // marks
  std::map<std::pair<int, std::string>, ChartSeries> series;
  double y = 0, low = 0, high = 0;
  std::size_t number = 0;
  for (const auto& [key, sides] : workloads) {
    const std::string& workload = key.second;
    const bool drawn = picture.y_rows.size() + 1 + sides.size() <= rows_max;
    if (!drawn) figure.absent.push_back(workload + ": in the numbers below");
    if (drawn) picture.y_rows.push_back({--y, row_label(size_of(workload), ++number) + ":"});
    for (const auto& [where, entries] : sides) {
      if (drawn) picture.y_rows.push_back({--y, where});
      for (const BoardEntry* entry : entries) {
        figure.table.lines.push_back({workload, where, entry->row->kernel, number_text(entry->ns)});
        if (!drawn) continue;
        const int side = where == "cuda" ? on_device : on_host;
        ChartSeries& to = series[{side, entry->row->kernel}];
        to.style = {colours.of(entry->row->kernel).colour, side};
        to.x.push_back(entry->ns);
        to.y.push_back(y);
        low = low > 0 ? std::min(low, entry->ns) : entry->ns;
        high = std::max(high, entry->ns);
      }
    }
  }
  picture.x_ticks = log_ticks(low, high);
  for (auto& [key, of] : series) {
    figure.legend.push_back(
        legend_item(of, key.second, key.first == on_device ? "on the device" : "on the host"));
    picture.series.push_back(std::move(of));
  }
}

void add_sides(const Summary& summary, const KernelColours& colours, std::vector<Figure>& figures) {
  for (const auto& [name, workloads] : side_by_side(summary)) {
    Figure figure;
    figure.name = name;
    figure.picture.title = "Host and device side by side";
    figure.picture.x_label = "ns a token";
    figure.picture.x_scale = Scale::logarithmic;
    figure.how_to_read =
        "Each mark is the median time of one kernel on one workload. The axis is logarithmic. Host "
        "and device are two machines with two memories: they share this picture, but no board, no "
        "rounds and no ranking. Copies between host and device are in no time.";
    figure.table.columns = {"workload", "where", "kernel", "ns a token"};
    draw_sides(workloads, colours, figure);
    figures.push_back(std::move(figure));
  }
}

}  // namespace

std::vector<Figure> device_figures(const Summary& summary, const KernelColours& colours) {
  std::vector<Figure> figures;
  add_shares(summary, colours, figures);
  add_calls(summary, colours, figures);
  add_sides(summary, colours, figures);
  return figures;
}

}  // namespace ropewalk::report
