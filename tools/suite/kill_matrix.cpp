#include "tools/suite/kill_matrix.h"

#include <fmt/format.h>

#include <algorithm>

#include "properties/mutants/composed/composed.h"

namespace ropewalk::tools {
using namespace report;
namespace {

// The worst verdict over a kernel's pairings and types, i.e. what killed the mutant.
std::ptrdiff_t rank(Verdict verdict) {
  constexpr Verdict order[] = {Verdict::unsupported, Verdict::skipped, Verdict::pass,
                               Verdict::vacuous,     Verdict::hang,    Verdict::crash,
                               Verdict::fail};
  return std::ranges::find(order, verdict) - std::begin(order);
}

char symbol(const std::map<std::string, Verdict>& row, const std::string& property) {
  const auto found = row.find(property);
  if (found == row.end()) return ' ';
  const Verdict v = found->second;
  if (v == Verdict::fail) return 'x';
  if (v == Verdict::pass) return '.';
  return is_failure(v) ? word(v).front() : '-';
}

bool fails(const std::map<std::string, Verdict>& row, std::string_view property) {
  const auto found = row.find(std::string(property));
  return found != row.end() && is_failure(found->second);
}

constexpr const char* legend =
    "x: refuted, C: crash, H: hang, V: compared nothing, .: holds, -: unsupported or skipped";

}  // namespace

KillMatrix::KillMatrix(std::vector<std::string> properties) : properties_(std::move(properties)) {}

// A kernel that fails when it is asked what it supports fails before any property. The failure is
// booked to the first property.
void KillMatrix::add(const VerdictRow& row) {
  const bool judged = std::ranges::find(properties_, row.property) != properties_.end();
  const bool died = !judged && is_failure(row.verdict) && !properties_.empty();
  const auto worst = verdicts_[row.kernel]
                         .try_emplace(died ? properties_.front() : row.property, row.verdict)
                         .first;
  if (rank(row.verdict) > rank(worst->second)) worst->second = row.verdict;
}

std::ptrdiff_t KillMatrix::kills(const Row& row) const {
  return std::ranges::count_if(properties_, [&](const std::string& p) { return fails(row, p); });
}

bool KillMatrix::holds(const Row& row) const {
  return !killed(row) &&
         std::ranges::any_of(properties_, [&](const auto& p) { return symbol(row, p) == '.'; });
}

std::size_t KillMatrix::count(bool mutants, bool (KillMatrix::*what)(const Row&) const) const {
  std::size_t n = 0;
  for (const auto& [kernel, row] : verdicts_)
    if (is_mutant(kernel) == mutants && (what == nullptr || (this->*what)(row))) ++n;
  return n;
}

bool KillMatrix::complete() const {
  return count(true, &KillMatrix::killed) == count(true, nullptr) &&
         count(false, &KillMatrix::holds) == count(false, nullptr);
}

std::vector<std::string> KillMatrix::kills_of(const std::string& property, bool alone) const {
  std::vector<std::string> out;
  for (const auto& [kernel, row] : verdicts_)
    if (is_mutant(kernel) && fails(row, property) && (!alone || kills(row) == 1))
      out.push_back(kernel);
  return out;
}

std::vector<std::string> KillMatrix::idle_properties() const {
  std::vector<std::string> out;
  for (const std::string& p : properties_)
    if (kills_of(p, false).empty()) out.push_back(p);
  return out;
}

std::string KillMatrix::strengths() const {
  std::string out;
  for (const mutants::Level strength : {2, 3, 4}) {
    std::size_t all = 0, kills = 0;
    for (const auto& [kernel, row] : verdicts_) {
      const mutants::Composed* composed = mutants::composed_named(kernel);
      if (composed == nullptr || mutants::level_of(*composed) != strength) continue;
      ++all;
      kills += std::size_t{killed(row)};
    }
    if (all > 0) out += fmt::format("| {} | {} | {} |\n", strength, all, kills);
  }
  return out;
}

std::string KillMatrix::not_judged() const {
  std::string out = "\nNot judged in this run, with the conditions that each needs:\n\n```\n";
  for (const mutants::Composed& each : mutants::composed_kernels())
    if (is_mutant(each.name) && !verdicts_.contains(each.name))
      out += fmt::format("{} {}\n", mutants::level_of(each), each.name);
  for (const std::string_view large : mutants::too_large_for_smoke)
    if (!verdicts_.contains(std::string(large)))
      out += fmt::format("a case too large for smoke: {}\n", large);
  return out + "```\n\n";
}

std::string KillMatrix::as_text() const {
  std::size_t widest = 0;
  for (const auto& [kernel, row] : verdicts_) widest = std::max(widest, kernel.size());
  std::string out;
  for (std::size_t i = 0; i < properties_.size(); ++i)
    out += fmt::format("{:>{}} {}\n", i + 1, widest + 12 + 3 * i, properties_[i]);
  for (const auto& [kernel, row] : verdicts_) {
    const char* word = is_mutant(kernel) ? (killed(row) ? "killed" : "SURVIVED")
                                         : (holds(row) ? "holds" : "REJECTED");
    out += fmt::format("{:<{}} {:>8}", kernel, widest, word);
    for (const std::string& p : properties_) out += fmt::format(" {:>2}", symbol(row, p));
    out += "\n";
  }
  out += fmt::format("\n{}\n\n", legend);
  const std::size_t mutants = count(true, nullptr), correct = count(false, nullptr);
  out += fmt::format("{} of {} mutants killed, {} of {} correct kernels hold\n",
                     count(true, &KillMatrix::killed), mutants, count(false, &KillMatrix::holds),
                     correct);
  return out;
}

std::string KillMatrix::as_markdown(const std::string& command) const {
  const std::size_t mutants = count(true, nullptr);
  std::string out = fmt::format(
      "# The kill matrix\n\nWhich property sees which planted error (properties/mutants). Written "
      "by\n\n```sh\n{}\n```\nThe figures are of seed 20210420.\n\n"
      "Of {} mutants the {} properties kill {}. [Decision 42](decisions/0042-covering-arrays.md) "
      "has what weaker\nsuites saw.\n\n",
      command, mutants, properties_.size(), count(true, &KillMatrix::killed));
  if (const std::string composed = strengths(); !composed.empty())
    out +=
        "## Conditions that must meet\n\nErrors that show only where so many conditions meet "
        "(properties/mutants/composed), such as a\nwindow and more than 64 tokens. Those of more "
        "than two are killed in the profiles standard\nand full.\n\n"
        "| conditions | mutants | killed |\n|---|---|---|\n" +
        composed + not_judged();
  out += "## Properties\n\n| | property | kills | that no other kills |\n|---|---|---|---|\n";
  for (std::size_t i = 0; i < properties_.size(); ++i) {
    std::vector<std::string> alone = kills_of(properties_[i], true);
    for (std::string& name : alone) name.erase(0, std::string_view("mutant_").size());
    out += fmt::format("| {} | `{}` | {} | {} |\n", i + 1, properties_[i],
                       kills_of(properties_[i], false).size(), fmt::join(alone, ", "));
  }
  return out +
         "\n`ropewalk mutants --profile smoke` prints the verdict of each property on each "
         "mutant.\n";
}

}  // namespace ropewalk::tools
