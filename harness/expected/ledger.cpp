#include "harness/expected/ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "base/glob.h"
#include "base/text_file.h"

namespace ropewalk::harness {
namespace {

constexpr std::string_view header = "kernel,contract,pairing,dtype,property";
constexpr std::size_t keys_max = 20'000;  // the kernels of the tree have 3,006

using Cells = std::set<std::pair<std::string, std::string>>;  // pairing and data type

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (;;) {
    const auto end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

/// True for 1 to `most` words with a space between them.
bool are_words(const std::string& text, std::size_t most) {
  const auto words = split(text, ' ');
  return words.size() <= most && std::all_of(words.begin(), words.end(), [](const auto& word) {
           return !word.empty() && word.find_first_not_of(
                                       "abcdefghijklmnopqrstuvwxyz"
                                       "0123456789_:*") == std::string::npos;
         });
}

void add(const LedgerKey& row, const std::set<std::string>& all, Ledger& ledger) {
  std::set<std::string> named;
  if (row.property.find('*') == std::string::npos) named.insert(row.property);
  for (const std::string& property : all)
    if (glob_matches(row.property, property)) named.insert(property);
  for (const std::string& pairing : split(row.pairing, ' '))
    for (const std::string& dtype : split(row.dtype, ' '))
      for (const std::string& property : named)
        ledger.insert({row.kernel, row.contract, pairing, dtype, property});
}

void take_away(const LedgerKey& row, Ledger& ledger) {
  std::erase_if(ledger, [&](const LedgerKey& key) {
    return glob_matches(row.kernel, key.kernel) && glob_matches(row.contract, key.contract) &&
           matches(split(row.pairing, ' '), key.pairing) &&
           matches(split(row.dtype, ' '), key.dtype) && glob_matches(row.property, key.property);
  });
}

void append(std::string& words, const std::string& word) {
  words += (words.empty() ? "" : " ") + word;
}

/// Pairings with the same data types share a row.
std::string rows_of(const std::string& kernel, const Cells& cells, const std::string& what) {
  std::map<std::string, std::string> dtypes_of, pairings_of;
  for (const auto& [pairing, dtype] : cells) append(dtypes_of[pairing], dtype);
  for (const auto& [pairing, dtypes] : dtypes_of) append(pairings_of[dtypes], pairing);
  std::string out;
  for (const auto& [dtypes, pairings] : pairings_of)
    out += fmt::format("{},{},{},{}\n", kernel, pairings, dtypes, what);
  return out;
}

/// A row of all, and rows for what is missing, unless the kernel holds less than half of all.
std::string rows_of(const std::string& kernel, std::map<std::string, Cells> held,
                    const std::set<std::string>& all) {
  Cells cells;
  for (const auto& [property, where] : held) cells.insert(where.begin(), where.end());
  const bool most = 2 * held.size() > all.size();
  std::string out = most ? rows_of(kernel, cells, "*") : "";
  for (const std::string& property : all) held.try_emplace(property);
  for (const auto& [property, where] : held) {
    if (!most || !all.contains(property)) {
      out += rows_of(kernel, where, property);
    } else if (where.empty()) {
      out += fmt::format("{},*,*,-{}\n", kernel, property);
    } else {
      Cells missing;
      std::set_difference(cells.begin(), cells.end(), where.begin(), where.end(),
                          std::inserter(missing, missing.end()));
      out += rows_of(kernel, missing, '-' + property);
    }
  }
  return out;
}

}  // namespace

std::string offered(const std::string& feature) {
  return "offers:" + feature;
}

std::string to_text(const LedgerKey& key) {
  return fmt::format("{},{},{},{},{}", key.kernel, key.contract, key.pairing, key.dtype,
                     key.property);
}

LedgerKey key_from(std::string_view text) {
  auto fields = split(text, ',');
  fields.resize(5);
  return {fields[0], fields[1], fields[2], fields[3], fields[4]};
}

std::string to_text(const Ledger& ledger, const std::set<std::string>& all) {
  std::map<std::string, std::map<std::string, Cells>> kernels;
  for (const LedgerKey& key : ledger)
    kernels[key.kernel + ',' + key.contract][key.property].emplace(key.pairing, key.dtype);
  std::string out = std::string(header) + '\n';
  for (const auto& [kernel, held] : kernels) out += rows_of(kernel, held, all);
  return out;
}

Ledger parse_ledger(std::string_view text, const std::string& file,
                    const std::set<std::string>& all) {
  Ledger ledger;
  bool found_header = false;
  for_each_line(text, [&](std::string_view line, std::int64_t number) {
    const auto require = [&](bool holds, const std::string& what) {
      if (!holds) throw BadFile(file, number, what);
    };
    if (number == 1) {
      require(line == header, fmt::format("is no ledger: the first line must be '{}'", header));
      found_header = true;
      return;
    }
    require(std::count(line.begin(), line.end(), ',') == 4,
            fmt::format("a row has 5 fields, not '{}'", shown(line)));
    LedgerKey row = key_from(line);
    const bool removes = row.property.starts_with('-');
    if (removes) row.property.erase(0, 1);
    require(are_words(row.kernel, 1) && are_words(row.contract, 1) && are_words(row.pairing, 2) &&
                are_words(row.dtype, 4) && are_words(row.property, 1),
            fmt::format("a field is not of a-z, 0-9, '_', ':' and '*' in '{}'", shown(line)));
    require(removes || (row.kernel + row.contract + row.pairing + row.dtype).find('*') ==
                           std::string::npos,
            "a row that takes nothing away names its kernel, contract and cells without '*'");
    const std::size_t before = ledger.size();
    removes ? take_away(row, ledger) : add(row, all, ledger);
    require(ledger.size() != before, "the row changes nothing");
    require(ledger.size() <= keys_max, fmt::format("says more than {} things", keys_max));
  });
  if (!found_header) throw BadFile(file, 1, "is empty, and no ledger");
  return ledger;
}

}  // namespace ropewalk::harness
