// A results file is refused by BadFile, or its rows are the same after they were written and read
// again.
#include "tools/fuzz/memory_file.h"
#include "tools/fuzz/target.h"

namespace ropewalk::fuzz {
using namespace report;
namespace {

std::string lines_of(const Results& results) {
  std::string lines;
  const auto add = [&](const auto& row) { lines += to_json_line(row) + '\n'; };
  add(results.run);
  for (const auto& row : results.verdicts) add(row);
  for (const auto& row : results.timings) add(row);
  for (const auto& row : results.curves) add(row);
  if (results.complete) add(results.end);
  return lines;
}

}  // namespace

void run(std::string_view text) {
  const auto results = unless_refused<BadFile>([&] { return results_of(text); });
  if (!results) return;
  for (const CurveRow& curve : results->curves)
    claim(curve.x.size() == curve.y.size(), "a curve has as many x as y");
  const std::string lines = lines_of(*results);
  claim(lines_of(results_of(lines)) == lines, "rows read the same");
}

}  // namespace ropewalk::fuzz
