// Google Benchmark as the driver; no other file includes it. For 1.7.1 and 1.9.1 (Debian 12, 13).
//
// Settings in code override the flags, so code sets only the manual time. The board's defaults
// stand in front of the user's flags. One repetition is one body: n calls between two readings of
// the clock. A call slower than --benchmark_min_time is made once a repetition, without
// calibration. --benchmark_enable_random_interleaving shuffles whole repetitions by the library's
// own unseeded choice. That is not pairing. With --benchmark_out=FILE the library writes that file
// itself. Its library_build_type says debug, as Debian compiles it without NDEBUG.
#include "benchmarks/engine/board.h"

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <regex.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "benchmarks/cells/random.h"
#include "benchmarks/engine/board_cells.h"
#include "benchmarks/engine/process_watch.h"

namespace ropewalk::bench {
using namespace report;
namespace {

using CellsByLabel = std::map<std::string, Cell*>;

constexpr std::int64_t usual_repetitions = 5;
// A row of results holds 16 MiB. A repetition takes 24 characters of time, 20 of iterations and two
// commas. The rest of the row needs some more.
constexpr std::int64_t most_repetitions = 300'000;
static_assert(most_repetitions * (24 + 20 + 2) < (std::int64_t{15} << 20));

// The field is error_occurred in 1.7.1 and skipped from 1.8 on.
template <class Run>
bool failed(const Run& run) {
  if constexpr (requires { run.error_occurred; })
    return run.error_occurred;
  else
    return run.skipped != decltype(run.skipped){};
}

/// What all repetitions share.
struct Session {
  explicit Session(const BoardPlan& of) : plan(of), watch(of.device != nullptr) {}
  const BoardPlan& plan;
  Oracle oracle;
  ProcessWatch watch;
  /// Set when a kernel changed the process; nothing is timed after that.
  struct Breach {
    std::string label, what;
  };
  std::optional<Breach> breach;
};

/// The library aborts if the repetitions of one benchmark differ in their iterations. That holds
/// for skipped ones too, so none is skipped before it has begun.
void skip(benchmark::State& state, const std::string& why) {
  if (state.iterations() == 0) state.KeepRunningBatch(state.max_iterations);
  state.SkipWithError(why.c_str());
}

/// One repetition, or one step of the library's search for their number. Throws as the watch does.
void time_watched(benchmark::State& state, Cell& cell, Session& session) {
  const auto refuse = [&] {
    if (cell.is_fatal) throw std::runtime_error(cell.refusal->reason);
    skip(state, fmt::format("{}: {}", cell.refusal->outcome, cell.refusal->reason));
  };
  session.watch.about(cell.kernel());
  const bool is_ready = cell.ready();
  session.watch.check_printing("prepare");
  if (!is_ready) return refuse();
  const std::int64_t calls = state.max_iterations;
  std::uint64_t random = fresh_seed();
  const Epoch epoch = cell.draw_epoch(calls, random);
  std::chrono::duration<double> elapsed{};
  while (state.KeepRunningBatch(calls)) {
    session.watch.begin();
    const auto start = std::chrono::steady_clock::now();
    const bool all_ran = cell.run(epoch);
    elapsed = std::chrono::steady_clock::now() - start;
    if (const auto own_s = cell.own_s()) elapsed = std::chrono::duration<double>(*own_s);
    session.watch.end(!all_ran);
    if (!all_ran || !cell.keeps_arguments()) return refuse();
    state.SetIterationTime(elapsed.count());
  }
  if (cell.judge(session.oracle, random)) ++cell.row.reverified;
  // And an epoch of any number of calls: a kernel cannot know which its last ones are.
  const auto early = static_cast<std::int64_t>(next_random(random) % std::uint64_t(calls)) + 1;
  if (!cell.refusal && cell.ready() && cell.run(cell.draw_epoch(early, random)))
    cell.judge(session.oracle, random);
  session.watch.check("apply");
  if (cell.refusal) return refuse();
  // Iteration-invariant rates are divided by the manual time of one call.
  state.counters["bytes_per_s"] = benchmark::Counter(static_cast<double>(cell.row.bytes),
                                                     benchmark::Counter::kIsIterationInvariantRate);
  state.counters["ns_per_token"] =
      elapsed.count() * 1e9 / static_cast<double>(calls) / static_cast<double>(cell.row.tokens);
  if (!cell.note.empty()) state.SetLabel(cell.note);
}

/// No exception may pass through the library.
void time_cell(benchmark::State& state, Cell& cell, Session& session) {
  if (!session.breach) {
    announce(session.plan, cell.label());
    try {
      return time_watched(state, cell, session);
    } catch (const std::runtime_error& changed) {
      session.breach = {cell.label(), changed.what()};
    }
  }
  skip(state, "the board has ended");
}

/// Keeps every repetition, hands finished cells out, and shows the user what the flags ask for.
class Collector final : public benchmark::BenchmarkReporter {
 public:
  Collector(const Session& session, const CellsByLabel& cells, bool show_repetitions)
      : shown_(benchmark::CreateDefaultDisplayReporter()),
        session_(session),
        plan_(session.plan),
        cells_(cells),
        show_repetitions_(show_repetitions) {
    shown_->SetOutputStream(&text_);
    shown_->SetErrorStream(&notes_);
    SetOutputStream(&text_);  // of a list of the tests
    SetErrorStream(&notes_);
  }

  bool ReportContext(const Context& context) override {
    if (plan_.silent) return true;
    const bool goes_on = shown_->ReportContext(context);
    show();
    return goes_on;
  }

  /// Passes on what the library has written so far.
  void show() {
    std::string notes;
    std::istringstream lines(notes_.str());
    for (std::string line; std::getline(lines, line);)
      if (line.find("Library was built as DEBUG") == std::string::npos) notes += line + '\n';
    const std::string text = text_.str();
    notes_.str("");
    text_.str("");
    if (plan_.silent) return;
    if (!plan_.show) {
      std::cerr << notes;
      std::cout << text << std::flush;
      return;
    }
    if (!notes.empty()) plan_.show(notes, true);
    if (!text.empty()) plan_.show(text, false);
  }

  void ReportRuns(const std::vector<Run>& runs) override {
    if (session_.breach) return;
    std::vector<Run> to_show;
    for (const Run& run : runs) {
      const auto found = cells_.find(run.run_name.function_name);
      if (found == cells_.end()) continue;
      Cell& cell = *found->second;
      const bool repetition = run.run_type == Run::RT_Iteration;
      if (repetition && !failed(run) && !cell.refusal) keep(cell.row, run);
      // A cell that is refused half-way shows no earlier number, and gives its reason only once.
      const bool wanted = cell.refusal ? failed(run) && refusals_shown_.insert(&cell).second
                                       : !repetition || show_repetitions_ || run.repetitions == 1;
      if (wanted) to_show.push_back(run);
      if (repetition && (cell.refusal || complete(cell.row, run))) hand_out(cell);
    }
    if (!to_show.empty() && !plan_.silent) shown_->ReportRuns(to_show);
    show();
  }

  void Finalize() override {
    if (!plan_.silent) shown_->Finalize();
    show();
  }

 private:
  static void keep(TimingRow& row, const Run& run) {
    const double call_ns = run.real_accumulated_time / static_cast<double>(run.iterations) * 1e9;
    row.ns_per_token.push_back(call_ns / static_cast<double>(row.tokens));
    row.iterations.push_back(run.iterations);
  }
  static bool complete(const TimingRow& row, const Run& run) {
    return static_cast<std::int64_t>(row.ns_per_token.size()) >= run.repetitions;
  }

  void hand_out(Cell& cell) {
    if (!handed_out_.insert(&cell).second) return;
    TimingRow& row = cell.row;
    row.engine = Engine::gbench;
    if (!cell.refusal) cell.end_rounds();
    row.outcome = cell.refusal ? cell.refusal->outcome : Outcome::measured;
    if (cell.refusal) {
      row.reason = cell.refusal->reason;
      row.ns_per_token.clear();
      row.iterations.clear();
    } else {
      take_medians(row);
    }
    if (plan_.on_row) plan_.on_row(row);
  }

  benchmark::BenchmarkReporter* shown_;  // the library's own, never freed
  const Session& session_;
  const BoardPlan& plan_;
  const CellsByLabel& cells_;
  bool show_repetitions_;
  std::ostringstream text_, notes_;
  std::set<const Cell*> handed_out_, refusals_shown_;
};

bool starts_with(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}

/// The value of the last flag of that name, or an empty text.
std::string_view flag_value(const std::vector<std::string>& args, std::string_view flag) {
  std::string_view value;
  for (const std::string& arg : args) {
    if (arg == flag) value = "true";
    if (starts_with(arg, flag) && arg.size() > flag.size() && arg[flag.size()] == '=')
      value = std::string_view(arg).substr(flag.size() + 1);
  }
  return value;
}

bool is_true(std::string_view value) {
  return !value.empty() && std::string_view("1tTyY").find(value[0]) != std::string_view::npos;
}

std::vector<std::string> with_defaults(const BoardPlan& plan) {
  std::vector<std::string> args = {
      plan.quick ? "--benchmark_min_time=0.02" : "--benchmark_min_time=0.1",
      fmt::format("--benchmark_repetitions={}", usual_repetitions),
      "--benchmark_enable_random_interleaving=true"};
  // A console user gets aggregates only. A user who asks for a format gets every repetition.
  if (flag_value(plan.benchmark_args, "--benchmark_format").empty())
    args.push_back("--benchmark_display_aggregates_only=true");
  args.insert(args.end(), plan.benchmark_args.begin(), plan.benchmark_args.end());
  return args;
}

/// Whether the library would read the text as a whole number.
bool is_number(const std::string& text) {
  if (text.empty()) return false;
  char* end = nullptr;
  errno = 0;
  const long value = std::strtol(text.c_str(), &end, 10);
  return *end == 0 && errno == 0 && value >= 0 && value <= std::numeric_limits<int>::max();
}

bool is_time(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  const std::string_view unit(end);
  // 1.9.1 aborts on any other text
  return value > 0 && std::isfinite(value) && (unit.empty() || unit == "s" || unit == "x");
}

std::string filter_fault(std::string filter) {
  if (!filter.empty() && filter[0] == '-') filter.erase(0, 1);
  regex_t compiled;
  if (regcomp(&compiled, filter.c_str(), REG_EXTENDED | REG_NOSUB) != 0)
    return "--benchmark_filter is not a regular expression: '" + filter + "'";
  regfree(&compiled);
  return {};
}

/// Finds values that the library would take for a help request, take for no match, or abort on.
std::string value_fault(const std::vector<std::string>& args) {
  const auto value = [&](const char* flag) { return std::string(flag_value(args, flag)); };
  const auto is_given = [&](const char* flag) {
    return std::any_of(args.begin(), args.end(), [&](const std::string& arg) {
      return arg == flag || starts_with(arg, std::string(flag) + "=");
    });
  };
  if (is_given("--benchmark_min_time") && !is_time(value("--benchmark_min_time")))
    return "--benchmark_min_time is not a time: '" + value("--benchmark_min_time") + "'";
  if (const std::string given = value("--benchmark_repetitions");
      is_given("--benchmark_repetitions") &&
      (!is_number(given) || benchmark_repetitions(args) > most_repetitions || given == "0"))
    return fmt::format("--benchmark_repetitions is not a number from 1 to {}: '{}'",
                       most_repetitions, given);
  for (const char* flag : {"--benchmark_format", "--benchmark_out_format"})
    if (const std::string given = value(flag);
        is_given(flag) && given != "console" && given != "json" && given != "csv")
      return fmt::format("{} is not console, json or csv: '{}'", flag, given);
  if (const std::string given = value("--benchmark_time_unit"); is_given("--benchmark_time_unit") &&
                                                                given != "ns" && given != "us" &&
                                                                given != "ms" && given != "s")
    return "--benchmark_time_unit is not ns, us, ms or s: '" + given + "'";
  if (const std::string given = value("--benchmark_out");
      !given.empty() && !std::ofstream(given, std::ios::app))
    return "--benchmark_out cannot be written: '" + given + "'";
  return filter_fault(value("--benchmark_filter"));
}

/// Returns the first flag that the library does not accept. The library keeps pointers into argv,
/// so the texts live as long as the process.
std::string initialize(const std::vector<std::string>& args) {
  static std::vector<std::string> kept;
  static std::vector<char*> pointers;
  kept = {"ropewalk"};
  kept.insert(kept.end(), args.begin(), args.end());
  pointers.clear();
  for (std::string& arg : kept) pointers.push_back(arg.data());
  int count = static_cast<int>(pointers.size());
  pointers.push_back(nullptr);
  benchmark::Initialize(&count, pointers.data());
  return count > 1 ? pointers[1] : "";
}

}  // namespace

std::int64_t benchmark_repetitions(const std::vector<std::string>& args) {
  const std::string given(flag_value(args, "--benchmark_repetitions"));
  return is_number(given) ? std::strtol(given.c_str(), nullptr, 10) : usual_repetitions;
}

std::string benchmark_flag_fault(const std::vector<std::string>& args) {
  for (const std::string& arg : args)
    if (!starts_with(arg, "--benchmark_") && !starts_with(arg, "--v="))
      return "'" + arg + "' is not a flag of Google Benchmark (--benchmark_...)";
  if (std::string fault = value_fault(args); !fault.empty()) return fault;
  const std::string unknown = initialize(args);
  return unknown.empty() ? "" : "Google Benchmark does not accept '" + unknown + "'";
}

int run_board(const BoardPlan& plan) {
  const std::vector<std::string> args = with_defaults(plan);
  if (const std::string fault = benchmark_flag_fault(args); !fault.empty()) {
    std::cerr << "error: " << fault << '\n';
    return 2;
  }
  Session session(plan);
  BoardCells cells = make_cells(plan, session.watch);
  CellsByLabel by_label;
  benchmark::ClearRegisteredBenchmarks();
  for (const auto& owned : cells.all) {
    Cell& cell = *owned;
    if (!by_label.emplace(cell.label(), &cell).second) {
      std::cerr << "error: two kernels are called '" << cell.row.kernel << "'\n";
      return 2;
    }
    benchmark::RegisterBenchmark(cell.label().c_str(),
                                 [&](benchmark::State& state) { time_cell(state, cell, session); })
        ->UseManualTime()
        ->ReportAggregatesOnly(false);  // the rows need every repetition
  }
  const bool aggregates_only = is_true(flag_value(args, "--benchmark_display_aggregates_only")) ||
                               is_true(flag_value(args, "--benchmark_report_aggregates_only"));
  Collector collector(session, by_label, !aggregates_only);
  const std::size_t matched = benchmark::RunSpecifiedBenchmarks(&collector);
  benchmark::ClearRegisteredBenchmarks();
  if (session.breach) {
    announce(plan, session.breach->label);
    throw std::runtime_error(session.breach->what);
  }
  for (auto& cell : cells.all) {  // a kernel's release() is its code too
    announce(plan, cell->label());
    session.watch.about(cell->kernel());
    if (const std::string wrong = cell->release(); !wrong.empty()) throw std::runtime_error(wrong);
    session.watch.check_printing("release");
    cell.reset();
  }
  announce(plan, "");
  collector.show();
  return matched == 0 ? 3 : 0;
}

}  // namespace ropewalk::bench
