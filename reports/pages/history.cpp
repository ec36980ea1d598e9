#include "reports/pages/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string_view>

#include "base/digest.h"
#include "base/text.h"
#include "reports/numbers/boards.h"
#include "reports/numbers/compare.h"
#include "reports/numbers/summary.h"

namespace ropewalk::report {
namespace {

constexpr const char* sha_key = "results_sha256";
constexpr std::size_t runs_shown = 12;

/// The runs of the file, without those that were cut off.
std::vector<Results> runs_of(std::string_view history, const std::string& name) {
  constexpr std::string_view begin = "{\"schema\":1,\"row\":\"run\"";
  std::vector<Results> runs;
  while (!history.empty()) {
    const std::size_t next = history.find(begin, 1);
    const std::size_t end = next == history.npos ? history.size() : next;
    Results run = results_from(history.substr(0, end), name);
    if (run.complete) runs.push_back(std::move(run));
    history.remove_prefix(end);
  }
  return runs;
}

std::string sha_of(const Results& run) {
  const auto found = run.run.environment.find(sha_key);
  return found == run.run.environment.end() ? "" : found->second;
}

/// A cell is (board, workload and threads; kernel).
using Cell = std::pair<std::string, std::string>;

/// The time of each kernel on each workload of a board, divided by the ceiling's time there.
std::map<std::string, std::map<Cell, double>> times_of(const Results& run) {
  std::map<std::string, std::map<Cell, std::vector<double>>> launches;
  std::map<std::pair<std::string, std::string>, double> ceilings;
  const auto place = [](const TimingRow& row) {
    return fmt::format("{} x{}", row.workload, row.threads);
  };
  for (const TimingRow& row : run.timings) {
    if (!(row.ns_per_token_median > 0) || !std::isfinite(row.ns_per_token_median)) continue;
    if (row.is_ceiling()) {
      double& least = ceilings[{row.board, place(row)}];
      least = least > 0 ? std::min(least, row.ns_per_token_median) : row.ns_per_token_median;
    } else if (!row.is_twin()) {
      launches[row.board][{place(row), row.kernel}].push_back(row.ns_per_token_median);
    }
  }
  std::map<std::string, std::map<Cell, double>> times;
  for (const auto& [board, cells] : launches)
    for (const auto& [cell, medians] : cells) {
      const auto ceiling = ceilings.find({board, cell.first});
      times[board][cell] = median_of(medians) / (ceiling == ceilings.end() ? 1.0 : ceiling->second);
    }
  return times;
}

/// One board over all runs.
struct Trend {
  std::set<Cell> common;                             ///< the cells that every run has
  std::vector<const std::map<Cell, double>*> times;  ///< by run
};

/// The geometric mean over the kernel's workloads of its times in run `at` over those in the first
/// run.
double relative(const Trend& trend, const std::string& kernel, std::size_t at) {
  double sum = 0;
  int count = 0;
  for (const Cell& cell : trend.common)
    if (cell.second == kernel) {
      sum += std::log(trend.times[at]->at(cell) / trend.times[0]->at(cell));
      ++count;
    }
  return count == 0 ? 0 : std::exp(sum / count);
}

Figure figure_of(const std::string& board, const Trend& trend, const std::vector<Results>& runs) {
  Figure figure;
  ChartRequest& picture = figure.picture;
  picture.title = "Speed over the runs";
  picture.x_label = "run, the newest last";
  picture.y_label = "time, first run = 1";
  figure.name = board;
  figure.how_to_read =
      "Each line is the time of one kernel, as the geometric mean over the workloads that all "
      "these runs have. The first run is 1, and lower is faster. Times are in units of each run's "
      "own ceiling if it was timed, which cancels out drift of the machine. Processes usually "
      "differ by 4 to 9 %: a step is a change, a wiggle is not. ropewalk compare decides which "
      "of the two it is.";
  figure.table.columns = {"run"};
  std::set<std::string> kernels;
  for (const Cell& cell : trend.common) kernels.insert(cell.second);
  for (const std::string& kernel : kernels) {
    figure.table.columns.push_back(kernel);
    if (picture.series.size() == chart_series_max) {
      figure.absent.push_back(kernel + ": in the numbers below");
      continue;
    }
    ChartSeries series;
    series.draw = Draw::joined;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      series.x.push_back(static_cast<double>(i + 1));
      series.y.push_back(relative(trend, kernel, i));
    }
    figure.legend.push_back(legend_item(picture.series.size(), series, kernel, ""));
    picture.series.push_back(std::move(series));
  }
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto& environment = runs[i].run.environment;
    const auto revision = environment.find("git_revision");
    picture.x_ticks.push_back({static_cast<double>(i + 1), std::to_string(i + 1)});
    std::vector<std::string> line{
        fmt::format("{}: {}{}", i + 1, clean_line(runs[i].run.started_at),
                    revision == environment.end() ? "" : ", " + clean_line(revision->second))};
    for (const std::string& kernel : kernels)
      line.push_back(ratio_text(relative(trend, kernel, i)));
    figure.table.lines.push_back(std::move(line));
  }
  return figure;
}

TimingRow reduced(const TimingRow& row) {
  TimingRow out = row;
  out.ns_per_token.clear();
  if (row.ns_per_token_median > 0) out.ns_per_token.push_back(row.ns_per_token_median);
  out.iterations.assign(out.ns_per_token.size(), 1);
  return out;
}

}  // namespace

std::string history_with(const std::string& history, const Results& results,
                         const std::string& name) {
  const std::string machine = machine_class(results, "this run");
  const std::string sha = sha256_hex(text_of(results));
  if (!history.empty() && history.back() != '\n')
    throw BadFile(name + ": does not end in a whole line; give a history that ropewalk made");
  for (const Results& run : runs_of(history, name)) {
    if (sha_of(run) == sha) return history;
    if (const std::string other = machine_class(run, name); other != machine)
      throw BadFile(
          fmt::format("{}: holds runs of {}, but this run is of {}: a history holds runs of one "
                      "machine class",
                      name, other, machine));
  }
  if (!results.complete)
    throw BadFile("a run that was cut off cannot be added to a history; finish it first");
  const std::vector<TimingRow> timings = gated_timings(results);
  if (!claims_of(timings).valid)
    throw BadFile("a run that is INVALID cannot be added to a history; run it again");
  RunRow run = results.run;
  run.environment[sha_key] = sha;
  std::string text = history + to_json_line(run) + '\n';
  for (const TimingRow& row : timings) text += to_json_line(reduced(row)) + '\n';
  return text + to_json_line(results.end) + '\n';
}

std::vector<Figure> trend_figures(const std::string& history) {
  std::vector<Results> runs = runs_of(history, "history");
  if (runs.size() > runs_shown) runs.erase(runs.begin(), runs.end() - runs_shown);
  if (runs.size() < 2) return {};
  std::vector<std::map<std::string, std::map<Cell, double>>> times;
  for (const Results& run : runs) times.push_back(times_of(run));
  std::vector<Figure> figures;
  for (const auto& [board, last] : times.back()) {
    Trend trend;
    for (const auto& cell : last) trend.common.insert(cell.first);
    for (const auto& run : times) {
      const auto found = run.find(board);
      std::erase_if(trend.common, [&](const Cell& cell) {
        return found == run.end() || found->second.count(cell) == 0;
      });
      if (found != run.end()) trend.times.push_back(&found->second);
    }
    std::set<std::string> drawn, left_out;
    for (const Cell& cell : trend.common) drawn.insert(cell.second);
    for (const auto& cell : last)
      if (!drawn.contains(cell.first.second)) left_out.insert(cell.first.second);
    if (drawn.empty()) continue;
    figures.push_back(figure_of(board, trend, runs));
    for (const std::string& kernel : left_out)
      figures.back().absent.push_back(kernel + ": not timed in all of these runs");
  }
  return figures;
}

}  // namespace ropewalk::report
