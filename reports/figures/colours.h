// One colour and mark for each kernel, the same in all figures of a page.
#pragma once
#include <map>
#include <string>

#include "reports/figures/chart.h"
#include "reports/numbers/summary.h"

namespace ropewalk::report {

class KernelColours {
 public:
  KernelColours() = default;  ///< all grey
  /// In the order of the report's kernels: first those with a speed, then those with a curve
  /// alone. A baseline is grey on every board. From the 13th on, a colour comes again with another
  /// mark.
  KernelColours(const Results& results, const Summary& summary);
  /// Grey for other names, such as those of references and twins.
  SeriesStyle of(const std::string& kernel) const;

 private:
  std::map<std::string, SeriesStyle> styles_;
};

}  // namespace ropewalk::report
