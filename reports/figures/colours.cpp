#include "reports/figures/colours.h"

#include <set>
#include <vector>

namespace ropewalk::report {

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

}  // namespace ropewalk::report
