// Tests the suite itself: every planted error must die, and every correct kernel must live.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "base/text_file.h"
#include "properties/mutants/composed/composed.h"
#include "properties/search/judges.h"
#include "tools/command/session.h"
#include "tools/suite/kill_matrix.h"
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
