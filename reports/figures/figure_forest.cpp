// The forest plot: every ratio to the baseline with its interval. The null twin stands among them.
// It is the baseline itself, so it shows how far noise alone reaches.
#include "reports/figures/figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "base/text.h"

namespace ropewalk::report {
namespace {

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

}  // namespace

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

}  // namespace ropewalk::report
