#include "harness/expected/expected.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <regex>
#include <utility>

#include "base/glob.h"
#include "base/text_file.h"
#include "harness/cases/names.h"

namespace ropewalk::harness {
using namespace report;
namespace {

constexpr std::string_view blank = " \t";
constexpr std::size_t keys_max = 20'000;  // the kernels of the tree have 3,006

std::vector<std::string> split(std::string_view text, std::string_view separators) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const auto end = std::min(text.find_first_of(separators), text.size());
    if (end > 0) parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

bool is_date(const std::string& text) {
  static const std::regex form("[0-9]{4}-[0-9]{2}-[0-9]{2}");
  if (!std::regex_match(text, form)) return false;
  const auto month = static_cast<unsigned>(std::stoi(text.substr(5, 2)));
  const auto day = static_cast<unsigned>(std::stoi(text.substr(8)));
  return std::chrono::year_month_day(std::chrono::year(std::stoi(text)), std::chrono::month(month),
                                     std::chrono::day(day))
      .ok();
}

/// One line that is no comment.
struct Line {
  std::string_view text;
  const std::string& file;
  std::int64_t number;

  void require(bool holds, const std::string& what) const {
    if (!holds) throw BadFile(file, number, what);
  }
};

// The reason is all that stands behind the first three words.
KnownFailure known_failure(const Line& line, const std::vector<std::string>& words) {
  std::size_t at = 0;
  for (const std::string& word : {words[0], words[1], words[2]})
    at = line.text.find(word, at) + word.size();
  std::string_view reason = line.text.substr(at);
  reason.remove_prefix(std::min(reason.find_first_not_of(blank), reason.size()));
  reason = reason.substr(0, reason.find_last_not_of(blank) + 1);
  line.require(!reason.empty(), "no reason is given behind the date " + words[2]);
  return {words[0], words[1], words[2], std::string(reason), line.number};
}

/// Adds the properties that the words name. False from a word that changes nothing, if it is known
/// which properties there are.
bool take_properties(const std::vector<std::string>& words, const std::set<std::string>& all,
                     std::set<std::string>& held) {
  for (const std::string& word : words) {
    const std::size_t before = held.size();
    if (word[0] == '-')
      std::erase_if(held, [&](const auto& name) { return glob_matches(word.substr(1), name); });
    else if (word.find('*') == word.npos)
      held.insert(word);
    else
      std::copy_if(all.begin(), all.end(), std::inserter(held, held.end()),
                   [&](const auto& name) { return glob_matches(word, name); });
    if (held.size() == before && !all.empty()) return false;
  }
  return true;
}

template <std::size_t N>
bool are_among(const std::vector<std::string>& found, const Words<N>& words) {
  return !found.empty() && std::all_of(found.begin(), found.end(), [&](const std::string& word) {
    return std::find(words.begin(), words.end(), word) != words.end();
  });
}

void add_held(const Line& line, const std::vector<std::string>& words,
              const std::set<std::string>& all, Ledger& ledger) {
  const auto pairings = split(words[2], ","), dtypes = split(words[3], ",");
  line.require(are_among({words[1]}, contract_words) && are_among(pairings, pairing_words) &&
                   are_among(dtypes, dtype_words),
               fmt::format("no such contract, pairing or data type in '{}'", shown(line.text)));
  std::set<std::string> held;
  line.require(take_properties({words.begin() + 4, words.end()}, all, held),
               "a property changes nothing");
  const std::size_t before = ledger.size();
  for (const std::string& pairing : pairings)
    for (const std::string& dtype : dtypes)
      for (const std::string& property : held)
        ledger.insert({words[0], words[1], pairing, dtype, property});
  line.require(ledger.size() != before || all.empty(), "the line changes nothing");
  line.require(ledger.size() <= keys_max, fmt::format("says more than {} things", keys_max));
}

/// The fewer words: what is held, or '*' and what is missing.
std::string properties_text(const std::set<std::string>& held, const std::set<std::string>& all) {
  const bool most = 2 * held.size() > all.size();
  std::string out = most ? " *" : "";
  for (const std::string& name : all)
    if (most && !held.contains(name)) out += " -" + name;
  for (const std::string& name : held)
    if (!most || !all.contains(name)) out += ' ' + name;
  return out;
}

void append(std::string& list, const std::string& word) {
  list += (list.empty() ? "" : ",") + word;
}

}  // namespace

std::string offered(const std::string& feature) {
  return "offers:" + feature;
}

std::string to_text(const LedgerKey& key) {
  return fmt::format("{},{},{},{},{}", key.kernel, key.contract, key.pairing, key.dtype,
                     key.property);
}

Expectations parse_expected(std::string_view text, const std::string& file,
                            const std::set<std::string>& all) {
  Expectations expected;
  for_each_line(text, [&](std::string_view content, std::int64_t number) {
    const Line line{content, file, number};
    const auto first = content.find_first_not_of(blank);
    if (first == content.npos || content[first] == '#') return;
    line.require(std::none_of(content.begin(), content.end(),
                              [](char c) {
                                return (static_cast<unsigned char>(c) < ' ' && c != '\t') ||
                                       c == '\x7f';
                              }),
                 "contains a control character");
    const auto words = split(content, blank);
    if (words.size() > 2 && is_date(words[2])) {
      expected.failures.push_back(known_failure(line, words));
      return;
    }
    line.require(words.size() > 4 && are_among(split(words[2], ","), pairing_words),
                 fmt::format("a line is KERNEL PROPERTY YYYY-MM-DD reason, or KERNEL CONTRACT "
                             "PAIRINGS DTYPES PROPERTY..., not '{}'",
                             shown(content)));
    add_held(line, words, all, expected.ledger);
  });
  return expected;
}

// Cells with the same properties share a line.
std::string to_text(const Ledger& ledger, const std::set<std::string>& all) {
  std::map<std::string, std::map<std::pair<std::string, std::string>, std::set<std::string>>> cells;
  for (const LedgerKey& key : ledger)
    cells[key.kernel + ' ' + key.contract][{key.pairing, key.dtype}].insert(key.property);
  std::string out = "# KERNEL CONTRACT PAIRINGS DTYPES PROPERTY... (docs/ledger.md)\n";
  for (const auto& [kernel, held_in] : cells) {
    std::map<std::pair<std::string, std::string>, std::string> dtypes, pairings;
    for (const auto& [cell, held] : held_in)
      append(dtypes[{cell.first, properties_text(held, all)}], cell.second);
    for (const auto& [at, of] : dtypes) append(pairings[{of, at.second}], at.first);
    for (const auto& [at, of] : pairings)
      out += fmt::format("{} {} {}{}\n", kernel, of, at.first, at.second);
  }
  return out;
}

KnownFailures::KnownFailures(std::string_view text, std::string file, std::string today)
    : file_(std::move(file)), today_(std::move(today)) {
  for (KnownFailure& known : parse_expected(text, file_).failures)
    uses_.push_back({std::move(known)});
}

std::string KnownFailures::excuse(const std::string& kernel, const std::string& property) {
  std::string excuse;
  for (Use& use : uses_) {
    const KnownFailure& known = use.known;
    if (!glob_matches(known.kernel, kernel) || !glob_matches(known.property, property)) continue;
    ++use.failed;
    if (excuse.empty() && today_ <= known.until)
      excuse = fmt::format("until {}: {}", known.until, known.reason);
  }
  return excuse;
}

void KnownFailures::judge(VerdictRow& row) {
  for (Use& use : uses_)
    if (glob_matches(use.known.kernel, row.kernel) &&
        glob_matches(use.known.property, row.property))
      ++use.judged;
  if (is_failure(row.verdict)) row.known = excuse(row.kernel, row.property);
}

std::vector<std::string> KnownFailures::remarks() const {
  std::vector<std::string> out;
  for (const Use& use : uses_) {
    const KnownFailure& known = use.known;
    const std::string what =
        fmt::format("{}:{}: {} {}", file_, known.line, known.kernel, known.property);
    if (use.failed > 0 && known.until < today_)
      out.push_back(
          fmt::format("{}: expired on {}, excuses nothing: {}", what, known.until, known.reason));
    else if (use.failed == 0 && use.judged > 0)
      out.push_back(what + ": no longer needed, nothing it names failed");
    else if (use.judged == 0)
      out.push_back(what + ": names nothing that was judged here");
  }
  return out;
}

}  // namespace ropewalk::harness
