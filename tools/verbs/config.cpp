// What a model's config.json comes to; two models side by side; a model and numbers from elsewhere.
// Exit codes: 0; 1 for models or numbers that differ.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/text_file.h"
#include "benchmarks/configs/config_answer.h"
#include "benchmarks/configs/frequency_difference.h"
#include "benchmarks/workloads/workload_layout.h"
#include "reports/document/document.h"
#include "tools/command/session.h"
#include "tools/command/workload_choice.h"
#include "tools/verbs/verbs.h"

namespace ropewalk::tools {
using namespace bench;
using namespace report;
namespace {

std::string terminal_text(const NamedTexts& texts) {
  Facts facts;
  for (const auto& [name, text] : texts) facts.add(name, text);
  return report::terminal_text(facts);
}

void print_config(const ModelConfig& config, bool pairs) {
  fmt::print("Configuration {}{}\n", config.shape.name,
             config.model_type.empty() ? "" : fmt::format(" ({})", config.model_type));
  fmt::print("{}", terminal_text(answer_facts(config)));
  Table table{.columns = std::vector<Column>(6, {.is_number = true}), .indent = 2};
  for (const auto& row : pair_rows(config)) table.rows.push_back({{row.begin(), row.end()}});
  if (pairs) fmt::print("{}", report::terminal_text(table));
  NamedTexts sources;
  const std::pair<const char*, const std::vector<std::string>&> parts[] = {
      {"read", config.read},
      {"taken", config.assumed},
      {"not timed", config.not_timed},
      {"ignored", config.ignored}};
  for (const auto& [what, lines] : parts)
    for (const std::string& line : lines) sources.emplace_back(what, line);
  fmt::print("{}\n", terminal_text(sources));
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
    fmt::print("{}", terminal_text(difference_facts(a, b, found, a_name, b_name)));
  if (!json && !account.empty()) fmt::print("{}: {}\n", a_name, account);
  return found.count > 0;
}

bool differ(const ModelConfig& a, const ModelConfig& b, bool json) {
  const std::string a_name = a.shape.name,
                    b_name = b.shape.name == a_name ? a_name + " (the other)" : b.shape.name;
  NamedTexts facts;
  const NamedTexts of_a = shape_facts(a), of_b = shape_facts(b);
  for (std::size_t i = 0; i < of_a.size(); ++i)
    if (of_a[i] != of_b[i]) facts.insert(facts.end(), {of_a[i], {"", of_b[i].second}});
  bool out = !facts.empty();
  if (!json) fmt::print("{} and {}\n{}", a_name, b_name, terminal_text(facts));
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
