// What a report says, computed once from the rows and shown by every format. Pointers point into
// the Results, which must outlive the summary.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "reports/numbers/claims.h"
#include "reports/record/record.h"

namespace ropewalk::report {

/// The row's verdict, except that a PASS without a compared value is VACUOUS.
Verdict verdict_of(const VerdictRow& row);

/// Which of two verdicts to show if there is room for one only: a failure, or else the larger
/// margin.
bool is_worse(const VerdictRow& a, const VerdictRow& b);

struct KernelSummary {
  std::string name, plugin, summary;
  Standing standing = Standing::not_run;
  std::int64_t passed = 0, failed = 0, not_run = 0;  ///< numbers of verdicts
  std::int64_t known = 0;                            ///< number of failures that are known
  double worst_margin = 0;  ///< largest margin of the properties that passed
  std::string worst_property;
  bool broke_while_timed = false;  ///< false if the break is a known failure
  std::string reason;              ///< the first failure, or why nothing was run
  std::string judged_on;           ///< words_beside() of its verdicts
  std::string declared;            ///< VerdictRow::declared of its verdicts, each text once
  bool by_host_launcher_alone() const { return judged_on == by_host_launcher; }
};

struct PropertySummary {
  std::string name, claim, group;
  std::int64_t passed = 0, failed = 0, not_run = 0, compared = 0;
  double worst_margin = 0;  ///< largest margin of the verdicts that passed
};

/// Counts the UNSUPPORTED or SKIPPED verdicts of one kernel for one reason.
struct NotRun {
  std::string kernel;
  Verdict verdict = Verdict::skipped;
  std::string reason;
  std::string judged_on;  ///< words_beside() of the verdicts
  std::int64_t count = 0;
};

/// One line of the verification matrix. Its cells follow Summary::properties; NULL means no row.
struct MatrixRow {
  /// Gives kernel, plugin, angle contract, pairing and dtype, and what its verdicts rest on.
  const VerdictRow* of = nullptr;
  std::vector<const VerdictRow*> cells;
  const VerdictRow* whole = nullptr;  ///< a verdict on all properties at once, if there is one
};

/// One contestant: a kernel, twin, ceiling or floor on one workload and board, over its launches.
struct BoardEntry {
  const TimingRow* row = nullptr;          ///< row of its first launch, for names and sizes
  std::vector<const TimingRow*> launches;  ///< launches with a speed, in order
  int rank = 0;            ///< from 1; 0 for a reference or twin, without a speed, or if UNRESOLVED
  bool has_speed = false;  ///< false: no format prints a number for it
  Outcome outcome = Outcome::skipped;  ///< the outcome that the report shows
  std::string reason;                  ///< why it has no speed
  std::string known;                   ///< set if a known failure is why it has no speed
  double ns = 0;                       ///< ns per token, the median of the launches' medians
  double ns_min = 0, ns_max = 0;       ///< of the launches' medians, or of a single launch's rounds
  double gb_per_s = 0;                 ///< GB/s at `ns`
  double percent_of_ceiling = 0;       ///< 0 without a ceiling
  double of_floor = 0, of_floor_copy = 0;  ///< ns / that of the floor; 0 without it
  const Claim* claim = nullptr;            ///< the claim of its rounds; NULL without a speed
  bool is_compared() const { return claim != nullptr && claim->interval.rounds > 0; }
};

/// One contest is like work: the same board, workload and threads. References stand first, then
/// ranked kernels, then the rest.
struct Contest {
  const TimingRow* of = nullptr;  ///< gives workload, phase, source and sizes
  std::vector<BoardEntry> entries;
  double fastest_ns = 0;              ///< the fastest but for floors; its bar has full length
  const ClaimGroup* group = nullptr;  ///< gives baseline and noise floor; NULL if nothing ran
};

/// Kernels of different groups do not do the same work, so they are never ranked together.
inline constexpr std::array<std::string_view, 3> angle_groups = {"given cos and sin", "own angles",
                                                                 "on the GPU"};

/// Which kernel to use for one contest.
struct KernelAnswer {
  const Contest* contest = nullptr;
  const BoardEntry* winner = nullptr;    ///< NULL: no kernel is told from any other
  std::vector<const BoardEntry*> alike;  ///< the others that may be as fast; without winner, all
  bool are_near = true;                  ///< whether these differ by no more than `useful_floor`
  std::string why;                       ///< why there is no winner
  std::string angles;                    ///< one of `angle_groups`
  std::string clause;  ///< what must be said with the winner: its exceptions, f32 angles, a bound
  /// The first kernel that needs no clause; NULL: none.
  const BoardEntry* whole = nullptr;
  double error = 0;  ///< the winner's largest in `position_sweep`, in `error_unit`
  std::string error_unit;
};

struct Board {
  std::string name;
  std::vector<Contest> contests;
};

/// A device that rows name.
struct DeviceSummary {
  std::string name;           ///< TimingRow::device, or its name alone if nothing was timed on it
  std::int64_t verdicts = 0;  ///< number of verdicts that rest on it
  std::string slowed;         ///< by what its speeds may be too low, in one line; empty: nothing
};

struct Summary {
  std::string headline;
  Standing standing = Standing::not_run;  ///< standing of the run; also failed if it was cut off
  std::vector<KernelSummary> kernels;
  std::int64_t kernels_verified = 0, kernels_failed = 0, kernels_not_run = 0;
  std::int64_t verified_by_host_launcher = 0;  ///< number of verified kernels that no device ran
  std::int64_t verified_as_declared = 0;     ///< those that declare more than their data type needs
  std::map<Verdict, std::int64_t> verdicts;  ///< number of verdicts of each word
  std::int64_t planned = 0, executed = 0, compared_cases = 0;  ///< numbers of cases
  std::int64_t compared = 0;                                   ///< number of values
  std::vector<PropertySummary> properties;
  std::vector<MatrixRow> matrix;
  std::vector<const VerdictRow*> failures;
  std::vector<NotRun> not_run;
  std::vector<TimingRow> timings;  ///< the run's rows; BROKEN if the verdicts allow no speed
  Claims claims;                   ///< the claims of `timings`
  std::vector<Board> boards;
  std::vector<KernelAnswer> answers;   ///< of the contests, in the order of the boards
  std::vector<DeviceSummary> devices;  ///< in the order of the rows, timings first
  Summary() = default;
  Summary(Summary&&) = default;  // a copy would point into the original
  Summary& operator=(Summary&&) = default;
};

/// The rows with the verdicts applied. A kernel has a speed only if every verdict on it holds and
/// at least one is a PASS. Only verdicts for the board's pairing and dtype count.
std::vector<TimingRow> gated_timings(const Results& results);

/// The leaderboards of these rows. They point into both arguments.
std::vector<Board> make_boards(const std::vector<TimingRow>& timings, const Claims& claims);

/// Of each contest of the summary's boards. They point into the summary and the results.
std::vector<KernelAnswer> answers_of(const Summary& summary, const Results& results);

/// An answer in parts, of which any but the first may be empty.
struct AnswerWords {
  std::string kernel;   ///< "avx512", "avx512 or avx2", "4 kernels" or "no answer"
  std::string time;     ///< "178 ns/token"
  std::string against;  ///< "80.0 % less time than plain [79.6, 81.1]", or "the baseline"
  std::string ceiling;  ///< its share: "51.7 %" or "at the ceiling"
  std::string error;    ///< "1.2e-07 of |x|"
  std::string beside;   ///< why no kernel is named, or what must be said with it
};
AnswerWords answer_words(const KernelAnswer& answer);

/// "avx512, 100 ns a token, 7.7 times as fast as plain, 80 % of what memory allows", or "avx512 or
/// avx2: not distinguishable by more than 1.0 %". A kernel is named alone only if its rounds tell
/// it from every other.
std::string answer_text(const KernelAnswer& answer);

/// If two copies of one kernel differed by more than `useful_floor`, a sentence says so.
std::string noise_sentence(const std::vector<KernelAnswer>& answers);

/// The answers of a phase and data type, and of one workload if there are several.
struct AnswerLine {
  std::string of;  ///< "decode, f32", "decode, bf16 (qwen3-8b/decode-1)"
  struct Cell {
    std::string kernel, rest;  ///< together answer_text(); empty: nothing was timed
  };
  std::array<Cell, angle_groups.size()> by;
};
/// Contests of several threads are left out. Empty: nothing was timed, or nothing can be told.
std::vector<AnswerLine> answer_lines(const std::vector<KernelAnswer>& answers);
/// The noise, and then "decode, f32, given cos and sin: avx512, 100 ns a token, ...".
std::vector<std::string> answer_sentences(const std::vector<KernelAnswer>& answers);

/// "mine, 21.3 times the time of avx2 [21.1 – 21.6]", the fastest other kernel; empty: not known.
std::string place_text(const KernelAnswer& answer, const std::string& kernel);

Summary summarize(const Results& results);
Summary summarize(const Results&&) = delete;

}  // namespace ropewalk::report
