// verify of a target that offers providers of angles: its kernels by the properties, its providers
// by their laws, and one screen of both.
#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <map>
#include <mutex>
#include <sstream>

#include "properties/search/judges.h"
#include "properties/search/verdict_rows.h"
#include "tools/command/session.h"
#include "tools/command/targets.h"
#include "tools/verbs/failure_text.h"
#include "tools/verbs/providers.h"

namespace ropewalk::tools {
using namespace harness;
using namespace properties;
using namespace report;
namespace {

// In smoke the functions of a library are held to what they compute. They keep no state of their
// own, and what a state could do takes ten times as long.
const std::vector<std::string> quick_properties{"agreement", "transpose", "pair_locality",
                                                "untouched_dims", "clean_call"};

enum Severity : std::size_t { wrong, edge, precision, contract };

// A kernel's failures have no severity: they are wrong.
Severity severity_of(const VerdictRow& row) {
  return row.severity == "edge"        ? edge
         : row.severity == "precision" ? precision
         : row.severity == "contract"  ? contract
                                       : wrong;
}

std::string severity_words(const VerdictRow& row) {
  constexpr const char* words[] = {"wrong", "wrong at an edge", "lost precision",
                                   "matter of contract"};
  return words[severity_of(row)];
}

bool is_graver(const VerdictRow& a, const VerdictRow& b) {
  return severity_of(a) < severity_of(b);
}

// The rows of one name.
struct NamedRows {
  std::vector<VerdictRow> failures;  // the gravest first
  std::int64_t held = 0, judged = 0;
  std::string why_not;  // of what could not be judged at all

  void add(const VerdictRow& row) {
    if (is_not_run(row.verdict)) {
      if (row.property == everything) why_not = row.reason;
      return;
    }
    ++judged;
    if (row.verdict == Verdict::pass)
      ++held;
    else
      failures.push_back(row);
  }
  std::string verdict() const {
    if (judged == 0) return "-";
    const bool counts = std::any_of(failures.begin(), failures.end(),
                                    [](const VerdictRow& r) { return r.known.empty(); });
    return counts ? "FAIL" : "PASS";
  }
};

// What the rows come to: a line for each name, and each failing claim once.
class Screen {
 public:
  explicit Screen(const std::vector<VerdictRow>& rows) {
    for (const VerdictRow& row : rows) {
      if (!entries_.contains(row.kernel)) order_.push_back(row.kernel);
      entries_[row.kernel].add(row);
    }
    for (auto& [name, entry] : entries_)
      std::stable_sort(entry.failures.begin(), entry.failures.end(), is_graver);
  }

  void print(bool quiet, bool all) const {
    fmt::print("{:<30} {:<5} {:<9} {}\n", "entry", "", "claims", "the gravest failing claim");
    std::size_t not_judged = 0;
    for (const std::string& name : order_) {
      const NamedRows& e = entries_.at(name);
      if (e.judged == 0) ++not_judged;
      if ((quiet && e.verdict() != "FAIL") || (e.judged == 0 && !all)) continue;
      const std::string claims = e.judged == 0 ? "" : fmt::format("{} of {}", e.held, e.judged);
      std::string why = e.why_not;
      if (!e.failures.empty())
        why = fmt::format("{} ({})", e.failures[0].property, severity_words(e.failures[0]));
      print_lines(
          wrapped(fmt::format("{:<30} {:<5} {:<9} {}", name, e.verdict(), claims, why), 46));
    }
    if (not_judged > 0 && !all)
      fmt::print("{} more cannot be judged; --all says why\n", not_judged);
    print_claims();
  }

 private:
  // Each claim that fails, with the entry that shows it, and the line that repeats it.
  void print_claims() const {
    std::map<std::pair<Severity, std::string>, std::vector<VerdictRow>> claims;
    for (const std::string& name : order_)
      for (const VerdictRow& row : entries_.at(name).failures)
        claims[{severity_of(row), row.property}].push_back(row);
    for (const auto& [key, rows] : claims) {
      const VerdictRow& first = rows.front();
      fmt::print("\n");
      const auto tell = [](const std::string& text) { print_lines(wrapped("  " + text, 4)); };
      print_lines(wrapped(fmt::format(
          "{} ({}; {}): {}", first.property, severity_words(first),
          rows.size() == 1 ? "1 entry" : fmt::format("{} entries", rows.size()), first.claim)));
      tell(fmt::format("{}: {}", first.kernel, first.reason));
      for (const std::string& text : {first.where, first.cause})
        if (!text.empty()) tell(text);
      if (!first.known.empty()) tell("not counted: " + first.known);
      const std::string replay = "  " + first.replay;  // its last word stays whole
      print_lines(wrapped(replay, 4, replay.rfind('\'', replay.size() - 2)));
    }
  }

  std::vector<std::string> order_;
  std::map<std::string, NamedRows> entries_;
};

void verify_kernels(const VerifyOptions& given, const std::string& target, const ProviderFile& file,
                    const std::function<void(VerdictRow)>& take, Progress& progress) {
  VerifyOptions options = given;
  options.plugins = {plugin_of(target)};
  options.kernels = file.kernels;
  options.no_cuda = true;
  options.baselines = false;
  if (options.properties.empty() && options.profile == Profile::smoke)
    options.properties = quick_properties;
  verify_with_judges(worker_options(options), verify_plan(options), options.jobs, take,
                     [&](const std::string& what) { progress.show(what); });
}

}  // namespace

int replay_provider(const ReplayOptions& replay) {
  VerifyOptions options;
  std::string position;
  std::istringstream words(replay.line);
  for (std::string word; words >> word;) {
    const std::size_t at = std::min(word.find('='), word.size() - 1);
    const std::string key = word.substr(0, at), value = word.substr(at + 1);
    if (key == "provider")
      options.provided = {value};
    else if (key == "property")
      options.properties = {value};
    else if (key == "position")
      position = value;
    else
      throw UsageError(fmt::format("'{}' is not one of provider, property, position", key));
  }
  options.json = replay.json;
  return verify_provided(options, position);
}

int verify_provided(const VerifyOptions& options, const std::string& position) {
  const std::string& target = options.provided.front();
  KnownFailures known = known_failures(options.known_failures);
  Recorder recorder(options, options.out);
  Progress progress(options.quiet, true);
  progress.show("loads " + target);
  std::vector<VerdictRow> rows;
  std::mutex one_at_a_time;
  const auto take = [&](VerdictRow row) {
    const std::lock_guard lock(one_at_a_time);
    progress.clear();
    known.judge(row);
    if (is_failure(row.verdict) && row.known.empty() && !options.strict &&
        severity_of(row) >= precision)
      row.known = fmt::format("{}; --strict counts it", severity_words(row));
    recorder.write(row);
    if (options.json) fmt::print("{}\n", to_json_line(row));
    flush_output();
    rows.push_back(std::move(row));
  };
  // The other process judges while the kernels are judged here.
  std::promise<ProviderFile> found;
  std::future<ProviderFile> providers = std::async(std::launch::async, [&] {
    bool is_told = false;
    try {
      return judge_providers(
          {target, options.properties, position},
          [&](const ProviderFile& file) {
            is_told = true;
            found.set_value(file);
          },
          [&](VerdictRow row) {
            const std::string name = row.kernel;
            take(std::move(row));
            progress.show("judges the angles of " + name);
          });
    } catch (...) {
      if (is_told) throw;
      found.set_exception(std::current_exception());
      return ProviderFile{};
    }
  });
  const ProviderFile file = found.get_future().get();
  if (!file.kernels.empty() && position.empty())
    verify_kernels(options, target, file, take, progress);
  const ProviderFile whole = providers.get();
  progress.clear();
  if (rows.empty()) throw UsageError("--property: no property and no law of angles has that name");
  const int code = exit_code_of(rows);
  recorder.finish(code);
  if (options.json) return code;
  fmt::print("{}{}\n\n", file.found, rows.empty() ? "" : ", " + rows.back().judged_on);
  Screen(rows).print(options.quiet, options.all);
  fmt::print("\n");
  for (const std::string& remark : whole.notes) print_lines(wrapped("note: " + remark));
  if (!whole.not_covered.empty()) print_lines(wrapped("not covered: " + whole.not_covered));
  for (const std::string& remark : known.remarks()) fmt::print("{}\n", remark);
  fmt::print("{:.1f} s\n", seconds_of_command());
  return code;
}

}  // namespace ropewalk::tools
