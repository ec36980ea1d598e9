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

std::vector<ModelConfig> read_configs(const Options& options) {
  std::vector<ModelConfig> configs;
  for (const std::string& file : options.configs)
    configs.push_back(load_model_config(file, options.pairing));
  return configs;
}

std::vector<Workload> all_workloads(const Options& options) {
  std::vector<Workload> all;
  if (!options.workload_file.empty()) all = load_workloads(options.workload_file);
  const std::vector<ModelConfig> configs = read_configs(options);
  for (std::size_t i = 0; i < configs.size(); ++i)
    append(through_phases(configs[i].shape, shown_path(options.configs[i])), all);
  for (const std::string& shape : options.shapes) append(parse_shape(shape), all);
  return all.empty() ? load_default_workloads() : all;
}

std::vector<Workload> chosen_workloads(const Options& options) {
  std::vector<Workload> chosen;
  for (const Workload& w : all_workloads(options))
    if (matches(options.workloads, w.name) &&
        (!options.workloads.empty() || in_profile(w, profile_name(options.profile))))
      chosen.push_back(w);
  if (chosen.empty())
    throw UsageError(options.workloads.empty()
                         ? "no workload belongs to profile " + profile_name(options.profile) +
                               " (name some: --workload 'GLOB')"
                         : "no workload matches '" + options.workloads.front() +
                               "' (ropewalk list shows them)");
  return chosen;
}

void print_what_is_not_timed(const Options& options) {
  if (options.quiet) return;
  for (const ModelConfig& config : read_configs(options))
    for (const std::string& what : config.not_timed)
      fmt::print(stderr, "{}: not timed: {}\n", config.shape.name, what);
}

}  // namespace ropewalk::tools
