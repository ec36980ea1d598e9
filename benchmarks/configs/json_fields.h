// Reads a JSON object from outside the project as plain fields. A field is called by the names on
// the way to it.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>

namespace ropewalk::bench {

enum class JsonKind { null, object, list };

/// The value of a field. Of an object or a list it is only the kind. The members of an object are
/// fields of their own; the members of a list are not kept.
using JsonValue = std::variant<JsonKind, bool, std::int64_t, double, std::string>;

/// Maps "rope_scaling.factor" to 8. Members more than four names deep are left out, and so are
/// members with a dot in their name.
using JsonFields = std::map<std::string, JsonValue, std::less<>>;

/// Throws BadFile, with `file` and, if known, the line or the name, for
/// - a text that is no JSON object,
/// - a number out of range,
/// - more than 32 levels,
/// - a kept name that stands twice in its object.
JsonFields parse_json_fields(std::string_view text, const std::string& file);

}  // namespace ropewalk::bench
