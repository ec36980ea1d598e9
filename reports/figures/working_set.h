// Pictures of speed over the size of the working set.
#pragma once
#include <string>
#include <vector>

#include "reports/figures/colours.h"
#include "reports/figures/figure.h"
#include "reports/numbers/summary.h"
#include "reports/record/record.h"

namespace ropewalk::report {

/// GB/s over the working set, beside the ceiling. There is one picture for each model, pairing,
/// dtype and placement that was timed in phase working_set. Speeds are those of the leaderboards.
std::vector<Figure> working_set_figures(const Results& results, const Summary& summary,
                                        const KernelColours& colours);

/// Parses "L1d 48 KiB (cpus 0), ..., L2 1 MiB" into data caches with their sizes in bytes, smallest
/// first.
struct Cache {
  std::string name;
  double bytes = 0;
};
std::vector<Cache> caches_of(const std::string& environment_text);

}  // namespace ropewalk::report
