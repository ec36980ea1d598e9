// A JSON object of a stranger as plain fields: what stands where, by the names on the way to it.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>

namespace ropewalk::bench {

enum class JsonKind { null, object, list };

/// A value. Of objects and lists only the kind is kept here; members of an object are fields of
/// their own, those of a list are not kept.
using JsonValue = std::variant<JsonKind, bool, std::int64_t, double, std::string>;

/// "rope_scaling.factor" -> 8. Members more than four names deep are left out, and those whose name
/// contains a dot.
using JsonFields = std::map<std::string, JsonValue, std::less<>>;

/// Throws BadFile (`file`, and the line or the name where it is known) for what is no JSON object,
/// for numbers out of range, more than 32 levels, and a name kept that stands twice in its object.
JsonFields parse_json_fields(std::string_view text, const std::string& file);

}  // namespace ropewalk::bench
