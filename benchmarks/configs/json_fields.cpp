// The only file of benchmarks that knows JSON.
#include "benchmarks/configs/json_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/text_file.h"

namespace ropewalk::bench {
namespace {

using nlohmann::json;
using Event = json::parse_event_t;

constexpr int levels_max = 32;  // no configuration is nested deeper
constexpr std::size_t levels_kept = 6;

// Words that Python writes and JSON does not have. The parser is given a string in place of each,
// marked by a byte that no text of a person begins with.
constexpr double infinite = std::numeric_limits<double>::infinity();
const std::map<std::string, double> words = {{"\x7fInfinity", infinite},
                                             {"\x7f-Infinity", -infinite},
                                             {"\x7fNaN", std::numeric_limits<double>::quiet_NaN()}};

std::string with_words_marked(std::string_view text) {
  std::string out;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto word = std::ranges::find_if(words, [&](const auto& each) {
      return !in_string && text.substr(i).starts_with(each.first.substr(1));
    });
    if (word != words.end()) {
      out += '"' + word->first + '"';
      i += word->first.size() - 2;
      continue;
    }
    if (text[i] == '"') in_string = !in_string;
    out += text[i];
    if (in_string && text[i] == '\\' && i + 1 < text.size()) out += text[++i];
  }
  return out;
}

std::optional<double> number_in(const json& value) {
  if (value.is_number()) return value.get<double>();
  const auto word = value.is_string() ? words.find(value.get<std::string>()) : words.end();
  return word == words.end() ? std::nullopt : std::optional(word->second);
}

JsonValue list_of(const json& list) {
  if (list.size() > list_members_max) return JsonKind::list;
  std::vector<double> numbers;
  std::vector<std::string> strings;
  for (const json& each : list)
    if (const auto number = number_in(each))
      numbers.push_back(*number);
    else if (each.is_string())
      strings.push_back(each.get<std::string>());
  if (numbers.size() == list.size()) return numbers;
  if (strings.size() == list.size()) return strings;
  return JsonKind::list;
}

JsonValue value_of(const json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_array()) return list_of(value);
  if (value.is_null()) return JsonKind::null;
  if (value.is_string() && !number_in(value)) return value.get<std::string>();
  // No size needs more than 63 bits, so a larger integer is kept as a double.
  const bool too_wide =
      value.is_number_unsigned() && value.get<std::uint64_t>() > std::uint64_t{INT64_MAX};
  if (!value.is_number_integer() || too_wide) return *number_in(value);
  return value.get<std::int64_t>();
}

}  // namespace

JsonFields parse_json_fields(std::string_view text, const std::string& file) {
  JsonFields fields;
  std::vector<std::string> names;  // the kept names on the way to the member being read
  const auto place = [&] { return fmt::format("{}", fmt::join(names, ".")); };
  const auto take = [&](int depth, Event event, json& value) {
    const auto level = static_cast<std::size_t>(depth);
    const bool begins = event == Event::object_start || event == Event::array_start;
    if (level == 0 && (event == Event::array_start || event == Event::value))
      throw BadFile(file + ": is not a JSON object");
    if (depth == levels_max && begins) throw BadFile(file + ": nested deeper than 32 levels");
    if (event == Event::key) {
      const auto name = value.get<std::string>();
      names.resize(std::min(names.size(), level - 1));
      // No name below a list is kept. A name with a dot would look like another place.
      if (names.size() + 1 != level || level > levels_kept || name.find('.') != std::string::npos)
        return true;
      names.push_back(name);
      if (fields.contains(place()))
        throw BadFile(fmt::format("{}: '{}' is given twice", file, shown(place())));
    } else if (level > 0 && names.size() == level) {
      if (event == Event::value || event == Event::array_end)
        fields.emplace(place(), value_of(value));
      if (event == Event::object_start) fields.emplace(place(), JsonKind::object);
    }
    return true;
  };
  if (text.find('\0') != text.npos) throw BadFile(file + ": has a byte of 0");  // ends json::parse
  const std::string marked = with_words_marked(text);
  try {
    const json all = json::parse(marked, take);
  } catch (const json::parse_error& error) {
    const auto seen = std::string_view(marked).substr(0, error.byte);
    throw BadFile(file, 1 + std::ranges::count(seen, '\n'), "is not JSON");
  } catch (const json::exception&) {  // a number that no double can hold
    const std::string at = names.empty() ? "" : shown(place()) + ": ";
    throw BadFile(fmt::format("{}: {}a number out of range", file, at));
  }
  return fields;
}

}  // namespace ropewalk::bench
