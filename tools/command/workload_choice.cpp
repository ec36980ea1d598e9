#include "tools/command/workload_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <set>

#include "base/text_file.h"
#include "benchmarks/workloads/model_shape.h"
#include "benchmarks/workloads/workload_layout.h"
#include "benchmarks/workloads/workload_shape.h"
#include "tools/command/session.h"

namespace ropewalk::tools {
using namespace bench;
using namespace harness;
using namespace properties;
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

// Without a number of tokens.
ModelShape heads_of(const Workload& w) {
  ModelShape shape;
  shape.rotary_dim = w.rotary_dim;
  shape.batch = shape.tokens = 0;
  shape.tensors.resize(2);
  for (std::size_t i = 0; i < 2; ++i) {
    shape.tensors[i].heads = w.tensors[i].heads;
    shape.tensors[i].head_dim = w.tensors[i].head_dim;
    shape.tensors[i].rotary_offset = w.tensors[i].rotary_offset;
  }
  return shape;
}

// The options that made the choice, as words of a command line.
std::vector<std::string> options_of(const WorkloadChoice& choice) {
  std::vector<std::string> out;
  const auto add = [&](const char* option, const std::vector<std::string>& values) {
    for (const std::string& value : values) out.insert(out.end(), {option, value});
  };
  add("--workload", choice.workloads);
  if (!choice.workload_file.empty()) add("--workload-file", {choice.workload_file});
  add("--config", choice.configs);
  const ConfigAnswers& a = choice.answers;
  if (!a.pairing.empty()) add("--pairing", {a.pairing});
  if (a.theta) add("--theta", {fmt::format("{}", *a.theta)});
  if (a.heads) add("--heads", {fmt::format("{}", *a.heads)});
  if (a.kv_heads) add("--kv-heads", {fmt::format("{}", *a.kv_heads)});
  if (a.context) add("--context", {fmt::format("{}", *a.context)});
  if (!a.layer.empty()) add("--layer", {a.layer});
  if (!choice.dtype.empty()) add("--dtype", {choice.dtype});
  add("--shape", choice.shapes);
  return out;
}

UsageError no_workload(const WorkloadChoice& choice) {
  return UsageError("no workload matches '" + choice.workloads.front() +
                    "' (ropewalk list shows them)");
}

}  // namespace

std::vector<ModelConfig> read_configs(const WorkloadChoice& choice) {
  std::vector<ModelConfig> configs;
  for (const std::string& file : choice.configs)
    configs.push_back(load_model_config(file, choice.answers));
  return configs;
}

std::vector<Workload> all_workloads(const WorkloadChoice& choice) {
  std::vector<Workload> all;
  if (!choice.workload_file.empty()) all = load_workloads(choice.workload_file);
  const std::vector<ModelConfig> configs = read_configs(choice);
  for (std::size_t i = 0; i < configs.size(); ++i)
    append(through_phases(configs[i].shape, shown_path(choice.configs[i])), all);
  for (const std::string& shape : choice.shapes) append(parse_shape(shape), all);
  if (all.empty()) all = load_default_workloads();
  for (Workload& w : all)
    if (!choice.dtype.empty()) w.dtype = bench::dtype_of(choice.dtype);
  if (choice.operation == "forward") return all;
  std::vector<Workload> back = all;
  std::erase_if(back, is_fusing);  // no backward pass has a norm or an append
  for (Workload& w : back) {
    w.operation = Operation::transpose;
    w.name += "-transpose";
  }
  if (choice.operation == "both") back.insert(back.begin(), all.begin(), all.end());
  return back;
}

std::vector<Workload> chosen_workloads(const WorkloadChoice& choice, properties::Profile profile) {
  std::vector<Workload> chosen;
  for (const Workload& w : all_workloads(choice))
    if (matches(choice.workloads, w.name) &&
        (!choice.workloads.empty() || in_profile(w, profile_name(profile))))
      chosen.push_back(w);
  if (!chosen.empty()) return chosen;
  if (!choice.workloads.empty()) throw no_workload(choice);
  throw UsageError("no workload belongs to profile " + profile_name(profile) +
                   " (name some: --workload 'GLOB')");
}

std::vector<ModelShape> model_shapes(const std::vector<Workload>& workloads) {
  constexpr std::int64_t most_tokens = 512;
  std::vector<ModelShape> out;
  for (const Workload& w : workloads) {
    ModelShape shape = heads_of(w);
    const auto found = std::ranges::find_if(out, [&](const ModelShape& other) {
      return other.tensors == shape.tensors && other.rotary_dim == shape.rotary_dim;
    });
    ModelShape& kept = found == out.end() ? out.emplace_back(shape) : *found;
    if (w.batch * w.tokens > most_tokens || w.batch * w.tokens < kept.batch * kept.tokens) continue;
    kept.batch = w.batch;
    kept.tokens = w.tokens;
  }
  return out;
}

void ask_shapes(const std::vector<Workload>& workloads, VerifyPlan& plan) {
  std::vector<Workload> all = workloads;
  for (Workload& w : load_default_workloads()) all.push_back(std::move(w));
  plan.shapes.models = model_shapes(all);
}

void hold_to_shape(const WorkloadChoice& choice, VerifyPlan& plan) {
  std::vector<Workload> chosen;
  for (const Workload& w : all_workloads(choice))
    if (matches(choice.workloads, w.name)) chosen.push_back(w);
  if (chosen.empty()) throw no_workload(choice);
  const Workload& first = chosen.front();
  ModelShape shape = heads_of(first);
  take_angles(shape, first);
  shape.batch = first.batch;
  shape.tokens = first.tokens;
  const auto all_state = [&](const char* word) {
    return std::ranges::all_of(choice.shapes,
                               [&](const std::string& each) { return shape_states(each, word); });
  };
  const bool of_models = !choice.configs.empty(), of_shapes = !choice.shapes.empty();
  if (of_models || (of_shapes && (all_state("theta") || all_state("scaling")))) shape.angles = true;
  bool one_pairing = true;
  for (const Workload& w : chosen) {
    const ModelShape other = heads_of(w);
    const std::vector<std::uint8_t>& map = w.axis_of_pair;
    if (shape.axis_of_pair.empty()) shape.axis_of_pair = map;
    if (!map.empty() && map != shape.axis_of_pair)
      throw UsageError("verify judges one map of axes at a time (name one: --workload 'GLOB')");
    const bool heads = other.tensors != shape.tensors || other.rotary_dim != shape.rotary_dim;
    if (heads || (shape.angles && !have_the_same_angles(w, first)))
      throw UsageError(fmt::format(
          "verify judges one shape at a time, but the {} of {} and {} differ (name one: "
          "--workload 'GLOB')",
          heads ? "heads" : "frequencies", first.name, w.name));
    if (w.batch != shape.batch) shape.batch = 0;
    if (w.tokens != shape.tokens) shape.tokens = 0;
    one_pairing = one_pairing && w.pairing == first.pairing;
  }
  plan.shapes.only = shape;
  plan.shape_options = options_of(choice);
  if (one_pairing && all_state("pairing")) plan.pairings = {first.pairing};
  if (of_models || (of_shapes && all_state("dtype"))) {
    plan.dtypes.clear();
    for (const Workload& w : chosen)
      if (std::ranges::count(plan.dtypes, w.dtype) == 0) plan.dtypes.push_back(w.dtype);
  }
  // What is wrong with a model's numbers shows in any type.
  if (of_models && !of_shapes && choice.dtype.empty())
    for (const Dtype dtype : tensor_dtypes)
      if (std::ranges::count(plan.dtypes, dtype) == 0) plan.other_dtypes.push_back(dtype);
}

void print_what_is_not_timed(const WorkloadChoice& choice, bool quiet) {
  if (quiet) return;
  for (const ModelConfig& config : read_configs(choice))
    for (const std::string& what : config.not_timed)
      fmt::print(stderr, "{}: not timed: {}\n", config.shape.name, what);
}

}  // namespace ropewalk::tools
