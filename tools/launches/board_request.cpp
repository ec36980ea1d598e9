#include "tools/launches/board_request.h"

#include <algorithm>
#include <charconv>
#include <sstream>
#include <stdexcept>

namespace ropewalk::tools {
namespace {

// One value a line: a line break in one becomes a space.
std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

}  // namespace

std::string to_text(const BoardRequest& r) {
  std::string out = "engine " + r.engine + "\nseed " + std::to_string(r.seed) + "\nquick " +
                    (r.quick ? "1" : "0") + "\nsilent " + (r.silent ? "1" : "0") + "\nrounds " +
                    std::to_string(r.rounds) + "\nlaunch " + std::to_string(r.launch) +
                    "\nepoch_us " + std::to_string(r.epoch_us) + "\ngroup_ms " +
                    std::to_string(r.group_ms) + "\nthreads " + std::to_string(r.threads) +
                    "\nbaseline " + one_line(r.baseline) + "\n";
  std::istringstream toml(r.workloads_toml);
  for (std::string line; std::getline(toml, line);) out += "workload " + line + "\n";
  for (const auto& [name, broken] : r.contestants)
    out += "contestant " + name + " " + one_line(broken) + "\n";
  for (const auto& [kernel, workload] : r.unverified)
    out += "unverified " + kernel + " " + one_line(workload) + "\n";
  for (const std::string& argument : r.benchmark_args)
    out += "argument " + one_line(argument) + "\n";
  for (const auto& [workload, variant] : r.ceilings)
    out += "ceiling " + workload + " " + one_line(variant) + "\n";
  for (const std::string& group : r.done) out += "done " + one_line(group) + "\n";
  return out;
}

namespace {

/// Lines of a number or a word; false for another.
bool take_setting(const std::string& word, const std::string& rest, BoardRequest& r) {
  const std::map<std::string, std::int64_t*> numbers = {{"rounds", &r.rounds},
                                                        {"launch", &r.launch},
                                                        {"epoch_us", &r.epoch_us},
                                                        {"group_ms", &r.group_ms},
                                                        {"threads", &r.threads}};
  if (const auto number = numbers.find(word); number != numbers.end())
    std::from_chars(rest.data(), rest.data() + rest.size(), *number->second);
  else if (word == "seed")
    std::from_chars(rest.data(), rest.data() + rest.size(), r.seed);
  else if (word == "engine")
    r.engine = rest;
  else if (word == "baseline")
    r.baseline = rest;
  else if (word == "quick")
    r.quick = rest == "1";
  else if (word == "silent")
    r.silent = rest == "1";
  else
    return false;
  return true;
}

// "NAME and the rest"
std::pair<std::string, std::string> name_and_rest(const std::string& line) {
  const auto end = line.find(' ');
  return {line.substr(0, end), end == std::string::npos ? "" : line.substr(end + 1)};
}

}  // namespace

BoardRequest board_request_from(const std::string& text) {
  BoardRequest r;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const auto [word, rest] = name_and_rest(line);
    if (take_setting(word, rest, r)) continue;
    if (word == "workload") {
      r.workloads_toml += rest + "\n";
    } else if (word == "contestant") {
      r.contestants.insert(name_and_rest(rest));
    } else if (word == "unverified") {
      r.unverified.insert(name_and_rest(rest));
    } else if (word == "ceiling") {
      r.ceilings.insert(name_and_rest(rest));
    } else if (word == "done") {
      r.done.insert(rest);
    } else if (word == "argument") {
      r.benchmark_args.push_back(rest);
    } else {
      throw std::runtime_error("board request: unknown line '" + line + "'");
    }
  }
  return r;
}

}  // namespace ropewalk::tools
