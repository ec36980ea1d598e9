// The only file of benchmarks that knows JSON.
#include "benchmarks/configs/json_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/text_file.h"

namespace ropewalk::bench {
namespace {

using nlohmann::json;
using Event = json::parse_event_t;

constexpr int levels_max = 32;  // no configuration is nested deeper
constexpr std::size_t levels_kept = 4;

JsonValue value_of(const json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_string()) return value.get<std::string>();
  if (value.is_null()) return JsonKind::null;
  // No size needs more than 63 bits, so a larger integer is kept as a double.
  const bool too_wide =
      value.is_number_unsigned() && value.get<std::uint64_t>() > std::uint64_t{INT64_MAX};
  if (value.is_number_float() || too_wide) return value.get<double>();
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
      throw BadFile(file + ": is no JSON object");
    if (depth == levels_max && begins) throw BadFile(file + ": nested deeper than 32 levels");
    if (event == Event::key) {
      const auto name = value.get<std::string>();
      names.resize(std::min(names.size(), level - 1));
      // No name below a list is kept. A name with a dot would look like another place.
      if (names.size() + 1 != level || level > levels_kept || name.find('.') != std::string::npos)
        return true;
      names.push_back(name);
      if (fields.contains(place()))
        throw BadFile(fmt::format("{}: '{}' stands twice", file, shown(place())));
    } else if (level > 0 && names.size() == level) {
      if (event == Event::value) fields.emplace(place(), value_of(value));
      if (event == Event::object_start) fields.emplace(place(), JsonKind::object);
      if (event == Event::array_start) fields.emplace(place(), JsonKind::list);
    }
    return true;
  };
  try {
    const json all = json::parse(text, take);
  } catch (const json::parse_error& error) {
    const auto seen = text.substr(0, std::min(error.byte, text.size()));
    throw BadFile(file, 1 + std::count(seen.begin(), seen.end(), '\n'), "is no JSON");
  } catch (const json::exception&) {  // a number that no double can hold
    const std::string at = names.empty() ? "" : shown(place()) + ": ";
    throw BadFile(fmt::format("{}: {}a number out of range", file, at));
  }
  return fields;
}

}  // namespace ropewalk::bench
