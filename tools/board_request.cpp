#include "tools/board_request.h"

#include <algorithm>
#include <charconv>
#include <sstream>
#include <stdexcept>

namespace ropewalk {
namespace {

// One value a line: a line break in one becomes a space.
std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

}  // namespace

std::string to_text(const BoardRequest& r) {
  std::string out = "seed " + std::to_string(r.seed) + "\nquick " + (r.quick ? "1" : "0") +
                    "\nsilent " + (r.silent ? "1" : "0") + "\n";
  std::istringstream toml(r.workloads_toml);
  for (std::string line; std::getline(toml, line);) out += "workload " + line + "\n";
  for (const auto& [name, broken] : r.contestants)
    out += "contestant " + name + " " + one_line(broken) + "\n";
  for (const std::string& argument : r.benchmark_args)
    out += "argument " + one_line(argument) + "\n";
  return out;
}

BoardRequest board_request_from(const std::string& text) {
  BoardRequest r;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const auto space = line.find(' ');
    const std::string word = line.substr(0, space);
    const std::string rest = space == std::string::npos ? "" : line.substr(space + 1);
    if (word == "seed") {
      std::from_chars(rest.data(), rest.data() + rest.size(), r.seed);
    } else if (word == "quick") {
      r.quick = rest == "1";
    } else if (word == "silent") {
      r.silent = rest == "1";
    } else if (word == "workload") {
      r.workloads_toml += rest + "\n";
    } else if (word == "contestant") {
      const auto end = rest.find(' ');
      r.contestants[rest.substr(0, end)] = end == std::string::npos ? "" : rest.substr(end + 1);
    } else if (word == "argument") {
      r.benchmark_args.push_back(rest);
    } else {
      throw std::runtime_error("board request: unknown line '" + line + "'");
    }
  }
  return r;
}

}  // namespace ropewalk
