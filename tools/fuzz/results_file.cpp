// A results file is refused by BadFile, or its rows are the same after they were written and read
// again.
#include <sys/mman.h>
#include <unistd.h>

#include "reports/record/record.h"
#include "tools/fuzz/target.h"

namespace ropewalk::fuzz {
using namespace report;
namespace {

// The text in a file that exists only in memory. Throws BadFile.
Results results_of(std::string_view text) {
  static const int file = memfd_create("results", MFD_CLOEXEC);
  claim(ftruncate(file, 0) == 0, "an empty file");
  claim(pwrite(file, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()), "a file");
  return read_results("/proc/self/fd/" + std::to_string(file));
}

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
