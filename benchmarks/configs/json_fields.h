// Reads a JSON object from outside the project as plain fields. A field is called by the names on
// the way to it.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace ropewalk::bench {

enum class JsonKind { null, object, list };

/// The value of a field. Of an object it is only the kind: its members are fields of their own. Of
/// a list it is the members if all are numbers or all are strings, else the kind.
using JsonValue = std::variant<JsonKind, bool, std::int64_t, double, std::string,
                               std::vector<double>, std::vector<std::string>>;

/// A list with more members is only a kind.
inline constexpr std::size_t list_members_max = 4096;

/// Maps "rope_scaling.factor" to 8. Members more than six names deep are left out, and so are
/// members with a dot in their name. Infinity, -Infinity and NaN are numbers, as Python writes
/// them.
using JsonFields = std::map<std::string, JsonValue, std::less<>>;

/// Throws BadFile, with `file` and, if known, the line or the name, for
/// - a text that is not a JSON object,
/// - a number out of range,
/// - more than 32 levels,
/// - a kept name that is given twice in its object.
JsonFields parse_json_fields(std::string_view text, const std::string& file);

}  // namespace ropewalk::bench
