#include "reports/numbers/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "base/text.h"
#include "reports/numbers/places.h"

namespace ropewalk::report {
namespace {

void take_margin(double margin, double& worst) {
  if (!(margin <= worst)) worst = margin;  // a NaN is the worst
}

/// Name, plugin, and what the verdicts rest on: those by the host launcher and those of a device
/// never add up to one kernel.
using KernelKey = std::tuple<std::string, std::string, std::string>;

KernelKey kernel_key(const VerdictRow& row) {
  return {row.kernel, row.plugin, words_beside(row.judged_on)};
}

class KernelTable {
 public:
  KernelSummary& of(const KernelKey& key) {
    KernelSummary& kernel = index_.of(key, kernels);
    std::tie(kernel.name, kernel.plugin, kernel.judged_on) = key;
    by_name_.insert(key);
    return kernel;
  }
  /// Finds the kernel by its name alone, since timing rows name nothing else.
  KernelSummary& of(const std::string& name) {
    const auto found = by_name_.lower_bound({name, "", ""});
    const bool is_known = found != by_name_.end() && std::get<0>(*found) == name;
    return of(is_known ? *found : KernelKey{name, "", ""});
  }
  std::vector<KernelSummary> kernels;

 private:
  Places<KernelKey> index_;
  std::set<KernelKey> by_name_;
};

std::string failure_text(const VerdictRow& row) {
  const std::string what = is_on_everything(row) ? std::string() : row.property + " ";
  const std::string known = row.known.empty() ? std::string() : " (known " + row.known + ")";
  const std::string detail = row.reason.empty() ? std::string() : ": " + row.reason;
  return fmt::format("{}{}{}{}", what, verdict_of(row), known, detail);
}

void take_verdict(const VerdictRow& row, KernelSummary& kernel) {
  const auto verdict = verdict_of(row);
  if (kernel.summary.empty()) kernel.summary = row.summary;
  if (kernel.declared.find(row.declared) == std::string::npos)  // each type has a text of its own
    kernel.declared += (kernel.declared.empty() ? "" : "; ") + row.declared;
  if (is_failure(verdict)) {
    if (++kernel.failed == 1) kernel.reason = failure_text(row);
    if (!row.known.empty()) ++kernel.known;
    kernel.standing = Standing::failed;
  } else if (is_not_run(verdict)) {
    ++kernel.not_run;
    if (kernel.standing == Standing::not_run && kernel.reason.empty())
      kernel.reason = failure_text(row);
  } else {
    ++kernel.passed;
    if (kernel.standing == Standing::not_run) {
      kernel.standing = Standing::verified;
      kernel.reason.clear();
    }
    if (kernel.worst_property.empty() || !(row.margin <= kernel.worst_margin))
      kernel.worst_property = row.property;
    take_margin(row.margin, kernel.worst_margin);
  }
}

void take_timing(const TimingRow& row, KernelSummary& kernel) {
  if (kernel.summary.empty()) kernel.summary = row.summary;
  const bool broken = row.outcome == Outcome::broken || row.outcome == Outcome::implausible;
  const bool all_known = kernel.failed > 0 && kernel.known == kernel.failed;
  const bool says_more = all_known && !kernel.broke_while_timed && row.known.empty();
  if (broken && (kernel.standing != Standing::failed || says_more)) {
    kernel.broke_while_timed = true;
    kernel.standing = Standing::failed;
    kernel.reason = fmt::format("{} while timed on {}{}{}", row.outcome, row.workload,
                                row.reason.empty() ? "" : ": ", row.reason);
  }
  if (kernel.standing == Standing::not_run && kernel.reason.empty())
    kernel.reason = "not verified in this run";
}

/// Only the rounds show that a kernel is faster than memory allows. Such a kernel leaves out work.
void take_implausible(const Claims& claims, KernelTable& table) {
  for (const ClaimGroup& group : claims.groups)
    for (const Claim& claim : group.claims) {
      if (claim.outcome != Outcome::implausible || is_reference(claim.role)) continue;
      TimingRow row = *claim.rows.front();
      row.outcome = claim.outcome;
      row.reason = claim.reason;
      take_timing(row, table.of(kernel_of(row)));
    }
}

void summarize_kernels(const Results& results, Summary& summary) {
  KernelTable table;
  for (const VerdictRow& row : results.verdicts) take_verdict(row, table.of(kernel_key(row)));
  for (const TimingRow& row : results.timings)
    if (!row.is_reference()) take_timing(row, table.of(kernel_of(row)));
  take_implausible(summary.claims, table);
  summary.kernels = std::move(table.kernels);
  for (const KernelSummary& kernel : summary.kernels) {
    if (kernel.standing == Standing::verified) ++summary.kernels_verified;
    if (kernel.standing == Standing::verified && kernel.by_host_launcher_alone())
      ++summary.verified_by_host_launcher;
    if (kernel.standing == Standing::verified && !kernel.declared.empty())
      ++summary.verified_as_declared;
    if (kernel.standing == Standing::failed) ++summary.kernels_failed;
    if (kernel.standing == Standing::not_run) ++summary.kernels_not_run;
  }
}

void summarize_properties(const Results& results, Summary& summary) {
  Places<std::string> index;
  for (const VerdictRow& row : results.verdicts) {
    const auto verdict = verdict_of(row);
    ++summary.verdicts[verdict];
    summary.planned += row.planned;
    summary.executed += row.executed;
    summary.compared_cases += row.compared_cases;
    summary.compared += row.compared;
    if (is_on_everything(row)) continue;
    PropertySummary& property = index.of(row.property, summary.properties);
    property.name = row.property;
    if (property.claim.empty()) property.claim = row.claim;
    property.compared += row.compared;
    if (is_failure(verdict)) ++property.failed;
    if (is_not_run(verdict)) ++property.not_run;
    if (verdict != Verdict::pass) continue;
    ++property.passed;
    take_margin(row.margin, property.worst_margin);
  }
}

void make_matrix(const Results& results, Summary& summary) {
  std::map<std::string, std::size_t> column;
  for (std::size_t i = 0; i < summary.properties.size(); ++i)
    column[summary.properties[i].name] = i;
  Places<std::tuple<KernelKey, std::string, std::string, std::string>> lines;
  for (const VerdictRow& row : results.verdicts) {
    MatrixRow& matrix_row =
        lines.of({kernel_key(row), row.angle_contract, row.pairing, row.dtype}, summary.matrix);
    if (matrix_row.of == nullptr) matrix_row.of = &row;
    matrix_row.cells.resize(summary.properties.size());
    const VerdictRow*& cell =
        is_on_everything(row) ? matrix_row.whole : matrix_row.cells[column[row.property]];
    if (cell == nullptr || is_worse(row, *cell)) cell = &row;
  }
  std::map<KernelKey, std::size_t> order;
  for (const MatrixRow& row : summary.matrix) order.try_emplace(kernel_key(*row.of), order.size());
  std::ranges::stable_sort(summary.matrix, [&order](const MatrixRow& a, const MatrixRow& b) {
    return order.at(kernel_key(*a.of)) < order.at(kernel_key(*b.of));
  });
  for (const MatrixRow& row : summary.matrix) {
    const auto add = [&summary](const VerdictRow* cell) {
      if (cell != nullptr && is_failure(verdict_of(*cell))) summary.failures.push_back(cell);
    };
    add(row.whole);
    for (const VerdictRow* cell : row.cells) add(cell);
  }
  std::ranges::stable_sort(summary.failures, [&order](const VerdictRow* a, const VerdictRow* b) {
    const auto place_a = order.at(kernel_key(*a)), place_b = order.at(kernel_key(*b));
    return place_a != place_b ? place_a < place_b : tells_more(*a, *b);
  });
}

void collect_not_run(const Results& results, Summary& summary) {
  Places<std::tuple<std::string, Verdict, std::string, std::string>> index;
  for (const VerdictRow& row : results.verdicts) {
    const Verdict verdict = verdict_of(row);
    if (!is_not_run(verdict)) continue;
    const std::string judged_on = words_beside(row.judged_on);
    NotRun& each = index.of({row.kernel, verdict, row.reason, judged_on}, summary.not_run);
    each = {row.kernel, verdict, row.reason, judged_on, each.count + 1};
  }
}

constexpr double clock_kept = 0.95;  ///< a clock that falls below this share is told

DeviceSummary& named(std::vector<DeviceSummary>& devices, const std::string& name) {
  const auto found = std::ranges::find_if(devices, [&](const DeviceSummary& each) {
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

/// The devices that rows name, for the banner of a report.
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

std::string plural(std::int64_t count) {
  return fmt::format("{} kernel{}", count, count == 1 ? "" : "s");
}

/// Whether kernels failed, but in known ways only.
bool is_all_known(const Summary& summary) {
  return summary.kernels_failed > 0 &&
         std::ranges::none_of(summary.kernels, [](const KernelSummary& k) {
           return k.standing == Standing::failed && (k.broke_while_timed || k.known < k.failed);
         });
}

/// Sets verdicts by the host launcher apart, which say nothing about a GPU, and those by a bound
/// that the kernel declares beyond what its data type needs.
std::string by_whom(const Summary& summary) {
  std::string out;
  const auto set_apart = [&](std::int64_t count, const char* how, const char* of_all = nullptr) {
    if (count == summary.kernels_verified)
      out += of_all == nullptr ? how : of_all;
    else if (count > 0)
      out += fmt::format(" ({}{})", count, how);
  };
  const std::int64_t by_host = summary.verified_by_host_launcher;
  set_apart(by_host,
            by_host == 1 ? " a CUDA kernel, checked on the CPU only"
                         : " CUDA kernels, checked on the CPU only",
            " on the CPU only");
  set_apart(summary.verified_as_declared, " to a declared bound");
  return out;
}

std::string headline_of(const Summary& summary) {
  const std::int64_t verified = summary.kernels_verified, failed = summary.kernels_failed;
  if (failed > 0)
    return fmt::format("{} of {} failed{}", failed, plural(verified + failed),
                       is_all_known(summary) ? ", as is known" : "");
  if (verified > 0 && summary.kernels_not_run > 0)
    return fmt::format("{} verified{}, {} could not run", plural(verified), by_whom(summary),
                       summary.kernels_not_run);
  if (verified > 0)
    return fmt::format("{}{} verified{}", verified > 1 ? "All " : "", plural(verified),
                       by_whom(summary));
  return summary.kernels.empty() ? "Nothing was verified" : "No kernel could run";
}

}  // namespace

Verdict verdict_of(const VerdictRow& row) {
  return row.verdict == Verdict::pass && row.compared <= 0 ? Verdict::vacuous : row.verdict;
}

bool is_worse(const VerdictRow& a, const VerdictRow& b) {
  const auto severity = [](const VerdictRow& row) {
    const auto verdict = verdict_of(row);
    return is_failure(verdict) ? 2 : verdict == Verdict::pass ? 1 : 0;
  };
  if (severity(a) != severity(b)) return severity(a) > severity(b);
  return severity(a) > 0 && !(a.margin <= b.margin);
}

Summary summarize(const Results& results) {
  Summary summary;
  summary.timings = gated_timings(results);
  summary.claims = claims_of(summary.timings, results.run.margin);
  summary.boards = make_boards(summary.timings, summary.claims);
  summary.answers = answers_of(summary, results);
  summary.devices = devices_of(results);
  summarize_kernels(results, summary);
  summarize_properties(results, summary);
  make_matrix(results, summary);
  collect_not_run(results, summary);
  summary.headline = headline_of(summary);
  if (summary.kernels_failed > 0)
    summary.standing = Standing::failed;
  else if (summary.kernels_verified > 0)
    summary.standing = Standing::verified;
  if (!results.complete) {
    summary.headline = "Cut off: " + summary.headline + " so far";
    summary.standing = Standing::failed;
  } else if (results.end.exit_code != 0 &&
             (summary.standing == Standing::verified || is_all_known(summary))) {
    summary.headline += fmt::format(", but the run ended with exit code {}", results.end.exit_code);
    summary.standing = Standing::failed;
  }
  if (!summary.claims.valid) {
    summary.headline += ", and the speeds are INVALID";
    summary.standing = Standing::failed;
  }
  return summary;
}

}  // namespace ropewalk::report
