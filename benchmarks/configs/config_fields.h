// The fields of a config.json, each with a note of whether it was used.
#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "benchmarks/configs/json_fields.h"
#include "benchmarks/configs/model_config.h"

namespace ropewalk::bench {

/// A value as a message shows it, e.g. "'llama'" or "a list".
std::string text_of(const JsonValue& value);

/// Reads the part about text. Each read throws BadFile, which names file and key, for a value of
/// another type. What was used stands in `read` of the config.
class ConfigReader {
 public:
  ConfigReader(JsonFields fields, const std::string& file, ModelConfig& config);

  [[noreturn]] void fail(const std::string& key, const std::string& what) const;

  /// NULL if the key is missing or null.
  const JsonValue* find(const std::string& key);
  /// The same; what the part about text leaves out may stand beside it.
  const JsonValue* find_beside(const std::string& key);
  bool holds(const std::string& key) const;
  bool is_object(const std::string& key) const;

  /// An integer from 1 to `largest`.
  std::optional<std::int64_t> size(const std::string& key, std::int64_t largest);
  /// More heads, or a longer head, are taken for a typing error.
  std::optional<std::int64_t> size(const std::string& key) { return size(key, 1 << 20); }
  std::optional<double> number(const std::string& key);
  std::optional<std::string> word(const std::string& key);
  std::optional<bool> flag(const std::string& key);

  /// The common value of keys that mean the same. They may not differ.
  template <class Value>
  std::optional<Value> one_of(const std::vector<std::string>& keys,
                              std::optional<Value> (ConfigReader::*read)(const std::string&));

  void assume(const std::string& what) { config_.assumed.push_back(what); }
  void leave_out(const std::string& what) { config_.not_timed.push_back(what); }

  /// Reports fields about positions or heads that were not used.
  void report_ignored();

 private:
  JsonFields fields_;
  const std::string& file_;
  ModelConfig& config_;
  std::string prefix_;
  std::set<std::string> used_;
};

template <class Value>
std::optional<Value> ConfigReader::one_of(
    const std::vector<std::string>& keys,
    std::optional<Value> (ConfigReader::*read)(const std::string&)) {
  std::optional<Value> value;
  std::string first;
  for (const std::string& key : keys) {
    const auto found = (this->*read)(key);
    if (found && value && *found != *value)
      fail(key, "is " + text_of(JsonValue(*found)) + ", but " + first + " is " +
                    text_of(JsonValue(*value)) + ": leave one");
    if (found && !value) value = found, first = key;
  }
  return value;
}

}  // namespace ropewalk::bench
