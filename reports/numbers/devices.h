// The devices that rows name, for the banner of a report.
#pragma once
#include <vector>

#include "reports/numbers/summary.h"

namespace ropewalk::report {

std::vector<DeviceSummary> devices_of(const Results& results);

}  // namespace ropewalk::report
