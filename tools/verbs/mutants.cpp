// Tests the suite itself: every planted error must die, and every correct kernel must live.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "base/text_file.h"
#include "properties/mutants/composed/composed.h"
#include "properties/search/judges.h"
#include "reports/document/document.h"
#include "tools/command/session.h"
#include "tools/verbs/verbs.h"

namespace ropewalk::tools {
using namespace harness;
using namespace properties;
using namespace report;
namespace {

// Mutants are built beside the command and never installed.
std::string beside_the_command(const std::string& name) {
  const std::string file = file_beside_command(name);
  if (file.empty())
    throw UsageError(fmt::format(
        "no {} beside the command: cmake --build makes it in a build tree; an installed ropewalk "
        "has none",
        name));
  return file;
}

// The mutants of device kernels are judged with a stand-in for the CUDA driver, on every machine.
void add_mutants(WorkerOptions& w) {
  w.plugins.push_back(beside_the_command("ropewalk_mutants.so"));
  w.plugins.push_back(beside_the_command("ropewalk_device_mutants.so"));
  w.plugins.push_back(beside_the_command("ropewalk_composed_mutants.so"));
  setenv("ROPEWALK_CUDA_DRIVER", beside_the_command("ropewalk_standin_driver.so").c_str(), 1);
}

std::vector<std::string> property_names(const MutantsOptions& options) {
  std::vector<std::string> out;
  for (const Property* p : chosen_properties(options.properties, options.profile))
    out.emplace_back(p->name);
  return out;
}

// A profile must kill the mutants up to this level (properties/mutants/composed/composed.h).
mutants::Level level_of(Profile profile) {
  return profile == Profile::smoke ? 2 : profile == Profile::standard ? 3 : 4;
}

bool is_due(const std::string& kernel, const MutantsOptions& options) {
  const auto& large = mutants::too_large_for_smoke;
  if (options.profile == Profile::smoke && std::ranges::count(large, kernel) > 0) return false;
  const mutants::Composed* composed = mutants::composed_named(kernel);
  if (composed == nullptr) return options.strength == 0;
  const mutants::Level level = mutants::level_of(*composed);
  return level <= level_of(options.profile) && (options.strength == 0 || level == options.strength);
}

// The kernels that the options select, but for mutants that only a longer profile must kill.
std::vector<std::string> due_kernels(const std::vector<KernelFacts>& kernels,
                                     const MutantsOptions& options) {
  std::vector<std::string> out;
  for (const KernelFacts& kernel : kernels)
    if (matches(options.kernels, kernel.name) && is_due(kernel.name, options))
      out.push_back(kernel.name);
  if (out.empty())
    throw UsageError(fmt::format(
        "none of these mutants is for the profile {}{}: --profile standard or full has more",
        profile_name(options.profile),
        options.strength == 0 ? "" : fmt::format(" and strength {}", options.strength)));
  return out;
}

// Over a kernel's pairings and types the latest of these letters counts: what killed the mutant.
constexpr std::string_view letters = "-.VHCx";

char letter_of(Verdict v) {
  if (v == Verdict::fail) return 'x';
  if (v == Verdict::pass) return '.';
  return is_failure(v) ? word(v).front() : '-';
}

constexpr const char* legend =
    "x: refuted, C: crash, H: hang, V: compared nothing, .: holds, -: unsupported or skipped";

/// Which property kills which mutant: counted, printed, and written as docs/kill-matrix.md.
class KillMatrix {
 public:
  /// `properties` are the columns, in order.
  explicit KillMatrix(std::vector<std::string> properties) : properties_(std::move(properties)) {}

  // A kernel that fails when it is asked what it supports fails before any property. The failure is
  // booked to the first property.
  void add(const VerdictRow& row) {
    const bool judged = std::ranges::find(properties_, row.property) != properties_.end();
    const bool died = !judged && is_failure(row.verdict) && !properties_.empty();
    char& worst = verdicts_[row.kernel]
                      .try_emplace(died ? properties_.front() : row.property, '-')
                      .first->second;
    if (letters.find(letter_of(row.verdict)) > letters.find(worst)) worst = letter_of(row.verdict);
  }

  bool empty() const { return verdicts_.empty(); }
  /// Whether every mutant dies and every correct kernel holds.
  bool complete() const {
    const auto [killed, mutants] = good(true);
    const auto [holding, correct] = good(false);
    return killed == mutants && holding == correct;
  }

  /// The properties that kill no mutant.
  std::vector<std::string> idle_properties() const {
    std::vector<std::string> out;
    for (const std::string& p : properties_)
      if (kills_of(p, false).empty()) out.push_back(p);
    return out;
  }

  /// For a terminal: one letter for each kernel and property, what each kills, and the scores.
  std::string as_text() const {
    constexpr std::size_t together = 5;
    Table table{.columns = {{"kernel"}, {""}}};
    for (std::size_t i = 0; i < properties_.size(); i += together)
      table.columns.push_back({std::to_string(i + 1)});
    for (const auto& [kernel, row] : verdicts_) {
      const char* good = is_mutant(kernel) ? "killed" : "holds";
      const char* bad = is_mutant(kernel) ? "SURVIVED" : "REJECTED";
      std::vector<report::Cell> cells{kernel, is_good(kernel, row) ? good : bad};
      std::string all;
      for (const std::string& p : properties_) all += letter(row, p);
      for (std::size_t i = 0; i < all.size(); i += together)
        cells.emplace_back(all.substr(i, together));
      table.rows.push_back({std::move(cells)});
    }
    const auto [killed, mutants] = good(true);
    const auto [holding, correct] = good(false);
    return fmt::format("{}\n{}\n\n{}\n{} of {} mutants killed, {} of {} correct kernels hold\n",
                       terminal_text(table), legend, terminal_text(property_table()), killed,
                       mutants, holding, correct);
  }

  /// The page docs/kill-matrix.md. `command` is the command line that wrote it.
  std::string as_markdown(const std::string& command) const {
    const auto [killed, mutants] = good(true);
    std::string out = fmt::format(
        "# The kill matrix\n\nWhich property sees which planted error (properties/mutants). "
        "Written by\n\n```sh\n{}\n```\nThe figures are of seed 20210420.\n\n"
        "Of {} mutants the {} properties kill {}. [Decision 42](decisions/0042-covering-arrays.md) "
        "has what weaker\nsuites saw.\n\n",
        command, mutants, properties_.size(), killed);
    return out + not_judged() + "## Properties\n\n" + markdown_of({property_table()}) +
           "`ropewalk mutants --profile smoke` prints the verdict of each property on each "
           "mutant.\n";
  }

 private:
  using Row = std::map<std::string, char>;  ///< property -> its letter
  static char letter(const Row& row, const std::string& property) {
    const auto found = row.find(property);
    return found == row.end() ? ' ' : found->second;
  }
  static bool fails(const Row& row, const std::string& property) {
    return letters.find(letter(row, property), 2) != letters.npos;
  }
  static bool is_mutant(const std::string& kernel) { return kernel.starts_with("mutant_"); }

  /// Of how many properties.
  std::ptrdiff_t kills(const Row& row) const {
    return std::ranges::count_if(properties_, [&](const std::string& p) { return fails(row, p); });
  }

  /// A mutant dies, and a correct kernel holds.
  bool is_good(const std::string& kernel, const Row& row) const {
    const auto passes = [&](const std::string& p) { return letter(row, p) == '.'; };
    return is_mutant(kernel) ? kills(row) > 0
                             : kills(row) == 0 && std::ranges::any_of(properties_, passes);
  }

  /// How many of the mutants die, or of the correct kernels hold, and how many there are.
  std::pair<std::size_t, std::size_t> good(bool mutants) const {
    std::size_t good = 0, all = 0;
    for (const auto& [kernel, row] : verdicts_) {
      if (is_mutant(kernel) != mutants) continue;
      ++all;
      good += std::size_t{is_good(kernel, row)};
    }
    return {good, all};
  }

  /// The mutants that a property kills. With `alone`, only those that no other property kills.
  std::vector<std::string> kills_of(const std::string& property, bool alone) const {
    std::vector<std::string> out;
    for (const auto& [kernel, row] : verdicts_)
      if (is_mutant(kernel) && fails(row, property) && (!alone || kills(row) == 1))
        out.push_back(kernel);
    return out;
  }

  Table property_table() const {
    Table out{.columns = {{"", true}, {"property"}, {"kills", true}, {"that no other kills"}}};
    for (const std::string& p : properties_) {
      std::vector<std::string> alone = kills_of(p, true);
      for (std::string& name : alone) name.erase(0, std::string_view("mutant_").size());
      out.rows.push_back(
          {{std::to_string(out.rows.size() + 1), Span{p, Style::code},
            std::to_string(kills_of(p, false).size()), fmt::format("{}", fmt::join(alone, ", "))}});
    }
    return out;
  }

  /// The composed mutants that were not judged, with the conditions that each needs.
  std::string not_judged() const {
    std::string out =
        "Errors that show only where several conditions meet are in properties/mutants/composed. "
        "Those of more\nthan two are killed in the profiles standard and full. Not judged in this "
        "run, with the number of\nconditions that each needs:\n\n```\n";
    for (const mutants::Composed& each : mutants::composed_kernels())
      if (is_mutant(each.name) && !verdicts_.contains(each.name))
        out += fmt::format("{} {}\n", mutants::level_of(each), each.name);
    for (const std::string_view large : mutants::too_large_for_smoke)
      if (!verdicts_.contains(std::string(large)))
        out += fmt::format("a case too large for smoke: {}\n", large);
    return out + "```\n\n";
  }

  std::vector<std::string> properties_;
  std::map<std::string, Row> verdicts_;  ///< by kernel
};

}  // namespace

int run(const MutantsOptions& options) {
  require_properties(options);
  WorkerOptions w = worker_options(options);
  add_mutants(w);
  VerifyPlan plan = verify_plan(options);
  {
    Worker worker(w);
    require_kernels(worker.kernels(), options);
    plan.kernels = due_kernels(worker.kernels(), options);
  }
  plan.shrink = options.json && !options.first_kill;  // else only whether the mutant dies matters
  plan.until_failure = options.first_kill;
  plan.array_cases = options.array_cases;
  const bool by_all = options.properties.empty() && options.strength == 0 && !options.first_kill;
  Progress progress(options.quiet);
  KillMatrix matrix(property_names(options));
  verify_with_judges(
      w, plan, options.jobs,
      [&](const VerdictRow& row) {
        matrix.add(row);
        if (!options.json) return;
        progress.clear();
        fmt::print("{}\n", to_json_line(row));
        flush_output();
      },
      [&](const std::string& what) { progress.show(what); });
  progress.clear();
  if (matrix.empty()) return 3;
  if (!options.json) fmt::print("{}seed {}\n", matrix.as_text(), options.seed);
  if (!options.markdown.empty())
    write_whole_file(options.markdown, matrix.as_markdown(options.command_line));
  bool every_property_kills = true;
  if (by_all && options.kernels.empty())
    for (const std::string& p : matrix.idle_properties()) {
      fmt::print(stderr, "ropewalk: property {} kills no mutant\n", p);
      every_property_kills = false;
    }
  return matrix.complete() && every_property_kills ? 0 : 1;
}

}  // namespace ropewalk::tools
