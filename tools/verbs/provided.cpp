// verify of a target that offers providers of angles: its kernels by the properties, its providers
// by their laws, and one screen of both.
#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <map>
#include <mutex>
#include <regex>

#include "properties/search/judges.h"
#include "tools/command/session.h"
#include "tools/command/targets.h"
#include "tools/verbs/failures.h"
#include "tools/verbs/verbs.h"

namespace ropewalk::tools {
using namespace report;
namespace {

// In smoke the functions of a library are held to what they compute. They keep no state of their
// own, and what a state could do takes ten times as long.
const std::vector<std::string> quick_properties{"agreement", "transpose", "pair_locality",
                                                "untouched_dims", "clean_call"};

struct Severity {
  std::string_view word, words;
  bool counts;  // without --strict
};
constexpr Severity severities[] = {{"wrong", "wrong", true},
                                   {"edge", "wrong at an edge", true},
                                   {"precision", "lost precision", false},
                                   {"contract", "matter of contract", false}};

// A kernel's failures have no severity: they are wrong.
const Severity& severity_of(const VerdictRow& row) {
  for (const Severity& severity : severities)
    if (severity.word == row.severity) return severity;
  return severities[0];
}

// The rows of one name.
struct NamedRows {
  std::string name = {};
  const VerdictRow* gravest = nullptr;
  std::int64_t held = 0, judged = 0;
  bool fails = false;                // and it counts
  const VerdictRow* died = nullptr;  // the one that ended its process
  std::string why_not = {};          // if nothing could be judged

  void add(const VerdictRow& row) {
    if (is_not_run(row.verdict)) {
      if (row.property == everything) why_not = row.reason;
      return;
    }
    ++judged;
    if (row.verdict == Verdict::pass) ++held;
    if (!is_failure(row.verdict)) return;
    fails = fails || row.known.empty();
    if (row.verdict == Verdict::crash || row.verdict == Verdict::hang) gravest = died = &row;
    if (gravest == nullptr || &severity_of(row) < &severity_of(*gravest)) gravest = &row;
  }
  TableRow row() const {
    const std::string why =
        gravest == nullptr ? why_not
        : died != nullptr  ? gravest->property + ": " + gravest->reason
                           : fmt::format("{} ({})", gravest->property, severity_of(*gravest).words);
    const std::string verdict(judged == 0     ? "-"
                              : died && fails ? word(died->verdict)
                              : fails         ? "FAIL"
                                              : "PASS");
    return {{name, verdict, judged == 0 ? "" : fmt::format("{} of {}", held, judged), why}};
  }
};

// A line for each name, then each claim that fails, with the entry that shows it first and the line
// that repeats it.
void print_screen(const std::vector<VerdictRow>& rows, const VerifyOptions& options) {
  std::vector<NamedRows> names;
  std::map<std::pair<const Severity*, std::string>, std::vector<const VerdictRow*>> claims;
  for (const VerdictRow& row : rows) {
    auto at = std::ranges::find_if(names, [&](const NamedRows& n) { return n.name == row.kernel; });
    if (at == names.end()) at = names.insert(at, NamedRows{.name = row.kernel});
    at->add(row);
    if (is_failure(row.verdict)) claims[{&severity_of(row), row.property}].push_back(&row);
  }
  Table table{"", {{"entry"}, {""}, {"claims"}, {"the gravest failing claim"}}, {}};
  std::size_t not_judged = 0;
  for (const NamedRows& n : names) {
    if (n.judged == 0) ++not_judged;
    if (n.judged == 0 ? options.all : n.fails || !options.quiet) table.rows.push_back(n.row());
  }
  print(table);
  if (not_judged > 0 && !options.all)
    print(Paragraph{fmt::format("{} more cannot be judged; --all says why", not_judged)});
  for (const auto& [key, failing] : claims) {
    const VerdictRow& first = *failing.front();
    const std::size_t count = failing.size();
    fmt::print("\n");
    print(Paragraph{fmt::format("{} ({}; {} {}){}{}", first.property, key.first->words, count,
                                count == 1 ? "entry" : "entries", first.claim.empty() ? "" : ": ",
                                first.claim)});
    Facts facts;
    facts.add("entry", first.kernel);
    facts.add("because", first.reason);
    facts.add("where", first.where);
    facts.add("cause", first.cause);
    facts.add("not counted", first.known);
    if (!first.replay.empty()) facts.add("replay", Span{first.replay, Style::code});
    print(facts);
  }
  fmt::print("\n");
}

void verify_kernels(VerifyOptions options, const std::vector<std::string>& kernels,
                    const std::function<void(VerdictRow)>& take, Progress& progress) {
  options.plugins = {plugin_of(options.provided.front())};
  options.kernels = kernels;
  options.no_cuda = true;
  if (options.properties.empty() && options.profile == properties::Profile::smoke)
    options.properties = quick_properties;
  verify_with_judges(worker_options(options), verify_plan(options), options.jobs, take,
                     [&](const std::string& what) { progress.show(what); });
}

}  // namespace

int replay_provider(const ReplayOptions& replay) {
  VerifyOptions options;
  // A name may hold spaces.
  const std::regex form("provider=(.*\\S) +property=(\\S+)(?: +position=(\\S+))? *");
  std::smatch given;
  if (!std::regex_match(replay.line, given, form))
    throw UsageError(
        "a provider's replay line is provider=TARGET property=LAW, and perhaps "
        "position=N");
  options.provided = {given[1]};
  options.properties = {given[2]};
  options.json = replay.json;
  return verify_provided(options, given[3]);
}

int verify_provided(const VerifyOptions& options, const std::string& position) {
  const std::string& target = options.provided.front();
  harness::KnownFailures known = known_failures(options.known_failures);
  Recorder recorder(options, options.out);
  Progress progress(options.quiet, true);
  progress.show("loads " + target);
  std::vector<VerdictRow> rows;
  std::mutex one_at_a_time;
  const auto take = [&](VerdictRow row) {
    const std::lock_guard lock(one_at_a_time);
    progress.clear();
    known.judge(row);
    if (!row.severity.empty() && row.verdict == Verdict::pass) row.verdict = Verdict::fail;
    const Severity& severity = severity_of(row);
    if (is_failure(row.verdict) && row.known.empty() && !options.strict && !severity.counts)
      row.known = fmt::format("{}; --strict counts it", severity.words);
    recorder.write(row);
    if (options.json) fmt::print("{}\n", to_json_line(row));
    flush_output();
    rows.push_back(std::move(row));
  };
  // The other process judges while the kernels are judged here.
  std::promise<ProviderFile> found;
  bool is_found = false;
  std::future<ProviderFile> providers = std::async(std::launch::async, [&] {
    const auto on_found = [&](const ProviderFile& file) {
      is_found = true;
      found.set_value(file);
    };
    const auto on_row = [&](VerdictRow row) {
      progress.show("judges the angles of " + row.kernel);
      take(std::move(row));
    };
    try {
      return judge_providers({target, options.properties, position}, on_found, on_row);
    } catch (...) {
      if (!is_found) found.set_exception(std::current_exception());
      throw;
    }
  });
  const ProviderFile file = found.get_future().get();
  if (!file.kernels.empty() && position.empty())
    verify_kernels(options, file.kernels, take, progress);
  const ProviderFile whole = providers.get();
  progress.clear();
  if (rows.empty()) throw UsageError("--property: no property and no law of angles has that name");
  const int code = properties::exit_code_of(rows);
  recorder.finish(code);
  if (options.json) return code;
  fmt::print("{}, {}\n\n", file.found, rows.back().judged_on);
  print_screen(rows, options);
  for (const std::string& note : whole.notes) print(Paragraph{"note: " + note});
  if (!whole.not_covered.empty()) print(Paragraph{"not covered: " + whole.not_covered});
  for (const std::string& remark : known.remarks()) fmt::print("{}\n", remark);
  fmt::print("{:.1f} s\n", seconds_of_command());
  return code;
}

}  // namespace ropewalk::tools
