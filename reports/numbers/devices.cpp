#include "reports/numbers/devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"

namespace ropewalk::report {
namespace {

constexpr double clock_kept = 0.95;  ///< a clock that falls below this share is told

DeviceSummary& named(std::vector<DeviceSummary>& devices, const std::string& name) {
  const auto found = std::find_if(devices.begin(), devices.end(), [&](const DeviceSummary& each) {
    return each.name == name || each.name.starts_with(name + ", ");
  });
  if (found != devices.end()) return *found;
  devices.push_back({name, 0, ""});
  return devices.back();
}

/// Whether the clock of the multiprocessors fell by more than 5 % between the rounds.
bool clock_fell(const TimingRow& row) {
  return row.sm_mhz_before > 0 && row.sm_mhz_after > 0 &&
         row.sm_mhz_after < clock_kept * row.sm_mhz_before;
}

/// For example "its clock fell from 1,980 to 1,755 MHz on a/prefill-512 (2 rows of 40)".
std::string slowed(const std::vector<const TimingRow*>& rows) {
  std::int64_t fallen = 0, throttled = 0;
  const TimingRow *least = nullptr, *first = nullptr;
  for (const TimingRow* row : rows) {
    const auto kept = [](const TimingRow& r) { return r.sm_mhz_after / r.sm_mhz_before; };
    if (clock_fell(*row)) {
      ++fallen;
      if (least == nullptr || kept(*row) < kept(*least)) least = row;
    }
    if (!row->throttled.empty() && ++throttled == 1) first = row;
  }
  const auto share = [&](std::int64_t count) {
    return fmt::format("in {} of {} rows", count_text(count),
                       count_text(static_cast<std::int64_t>(rows.size())));
  };
  std::string text;
  if (least != nullptr)
    text = fmt::format("its clock fell by more than 5 % {}, most on {}: {} to {} MHz",
                       share(fallen), least->workload, number_text(least->sm_mhz_before),
                       number_text(least->sm_mhz_after));
  if (first != nullptr)
    text += fmt::format("{}throttled {}: {}", text.empty() ? "" : "; ", share(throttled),
                        first->throttled);
  return text;
}

}  // namespace

std::vector<DeviceSummary> devices_of(const Results& results) {
  std::vector<DeviceSummary> devices;
  std::map<std::string, std::vector<const TimingRow*>> rows;
  for (const TimingRow& row : results.timings) {
    if (row.device.empty()) continue;
    if (rows[row.device].empty()) devices.push_back({row.device, 0, ""});
    rows[row.device].push_back(&row);
  }
  for (DeviceSummary& device : devices) device.slowed = slowed(rows[device.name]);
  for (const VerdictRow& row : results.verdicts)
    if (row.judged_on.starts_with(by_device) && !is_not_run(verdict_of(row)))
      ++named(devices, row.judged_on.substr(by_device.size())).verdicts;
  return devices;
}

}  // namespace ropewalk::report
