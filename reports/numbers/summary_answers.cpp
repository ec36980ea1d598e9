#include "reports/numbers/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "base/text.h"
#include "kernels/api/types.h"
#include "reports/numbers/board_name.h"

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

}  // namespace ropewalk::report
