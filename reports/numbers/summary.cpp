#include "reports/numbers/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "base/text.h"
#include "kernels/api/types.h"
#include "reports/numbers/board_name.h"
#include "reports/numbers/places.h"

namespace ropewalk::report {
namespace {

bool is_candidate(const BoardEntry& entry) {
  return entry.has_speed && !entry.row->is_reference() && !entry.row->is_twin();
}

// What must be said with a recommendation; empty: nothing.
std::string clause_of(const BoardEntry& entry, const BoardName& board, const Results& results) {
  std::string clause;
  const auto add = [&](const std::string& words) {
    if (words.empty() || clause.find(words) != std::string::npos) return;
    clause += (clause.empty() ? "" : "; ") + words;
  };
  if (entry.row->judged_on.starts_with(framework)) add(entry.row->judged_on);
  for (const VerdictRow& row : results.verdicts) {
    if (row.kernel != entry.row->kernel || is_on_everything(row)) continue;
    if (row.angle_contract == "f32_angle") add("angles rounded to f32");
    if (row.dtype == board.dtype()) add(row.declared);
  }
  return clause;
}

void take_error(KernelAnswer& answer, const BoardName& board, const Results& results) {
  for (const VerdictRow& row : results.verdicts) {
    const bool is_its_own = row.kernel == answer.winner->row->kernel &&
                            row.pairing == board.pairing() && row.dtype == board.dtype();
    if (!is_its_own || row.property != "position_sweep" || row.verdict != Verdict::pass) continue;
    answer.error = row.margin * row.bound;
    answer.error_unit = row.bound_unit;
  }
}

const char* alike_word(const KernelAnswer& answer) {
  return answer.are_near ? "not distinguishable" : "too noisy to tell apart";
}

/// The kernels that may be as fast as the first; one that a claim calls slower than another is not.
std::vector<const BoardEntry*> as_fast_as_first(const std::vector<const BoardEntry*>& kernels,
                                                double margin) {
  const bool any_faster = std::ranges::any_of(
      kernels, [](const BoardEntry* kernel) { return kernel->claim->outcome == Outcome::faster; });
  std::vector<const BoardEntry*> alike;
  for (const BoardEntry* kernel : kernels) {
    const bool is_told = kernel->claim->outcome == Outcome::slower ||
                         (kernel->row->role == Role::baseline && any_faster);
    if (kernel == kernels.front() || is_told) continue;
    const Interval times = paired_interval(*kernels.front()->claim, *kernel->claim,
                                           error_of_pairs(std::ssize(kernels)));
    if (!(times.rounds > 0 && times.high < 1 - margin)) alike.push_back(kernel);
  }
  return alike;
}

// The kernels by speed. The winner is the first, if its rounds tell it from at least one other.
KernelAnswer answer_of(const Contest& contest, const BoardName& board, const Results& results) {
  KernelAnswer answer;
  answer.contest = &contest;
  answer.angles = angle_groups[board.is_of_device() ? 2 : board.angles() == "table" ? 0 : 1];
  std::vector<const BoardEntry*> kernels;
  for (const BoardEntry& entry : contest.entries)
    if (is_candidate(entry)) kernels.push_back(&entry);
  if (kernels.empty()) {
    answer.why = "no kernel has a speed";
    return answer;
  }
  if (contest.group != nullptr && !contest.group->valid) {
    answer.why = "the speeds are INVALID";
    return answer;
  }
  if (contest.group == nullptr || (kernels.size() > 1 && contest.group->baseline.empty())) {
    answer.why = "no two kernels were timed in the same rounds";
    return answer;
  }
  const BoardEntry& first = *kernels.front();
  answer.alike = as_fast_as_first(kernels, contest.group->margin);
  const double gap = answer.alike.empty() ? 0 : answer.alike.back()->ns / first.ns - 1;
  answer.are_near = gap <= useful_floor;
  if (!answer.alike.empty() && answer.alike.size() + 1 == kernels.size()) {
    const auto launches = std::ssize(first.launches);
    answer.why =
        launches < least_launches
            ? fmt::format("{} of at least {} launches", launches, least_launches)
        : answer.are_near
            ? "not distinguishable by more than " +
                  percent_text(std::min(100 * std::max(contest.group->margin, gap), 1000.0))
            : alike_word(answer);
    answer.alike = launches < least_launches ? std::vector<const BoardEntry*>{} : kernels;
    return answer;
  }
  answer.winner = &first;
  answer.clause = clause_of(first, board, results);
  take_error(answer, board, results);
  for (const BoardEntry* kernel : kernels)
    if (answer.whole == nullptr && clause_of(*kernel, board, results).empty())
      answer.whole = kernel;
  return answer;
}

std::string whole_name(const KernelAnswer& answer) {
  return answer.whole == nullptr ? "none" : answer.whole->row->kernel;
}

// "avx512, avx2 or plain", of which one is the fastest; more than three are counted.
std::string fastest_names(const KernelAnswer& answer) {
  std::vector<const BoardEntry*> kernels = answer.alike;
  if (answer.winner != nullptr) kernels.insert(kernels.begin(), answer.winner);
  if (kernels.size() > 3) return fmt::format("{} kernels", kernels.size());
  std::string names;
  for (std::size_t i = 0; i < kernels.size(); ++i)
    names += (i == 0 ? "" : i + 1 < kernels.size() ? ", " : " or ") + ranked_name(*kernels[i]->row);
  return names.empty() ? "no answer" : names;
}

bool any_ranks(const std::vector<KernelAnswer>& answers) {
  return std::ranges::any_of(answers, [](const KernelAnswer& answer) {
    return answer.winner != nullptr && answer.alike.empty();
  });
}

// An error in units of u times the length of a pair, as a share of that length.
std::string error_text(const KernelAnswer& answer) {
  const std::string dtype(BoardName(answer.contest->of->board).dtype());
  if (answer.error_unit == "u rho")
    for (const DataType& type : data_type_rows)
      if (type.word == dtype) return fmt::format("{:.1e} of |x|", answer.error * type.format.u);
  return answer.error_unit.empty() ? "" : fmt::format("{:.2g} {}", answer.error, answer.error_unit);
}

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
    if (property.group.empty()) property.group = row.group;
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

std::vector<KernelAnswer> answers_of(const Summary& summary, const Results& results) {
  std::vector<KernelAnswer> out;
  for (const Board& board : summary.boards)
    for (const Contest& contest : board.contests)
      out.push_back(answer_of(contest, BoardName(board.name), results));
  return out;
}

AnswerWords answer_words(const KernelAnswer& answer) {
  AnswerWords words;
  words.kernel = fastest_names(answer);
  words.beside = answer.why;
  if (answer.winner == nullptr) return words;
  if (!answer.alike.empty()) words.beside = alike_word(answer);
  const BoardEntry& winner = *answer.winner;
  words.time = fmt::format("{:.4g} ns/token", winner.ns);
  if (winner.row->role == Role::baseline)
    words.against = "the baseline";
  else if (winner.is_compared() && std::isfinite(winner.claim->interval.high))
    words.against = fmt::format(
        "{:.1f} % less time than {} [{:.1f}, {:.1f}]", 100 * (1 - winner.claim->interval.ratio),
        answer.contest->group->baseline, 100 * (1 - winner.claim->interval.high),
        100 * (1 - winner.claim->interval.low));
  if (winner.percent_of_ceiling > 0) words.ceiling = ceiling_share_text(winner.percent_of_ceiling);
  words.error = error_text(answer);
  if (!answer.clause.empty())
    words.beside +=
        fmt::format("{}{}; fastest without exceptions: {}", words.beside.empty() ? "" : "; ",
                    answer.clause, whole_name(answer));
  return words;
}

std::string answer_text(const KernelAnswer& answer) {
  const AnswerWords words = answer_words(answer);
  if (answer.winner == nullptr) return words.kernel + ": " + words.beside;
  const BoardEntry& winner = *answer.winner;
  std::string text = fmt::format("{}, {} ns a token", words.kernel, number_text(winner.ns));
  if (winner.row->role != Role::baseline && winner.is_compared())
    text +=
        fmt::format(", {:.{}f} times as fast as {}", 1 / winner.claim->interval.ratio,
                    winner.claim->interval.ratio > 0.5 ? 2 : 1, answer.contest->group->baseline);
  if (winner.percent_of_ceiling > 100)
    text += ", at what memory allows";
  else if (winner.percent_of_ceiling > 0)
    text += fmt::format(", {:.{}f} % of what memory allows", winner.percent_of_ceiling,
                        winner.percent_of_ceiling < 9.95 ? 1 : 0);
  return text + (words.beside.empty() ? "" : "; " + words.beside);
}

std::string noise_sentence(const std::vector<KernelAnswer>& answers) {
  double floor = 0;
  for (const KernelAnswer& answer : answers)
    if (answer.contest->group != nullptr && std::isfinite(answer.contest->group->noise_floor))
      floor = std::max(floor, answer.contest->group->noise_floor);
  if (floor <= useful_floor) return {};
  return fmt::format("{}: two copies of one kernel differed by {}{}.",
                     any_ranks(answers) ? "Noisy" : "Too noisy to rank", floor > 10 ? "" : "up to ",
                     percent_text(100 * floor));
}

std::vector<AnswerLine> answer_lines(const std::vector<KernelAnswer>& answers) {
  std::vector<AnswerLine> lines;
  if (!any_ranks(answers) && !noise_sentence(answers).empty()) return lines;
  using Work = std::tuple<std::string, bool, std::string>;  // f32 stands first
  std::map<Work, std::map<std::string, AnswerLine>> by_work;
  for (const KernelAnswer& answer : answers) {
    const TimingRow& of = *answer.contest->of;
    if (of.threads > 1) continue;
    const std::string dtype(BoardName(of.board).dtype());
    const auto group = std::ranges::find(angle_groups, answer.angles) - angle_groups.begin();
    AnswerLine& line = by_work[{of.phase, dtype != "f32", dtype}][of.workload];
    line.of = of.phase + ", " + dtype;
    AnswerLine::Cell& cell = line.by[static_cast<std::size_t>(group)];
    const std::string text = answer_text(answer);
    if (cell.kernel.empty())
      cell.kernel = answer_words(answer).kernel, cell.rest = text.substr(cell.kernel.size());
    else  // of another placement
      cell.rest += "; " + text;
  }
  for (auto& [work, of_workloads] : by_work)
    for (auto& [workload, line] : of_workloads) {
      if (of_workloads.size() > 1) line.of += " (" + workload + ")";
      lines.push_back(std::move(line));
    }
  return lines;
}

std::vector<std::string> answer_sentences(const std::vector<KernelAnswer>& answers) {
  std::vector<std::string> sentences;
  if (const std::string noise = noise_sentence(answers); !noise.empty()) sentences.push_back(noise);
  for (const AnswerLine& line : answer_lines(answers))
    for (std::size_t i = 0; i < line.by.size(); ++i)
      if (const AnswerLine::Cell& cell = line.by[i]; !cell.kernel.empty())
        sentences.push_back(
            fmt::format("{}, {}: {}{}", line.of, angle_groups[i], cell.kernel, cell.rest));
  return sentences;
}

std::string place_text(const KernelAnswer& answer, const std::string& name) {
  const ClaimGroup* group = answer.contest->group;
  const BoardEntry *own = nullptr, *other = nullptr;  // the fastest of each
  std::int64_t kernels = 0;
  for (const BoardEntry& entry : answer.contest->entries) {
    if (!is_candidate(entry) || entry.row->kernel == name + std::string(unfused_suffix)) continue;
    ++kernels;
    const BoardEntry*& place = entry.row->kernel == name ? own : other;
    if (place == nullptr) place = &entry;
  }
  if (group == nullptr || !group->valid || own == nullptr || other == nullptr) return {};
  const Interval times = other->row->role == Role::baseline
                             ? own->claim->interval
                             : paired_interval(*own->claim, *other->claim, error_of_pairs(kernels));
  if (times.rounds == 0) return {};
  return fmt::format("{}, {} times the time of {} [{}]", name, ratio_text(times.ratio),
                     ranked_name(*other->row), range_text(times));
}

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
