// Who judges the judges: every planted error must die, every correct kernel must live.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>

#include "properties/judges.h"
#include "tools/session.h"
#include "tools/verbs.h"

namespace ropewalk {
namespace {

// Mutants are built beside the command and never installed.
std::string mutant_plugin() {
  std::error_code error;
  const auto self = std::filesystem::path(own_executable());
  const auto plugin = self.parent_path() / "ropewalk_mutants.so";
  if (!std::filesystem::exists(plugin, error))
    throw UsageError(
        "no ropewalk_mutants.so beside the command: cmake --build makes it in a build tree, an "
        "installed ropewalk has none");
  return plugin.string();
}

using Verdicts = std::map<std::string, std::map<std::string, std::string>>;  // kernel, property

// The worst word of a kernel's pairings and types: what killed it.
void note(Verdicts& verdicts, const VerdictRow& row) {
  static const std::vector<std::string> order = {"UNSUPPORTED", "SKIPPED", "PASS", "VACUOUS",
                                                 "HANG",        "CRASH",   "FAIL"};
  const auto rank = [](const std::string& v) {
    return std::find(order.begin(), order.end(), v) - order.begin();
  };
  std::string& word = verdicts[row.kernel][row.property];
  if (word.empty() || rank(row.verdict) > rank(word)) word = row.verdict;
}

char symbol(const std::map<std::string, std::string>& row, const std::string& property) {
  const auto found = row.find(property);
  if (found == row.end()) return ' ';
  const std::string& v = found->second;
  return v == "FAIL" ? 'x' : v == "PASS" ? '.' : is_failure(v) ? v.front() : '-';
}

struct Score {
  int mutants = 0, killed = 0, correct = 0, rejected = 0;
};

// Prints a line for each kernel unless `silent`, and counts.
Score judge_matrix(const Verdicts& verdicts, const Options& options) {
  const bool silent = options.json;
  std::vector<std::string> columns;
  for (const Property* p : all_properties())
    if (matches(options.properties, std::string(p->name))) columns.emplace_back(p->name);
  std::size_t widest = 0;
  for (const auto& [kernel, row] : verdicts) widest = std::max(widest, kernel.size());
  if (!silent) {
    for (std::size_t i = 0; i < columns.size(); ++i)
      fmt::print("{:>{}} {}\n", i + 1, widest + 12 + 3 * i, columns[i]);
  }
  Score score;
  for (const auto& [kernel, row] : verdicts) {
    const bool mutant = kernel.starts_with("mutant_");
    const bool any_dead =
        std::any_of(row.begin(), row.end(), [](const auto& v) { return is_failure(v.second); });
    const bool any_pass =
        std::any_of(row.begin(), row.end(), [](const auto& v) { return v.second == "PASS"; });
    (mutant ? score.mutants : score.correct) += 1;
    if (mutant && any_dead) ++score.killed;
    if (!mutant && (any_dead || !any_pass)) ++score.rejected;
    const char* word = mutant ? (any_dead ? "killed" : "SURVIVED")
                              : (any_dead || !any_pass ? "REJECTED" : "holds");
    if (silent) continue;
    fmt::print("{:<{}} {:>8}", kernel, widest, word);
    for (const std::string& c : columns) fmt::print(" {:>2}", symbol(row, c));
    fmt::print("\n");
  }
  if (!silent)
    fmt::print(
        "\nx: refuted, C: crash, H: hang, V: compared nothing, .: holds, -: unsupported or "
        "skipped\n"
        "{} of {} mutants killed, {} of {} correct kernels hold; seed {}\n",
        score.killed, score.mutants, score.correct - score.rejected, score.correct, options.seed);
  return score;
}

}  // namespace

int run_mutants(const Options& options) {
  require_properties(options);
  WorkerOptions w = worker_options(options);
  w.plugins.push_back(mutant_plugin());
  {
    Worker worker(w);
    require_kernels(worker, options);
  }
  VerifyPlan plan = verify_plan(options);
  plan.shrink = false;  // whether it dies is the question, not how small
  Progress progress(options.quiet);
  Verdicts verdicts;
  verify_with_judges(
      w, plan, options.jobs,
      [&](const VerdictRow& row) {
        note(verdicts, row);
        if (!options.json) return;
        progress.clear();
        fmt::print("{}\n", to_json_line(row));
        flush_output();
      },
      [&](const std::string& what) { progress.show(what); });
  progress.clear();
  if (verdicts.empty()) return 3;
  const Score score = judge_matrix(verdicts, options);
  return score.killed < score.mutants || score.rejected > 0 ? 1 : 0;
}

}  // namespace ropewalk
