#include "harness/expected/expected.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <regex>
#include <sstream>
#include <utility>

#include "base/glob.h"
#include "base/text_file.h"
#include "harness/cases/names.h"

namespace ropewalk::harness {
using namespace report;
namespace {

constexpr std::size_t keys_max = 20'000;  // the kernels of the tree have 5,108

bool is_date(const std::string& text) {
  static const std::regex form("[0-9]{4}-[0-9]{2}-[0-9]{2}");
  if (!std::regex_match(text, form)) return false;
  const auto month = static_cast<unsigned>(std::stoi(text.substr(5, 2)));
  const auto day = static_cast<unsigned>(std::stoi(text.substr(8)));
  return std::chrono::year_month_day(std::chrono::year(std::stoi(text)), std::chrono::month(month),
                                     std::chrono::day(day))
      .ok();
}

/// Whether the word is a list of words of one vocabulary. If so, takes them.
template <std::size_t N>
bool take_list(const std::string& word, const Words<N>& vocabulary,
               std::vector<std::string>& list) {
  std::istringstream in(word);
  std::vector<std::string> parts;
  for (std::string part; std::getline(in, part, ',');) parts.push_back(part);
  if (!std::ranges::all_of(parts, [&](const std::string& part) {
        return std::ranges::find(vocabulary, part) != vocabulary.end();
      }))
    return false;
  list.insert(list.end(), parts.begin(), parts.end());
  return true;
}

/// One line that is no comment.
Expectation parse_line(std::string_view text, const auto& require) {
  require(
      std::ranges::none_of(
          text,
          [](char c) { return (static_cast<unsigned char>(c) < ' ' && c != '\t') || c == '\x7f'; }),
      "contains a control character");
  Expectation e;
  e.text = text;
  std::istringstream in(e.text);
  in >> e.kernel;
  for (std::string word; e.until.empty() && in >> word;)
    if (is_date(word))
      e.until = word;
    else if (!take_list(word, contract_words, e.contracts) &&
             !take_list(word, pairing_words, e.pairings) && !take_list(word, dtype_words, e.dtypes))
      e.properties.push_back(word);
  const bool is_whole = !e.contracts.empty() && !e.pairings.empty() && !e.dtypes.empty();
  require(!e.properties.empty() && (is_whole || !e.until.empty()),
          fmt::format("a line is KERNEL PROPERTY... YYYY-MM-DD reason, or KERNEL CONTRACT PAIRINGS "
                      "DTYPES PROPERTY..., not '{}'",
                      shown(text)));
  if (e.until.empty()) return e;
  std::getline(in >> std::ws, e.reason);
  e.reason.erase(e.reason.find_last_not_of(" \t") + 1);
  require(!e.reason.empty(), "no reason is given behind the date " + e.until);
  return e;
}

/// The properties that the words name.
std::set<std::string> held_by(const std::vector<std::string>& words, const LedgerNames& names,
                              const auto& require) {
  std::set<std::string> held;
  for (const std::string& word : words) {
    const std::size_t before = held.size();
    if (word[0] == '-')
      std::erase_if(held, [&](const auto& name) { return glob_matches(word.substr(1), name); });
    else if (word.find('*') == word.npos)
      held.insert(word);
    else
      std::ranges::copy_if(word == "*" ? names.common : names.all, std::inserter(held, held.end()),
                           [&](const auto& name) { return glob_matches(word, name); });
    require(held.size() != before || names.all.empty(), "a property changes nothing");
  }
  return held;
}

// By the factor of a level, as "offers:axes=". A property has a part of its own.
std::map<std::string, std::set<std::string>> by_factor(const std::set<std::string>& of) {
  std::map<std::string, std::set<std::string>> parts;
  for (const std::string& name : of) parts[name.substr(0, name.find('=') + 1)].insert(name);
  parts.erase("");
  for (const std::string& name : of)
    if (name.find('=') == name.npos) parts[name].insert(name);
  return parts;
}

/// The fewer words: what is held, or '*', what is missing, and what is held besides. All levels of
/// a factor are one word.
std::string properties_text(const std::set<std::string>& held, const LedgerNames& names) {
  auto of_factors = by_factor(names.all);
  const auto listed = [&](const std::set<std::string>& list, std::string_view before) {
    std::string out;
    for (const auto& [factor, of] : by_factor(list)) {
      const bool as_one = of.size() > 1 && of == of_factors[factor];
      for (const std::string& name : as_one ? std::set{factor + '*'} : of)
        out += fmt::format(" {}{}", before, name);
    }
    return out;
  };
  if (2 * held.size() <= names.common.size()) return listed(held, "");
  std::set<std::string> missing, more;
  std::ranges::set_difference(names.common, held, std::inserter(missing, missing.end()));
  std::ranges::set_difference(held, names.common, std::inserter(more, more.end()));
  return " *" + listed(missing, "-") + listed(more, "");
}

bool names(const Expectation& e, const LedgerKey& key) {
  const auto is_in = [](const std::vector<std::string>& list, const std::string& word) {
    return list.empty() || std::ranges::find(list, word) != list.end();
  };
  return glob_matches(e.kernel, key.kernel) && is_in(e.contracts, key.contract) &&
         is_in(e.pairings, key.pairing) && is_in(e.dtypes, key.dtype) &&
         matches(e.properties, key.property);
}

}  // namespace

std::string offered(const std::string& level) {
  return "offers:" + level;
}

LedgerKey key_of(const VerdictRow& row) {
  return {row.kernel, row.angle_contract, row.pairing, row.dtype, row.property};
}

std::string to_text(const LedgerKey& key) {
  return fmt::format("{},{},{},{},{}", key.kernel, key.contract, key.pairing, key.dtype,
                     key.property);
}

Expectations parse_expected(std::string_view text, const std::string& file,
                            const LedgerNames& names) {
  Expectations expected;
  for_each_line(text, [&](std::string_view content, std::int64_t number) {
    const auto require = [&](bool holds, const std::string& what) {
      if (!holds) throw BadFile(file, number, what);
    };
    const auto first = content.find_first_not_of(" \t");
    if (first == content.npos || content[first] == '#') return;
    Expectation e = parse_line(content, require);
    e.line = number;
    if (!e.until.empty()) {
      expected.failures.push_back(std::move(e));
      return;
    }
    Ledger& ledger = expected.ledger;
    const std::size_t before = ledger.size();
    for (const std::string& property : held_by(e.properties, names, require))
      for (const std::string& contract : e.contracts)
        for (const std::string& pairing : e.pairings)
          for (const std::string& dtype : e.dtypes)
            ledger.insert({e.kernel, contract, pairing, dtype, property});
    require(ledger.size() != before || names.all.empty(), "the line changes nothing");
    require(ledger.size() <= keys_max, fmt::format("says more than {} things", keys_max));
  });
  return expected;
}

// Cells with the same properties share a line.
std::string to_text(const Ledger& ledger, const LedgerNames& names) {
  std::map<std::string, std::map<std::pair<std::string, std::string>, std::set<std::string>>> cells;
  for (const LedgerKey& key : ledger)
    cells[key.kernel + ' ' + key.contract][{key.pairing, key.dtype}].insert(key.property);
  std::string out = "# KERNEL CONTRACT PAIRINGS DTYPES PROPERTY... (docs/ledger.md)\n";
  for (const auto& [kernel, held_in] : cells) {
    std::map<std::pair<std::string, std::string>, std::set<std::string>> dtypes, pairings;
    for (const auto& [cell, held] : held_in)
      dtypes[{cell.first, properties_text(held, names)}].insert(cell.second);
    for (const auto& [at, of] : dtypes)
      pairings[{fmt::format("{}", fmt::join(of, ",")), at.second}].insert(at.first);
    for (const auto& [at, of] : pairings)
      out += fmt::format("{} {} {}{}\n", kernel, fmt::join(of, ","), at.first, at.second);
  }
  return out;
}

KnownFailures::KnownFailures(std::string_view text, std::string file, std::string today)
    : file_(std::move(file)), today_(std::move(today)) {
  for (Expectation& known : parse_expected(text, file_).failures)
    uses_.push_back({std::move(known)});
}

std::string KnownFailures::excuse(const LedgerKey& failed) {
  std::string excuse;
  for (Use& use : uses_) {
    if (!names(use.known, failed)) continue;
    ++use.failed;
    if (excuse.empty() && today_ <= use.known.until)
      excuse = fmt::format("until {}: {}", use.known.until, use.known.reason);
  }
  return excuse;
}

void KnownFailures::judge(VerdictRow& row) {
  for (Use& use : uses_) use.judged += names(use.known, key_of(row)) ? 1 : 0;
  if (is_failure(row.verdict)) row.known = excuse(key_of(row));
}

std::vector<std::string> KnownFailures::remarks() const {
  std::vector<std::string> out;
  for (const auto& [known, judged, failed] : uses_) {
    const std::string what = fmt::format("{}:{}: {} {}", file_, known.line, known.kernel,
                                         fmt::join(known.properties, " "));
    if (failed > 0 && known.until < today_)
      out.push_back(
          fmt::format("{}: expired on {}, excuses nothing: {}", what, known.until, known.reason));
    else if (failed == 0 && judged > 0)
      out.push_back(what + ": no longer needed, nothing it names failed");
    else if (judged == 0)
      out.push_back(what + ": names nothing that was judged here");
  }
  return out;
}

}  // namespace ropewalk::harness
