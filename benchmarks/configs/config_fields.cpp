#include "benchmarks/configs/config_fields.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "base/text_file.h"

namespace ropewalk::bench {

std::string text_of(const JsonValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return "'" + shown(*text, 40) + "'";
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *integer);
  if (const auto* number = std::get_if<double>(&value)) return fmt::format("{}", *number);
  if (const auto* word = std::get_if<bool>(&value)) return *word ? "true" : "false";
  constexpr std::array kinds = {"null", "an object", "a list"};
  return kinds[static_cast<std::size_t>(std::get<JsonKind>(value))];
}

ConfigReader::ConfigReader(JsonFields fields, const std::string& file, ModelConfig& config)
    : fields_(std::move(fields)), file_(file), config_(config) {
  const auto text_part = fields_.find("text_config");
  if (text_part != fields_.end() && text_part->second == JsonValue(JsonKind::object)) {
    prefix_ = "text_config.";
    config_.read.emplace_back("text_config = the part that is read");
  }
}

void ConfigReader::fail(const std::string& key, const std::string& what) const {
  throw BadFile(fmt::format("{}: {}{}: {}", file_, prefix_, shown(key), what));
}

const JsonValue* ConfigReader::find(const std::string& key) {
  const auto found = fields_.find(prefix_ + key);
  if (found == fields_.end()) return nullptr;
  if (used_.insert(key).second)
    config_.read.push_back(fmt::format("{}{} = {}", prefix_, key, text_of(found->second)));
  return found->second == JsonValue(JsonKind::null) ? nullptr : &found->second;
}

const JsonValue* ConfigReader::find_beside(const std::string& key) {
  if (const JsonValue* found = find(key)) return found;
  const std::string within = std::exchange(prefix_, "");
  const JsonValue* found = find(key);
  prefix_ = within;
  return found;
}

bool ConfigReader::holds(const std::string& key) const {
  const auto found = fields_.find(prefix_ + key);
  return found != fields_.end() && found->second != JsonValue(JsonKind::null);
}

bool ConfigReader::is_object(const std::string& key) const {
  const auto found = fields_.find(prefix_ + key);
  return found != fields_.end() && found->second == JsonValue(JsonKind::object);
}

std::optional<std::int64_t> ConfigReader::size(const std::string& key, std::int64_t largest) {
  const JsonValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  const auto* integer = std::get_if<std::int64_t>(value);
  if (integer == nullptr || *integer < 1 || *integer > largest)
    fail(key, fmt::format("is {}; it must be an integer from 1 to {}", text_of(*value), largest));
  return *integer;
}

std::optional<double> ConfigReader::number(const std::string& key) {
  const JsonValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (const auto* integer = std::get_if<std::int64_t>(value)) return static_cast<double>(*integer);
  const auto* number = std::get_if<double>(value);
  if (number == nullptr) fail(key, fmt::format("is {}; it must be a number", text_of(*value)));
  return *number;
}

std::optional<std::string> ConfigReader::word(const std::string& key) {
  const JsonValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  const auto* text = std::get_if<std::string>(value);
  if (text == nullptr) fail(key, fmt::format("is {}; it must be a string", text_of(*value)));
  return *text;
}

std::optional<bool> ConfigReader::flag(const std::string& key) {
  const JsonValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  const auto* word = std::get_if<bool>(value);
  if (word == nullptr) fail(key, fmt::format("is {}; it must be true or false", text_of(*value)));
  return *word;
}

void ConfigReader::report_ignored() {
  for (const auto& [whole, value] : fields_) {
    if (!whole.starts_with(prefix_)) continue;
    const std::string key = whole.substr(prefix_.size());
    const auto mentions = [&](std::string_view part) { return key.find(part) != key.npos; };
    const bool ours = mentions("rope") || mentions("rotary") || mentions("head_dim") ||
                      mentions("position") || mentions("_heads") || mentions("sliding");
    const bool elsewhere = mentions("vision_config.") || mentions("text_config.") ||
                           mentions("audio_config.") || mentions("quantization_config.");
    if (ours && !elsewhere && !used_.contains(key) && value != JsonValue(JsonKind::null) &&
        config_.ignored.size() < 100)
      config_.ignored.push_back(fmt::format("{}{} = {}", prefix_, shown(key), text_of(value)));
  }
}

}  // namespace ropewalk::bench
