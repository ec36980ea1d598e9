// What a model's config.json comes to; two models side by side; a model and numbers from elsewhere.
// Exit codes: 0; 1 for models or numbers that differ.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/text_file.h"
#include "benchmarks/configs/config_answer.h"
#include "benchmarks/configs/frequency_difference.h"
#include "benchmarks/workloads/workload_layout.h"
#include "tools/command/session.h"
#include "tools/command/workload_choice.h"
#include "tools/verbs/verbs.h"

namespace ropewalk::tools {
using namespace bench;
namespace {

void print_config(const ModelConfig& config, bool pairs) {
  fmt::print("Configuration {}{}\n", config.shape.name,
             config.model_type.empty() ? "" : fmt::format(" ({})", config.model_type));
  for (const std::string& line : answer_lines(config)) fmt::print("  {}\n", line);
  if (pairs)
    for (const std::string& line : pair_lines(config)) fmt::print("  {}\n", line);
  const std::pair<const char*, const std::vector<std::string>&> parts[] = {
      {"read", config.read},
      {"taken", config.assumed},
      {"not timed", config.not_timed},
      {"ignored", config.ignored}};
  for (const auto& [what, lines] : parts)
    for (const std::string& line : lines) fmt::print("  {:<10} {}\n", what, line);
  fmt::print("\n");
}

/// What two lists of frequencies say; prints it. `account`: what the first is; empty: unknown.
bool print_difference(std::span<const double> a, std::span<const double> b,
                      const FrequencyDifference& found, const std::string& a_name,
                      const std::string& b_name, bool json, const std::string& account = "") {
  if (json)
    fmt::print(R"({{"compared":[{},{}],"pairs":{},"differ":{},"first":{},"largest":{}{}}})"
               "\n",
               json_text(a_name), json_text(b_name), b.size(), found.count, found.first,
               found.largest, account.empty() ? "" : ",\"account\":" + json_text(account));
  else if (found.count > 0)
    for (const std::string& line : difference_lines(a, b, found, a_name, b_name))
      fmt::print("  {}\n", line);
  if (!json && !account.empty()) fmt::print("{}: {}\n", a_name, account);
  return found.count > 0;
}

bool differ(const ModelConfig& a, const ModelConfig& b, bool json) {
  const std::string a_name = a.shape.name,
                    b_name = b.shape.name == a_name ? a_name + " (the other)" : b.shape.name;
  bool out = false;
  if (!json) fmt::print("{} and {}\n", a_name, b_name);
  const auto a_lines = shape_lines(a), b_lines = shape_lines(b);
  for (std::size_t i = 0; i < a_lines.size(); ++i) {
    if (a_lines[i] == b_lines[i]) continue;
    out = true;
    if (!json) fmt::print("  {}\n  {:<10} {}\n", a_lines[i], "", b_lines[i].substr(11));
  }
  const auto a_list = inv_freq_of(a.shape, false), b_list = inv_freq_of(b.shape, false);
  if (a_list.size() == b_list.size())
    out |= print_difference(a_list, b_list, difference_of(a_list, b_list), a_name, b_name, json);
  if (!out && !json) fmt::print("  no difference\n");
  return out;
}

/// The numbers of a file, as many as the model has pairs.
PrintedFrequencies numbers_for(const ModelConfig& config, const std::string& file) {
  PrintedFrequencies out = parse_frequencies(read_text_file(file), shown_path(file));
  const std::int64_t pairs = config.shape.rotary_dim / 2;
  if (std::ssize(out.values) != pairs)
    throw BadFile(fmt::format("{}: has {} numbers; rotary_dim {} has {} pairs", shown_path(file),
                              out.values.size(), config.shape.rotary_dim, pairs));
  return out;
}

bool differs_from(const PrintedFrequencies& numbers, const ModelConfig& config,
                  const std::string& file, bool json) {
  const std::string name = shown_path(file);
  const auto own = inv_freq_of(config.shape, false);
  auto allowed = f32_rounding(config.shape);
  double unseen = 0;
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (own[i] == 0) continue;
    unseen = std::max(unseen, numbers.half_digits[i] / own[i]);
    allowed[i] += numbers.half_digits[i] / own[i];
  }
  const auto found = difference_of(numbers.values, own, allowed);
  const std::string account = found.count == 0 ? "" : account_of(numbers, config.shape);
  if (print_difference(numbers.values, own, found, name, config.shape.name, json, account))
    return true;
  if (json) return false;
  fmt::print("{}: its {} numbers are those of {}, within the rounding of f32\n", name, own.size(),
             config.shape.name);
  if (unseen > 1e-7)
    fmt::print(
        "  and of what was printed: a pair that is off by {} would not show; print "
        "inv_freq.tolist()\n",
        unseen >= 0.5 ? percent_text(100 * unseen) : fmt::format("{:.2g} %", 100 * unseen));
  return false;
}

}  // namespace

int run(const ConfigOptions& options) {
  const std::vector<ModelConfig> configs = read_configs(options);
  if (!options.inv_freq.empty() && configs.size() != 1)
    throw UsageError("--inv-freq is compared with one config");
  const bool alone = configs.size() == 1 && options.inv_freq.empty();
  const bool shows_workloads = alone && !options.json && !options.quiet;
  if (shows_workloads) (void)all_workloads(options);  // before anything is printed
  PrintedFrequencies numbers;
  if (!options.inv_freq.empty()) numbers = numbers_for(configs[0], options.inv_freq);
  for (const ModelConfig& config : configs)
    if (options.json)
      fmt::print("{}\n", config_json(config));
    else
      print_config(config, options.pairs);
  bool out = false;
  for (std::size_t i = 1; i < configs.size(); ++i)
    out |= differ(configs[0], configs[i], options.json);
  if (!options.inv_freq.empty())
    out = differs_from(numbers, configs[0], options.inv_freq, options.json);
  if (shows_workloads) print_workloads(options);
  return out ? 1 : 0;
}

}  // namespace ropewalk::tools
