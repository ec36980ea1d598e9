#include "tools/command/workload_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <set>

#include "base/text_file.h"
#include "benchmarks/workloads/model_shape.h"
#include "benchmarks/workloads/workload_shape.h"
#include "tools/command/session.h"

namespace ropewalk::tools {
using namespace bench;
namespace {

void append(std::vector<Workload> more, std::vector<Workload>& all) {
  std::set<std::string> taken;
  for (const Workload& w : all) taken.insert(w.name);
  for (Workload& w : more) {
    const std::string name = w.name;
    const std::size_t slash = std::min(name.find('/'), name.size());
    for (int n = 2; !taken.insert(w.name).second; ++n) {
      w.name = name.substr(0, slash) + "-" + std::to_string(n) + name.substr(slash);
      if (!good_workload_name(w.name)) throw UsageError("too many workloads are called " + name);
    }
    all.push_back(std::move(w));
  }
}

}  // namespace

std::vector<ModelConfig> read_configs(const WorkloadChoice& choice) {
  std::vector<ModelConfig> configs;
  for (const std::string& file : choice.configs)
    configs.push_back(load_model_config(file, choice.pairing));
  return configs;
}

std::vector<Workload> all_workloads(const WorkloadChoice& choice) {
  std::vector<Workload> all;
  if (!choice.workload_file.empty()) all = load_workloads(choice.workload_file);
  const std::vector<ModelConfig> configs = read_configs(choice);
  for (std::size_t i = 0; i < configs.size(); ++i)
    append(through_phases(configs[i].shape, shown_path(choice.configs[i])), all);
  for (const std::string& shape : choice.shapes) append(parse_shape(shape), all);
  return all.empty() ? load_default_workloads() : all;
}

std::vector<Workload> chosen_workloads(const WorkloadChoice& choice, properties::Profile profile) {
  std::vector<Workload> chosen;
  for (const Workload& w : all_workloads(choice))
    if (matches(choice.workloads, w.name) &&
        (!choice.workloads.empty() || in_profile(w, profile_name(profile))))
      chosen.push_back(w);
  if (chosen.empty())
    throw UsageError(choice.workloads.empty()
                         ? "no workload belongs to profile " + profile_name(profile) +
                               " (name some: --workload 'GLOB')"
                         : "no workload matches '" + choice.workloads.front() +
                               "' (ropewalk list shows them)");
  return chosen;
}

void print_what_is_not_timed(const WorkloadChoice& choice, bool quiet) {
  if (quiet) return;
  for (const ModelConfig& config : read_configs(choice))
    for (const std::string& what : config.not_timed)
      fmt::print(stderr, "{}: not timed: {}\n", config.shape.name, what);
}

}  // namespace ropewalk::tools
