#include "harness/expected/ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <vector>

#include "base/text_file.h"

namespace ropewalk::harness {
namespace {

constexpr std::string_view header = "kernel,contract,pairing,dtype,property,margin";
constexpr std::string_view offers = "offers:";
constexpr std::string_view no_margin = "-";

std::vector<std::string_view> split(std::string_view line) {
  std::vector<std::string_view> fields;
  for (;;) {
    const auto comma = line.find(',');
    fields.push_back(line.substr(0, comma));
    if (comma == std::string_view::npos) return fields;
    line.remove_prefix(comma + 1);
  }
}

bool is_word(std::string_view text) {
  return !text.empty() &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_:") == std::string_view::npos;
}

/// Empty if the text is not a margin in [0, 1].
std::optional<double> read_margin(std::string_view text) {
  double margin = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), margin);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  return whole && margin >= 0 && margin <= 1 ? std::optional(margin) : std::nullopt;
}

}  // namespace

std::string offered(const std::string& feature) {
  return std::string(offers) + feature;
}

std::string to_text(const LedgerKey& key) {
  return fmt::format("{},{},{},{},{}", key.kernel, key.contract, key.pairing, key.dtype,
                     key.property);
}

LedgerKey key_from(std::string_view text) {
  auto fields = split(text);
  fields.resize(5);
  const auto word = [&](std::size_t i) { return std::string(fields[i]); };
  return {word(0), word(1), word(2), word(3), word(4)};
}

std::string to_text(const Ledger& ledger) {
  std::string out = std::string(header) + '\n';
  for (const auto& [key, margin] : ledger)
    out += fmt::format("{},{}\n", to_text(key),
                       margin ? fmt::format("{:.3f}", *margin) : std::string(no_margin));
  return out;
}

Ledger parse_ledger(std::string_view text, const std::string& file) {
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
    const auto fields = split(line);
    require(fields.size() == 6, fmt::format("a row has 6 fields, not '{}'", shown(line)));
    require(std::all_of(fields.begin(), fields.end() - 1, is_word),
            fmt::format("a field is not of a-z, 0-9, '_' and ':' in '{}'", shown(line)));
    const LedgerKey key = key_from(line);
    const bool feature = fields[4].starts_with(offers);
    const auto margin = feature ? std::nullopt : read_margin(fields[5]);
    require(feature ? fields[5] == no_margin : margin.has_value(),
            fmt::format("the margin of a property lies in [0, 1] and that of a feature is '-', "
                        "not '{}'",
                        shown(fields[5])));
    require(ledger.emplace(key, margin).second, "the row appears twice");
  });
  if (!found_header) throw BadFile(file, 1, "is empty, and no ledger");
  return ledger;
}

}  // namespace ropewalk::harness
