#include "benchmarks/configs/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "base/text_file.h"

namespace ropewalk::bench {
namespace {

using Keys = std::vector<std::string>;

const std::string share_key = "partial_rotary_factor";

/// Where composites keep their text model. The first that a file has is read.
const Keys usual_parts = {"text_config", "thinker_config.text_config", "llm_config",
                          "language_config", "llm_cfg"};

const std::map<std::string_view, std::string> usual_keys = {
    {"heads", "num_attention_heads"},
    {"kv_heads", "num_key_value_heads"},
    {"width", "hidden_size"},
    {"head_dim", "head_dim"},
    {"theta", "rope_theta"},
    {"share", share_key},
    {"rotary_dim", "rotary_dim"},
    {"positions", "max_position_embeddings"},
    {"nope_head_dim", "qk_nope_head_dim"},
    {"rope_head_dim", "qk_rope_head_dim"},
    {"original", "original_max_position_embeddings"}};

/// The other spelling that a type may have which is not known.
const std::map<std::string_view, std::string> other_keys = {{"heads", "n_head"},
                                                            {"width", "n_embd"},
                                                            {"theta", "rotary_emb_base"},
                                                            {"share", "rotary_pct"}};

constexpr auto is_any = [](const auto&) { return true; };
constexpr auto is_finite = [](double value) { return std::isfinite(value); };

std::string number_text(double value) {
  return std::isnan(value) ? "NaN" : fmt::format("{}", value);
}

}  // namespace

std::string text_of(const JsonValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return "'" + shown(*text, 40) + "'";
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *integer);
  if (const auto* number = std::get_if<double>(&value)) return number_text(*number);
  if (const auto* word = std::get_if<bool>(&value)) return *word ? "true" : "false";
  if (const auto* list = std::get_if<std::vector<double>>(&value))
    return fmt::format("a list of {} numbers", list->size());
  if (const auto* list = std::get_if<Keys>(&value))
    return fmt::format("a list of {} strings", list->size());
  constexpr std::array kinds = {"null", "an object", "a list"};
  return kinds[static_cast<std::size_t>(std::get<JsonKind>(value))];
}

ConfigReader::ConfigReader(JsonFields fields, const std::string& file, ModelConfig& config)
    : fields_(std::move(fields)), file_(file), config_(config) {
  find_type();
  if (type_ == nullptr) return;
  for (const auto& [fact, value] : outer_facts_) defaults_.emplace(keys_of(fact).front(), value);
  const bool has_rope = !members("rope_parameters").empty() || !members("rope_scaling").empty();
  for (const auto& [fact, value] : type_->facts) {
    const bool alone = fact.ends_with("_alone");  // of a file that has rope parameters without it
    const std::string name = alone ? fact.substr(0, fact.size() - 6) : fact;
    if (alone == (has_rope && (alone || type_->facts.contains(fact + "_alone"))))
      defaults_.emplace(keys_of(name).front(), value);
  }
  if (!has_rope && type_->rope.contains("rope_theta")) defaults_.erase(keys_of("theta").front());
  for (const auto& [key, value] : type_->rope)
    if (!has_rope) defaults_.emplace("rope_parameters." + key, value);
  for (const auto& [key, value] : type_->layer_rope) {
    const std::string whole = "rope_parameters." + key;
    const bool of_layer = is_object(whole.substr(0, whole.rfind('.')));
    if (!of_layer || (key.ends_with(".rope_theta") && reads_old_layers()))
      defaults_.emplace(whole, value);
  }
  for (const auto& [key, value] : type_->layer_shape) {
    if (value == JsonValue(JsonKind::object)) continue;
    const auto name = type_->layer_keys.find(key);
    const bool named = name != type_->layer_keys.end();
    // A word stands for twice as many as the other layers have.
    const auto others = one_of<std::int64_t>(keys_of("kv_heads"), &ConfigReader::size);
    defaults_.emplace(named ? name->second.front() : key,
                      std::holds_alternative<std::string>(value) ? JsonValue(2 * *others) : value);
  }
}

/// Goes from the whole file to its part about text, and notes that part's type.
void ConfigReader::find_type() {
  std::string name = word("model_type").value_or("");
  for (int levels = 0; levels < 4; ++levels) {
    type_ = find_model_type(name);
    const bool whole = type_ == nullptr && prefix_.empty();
    const auto usual =
        std::ranges::find_if(usual_parts, [&](const std::string& each) { return is_object(each); });
    std::string part = type_ == nullptr ? "" : type_->part;
    if (whole && usual != usual_parts.end()) part = *usual;
    if (part.empty()) break;
    if (type_ != nullptr) outer_facts_.insert(type_->facts.begin(), type_->facts.end());
    if (is_object(part)) {
      config_.read.push_back(fmt::format("{}{} = the part that is read", prefix_, part));
      prefix_ += part + ".";
      used_.erase("model_type");
      const auto own = word("model_type");
      if (!own && (type_ == nullptr || type_->part_type.empty())) break;
      name = own ? *own : type_->part_type;
    } else if (type_ != nullptr && type_->flat) {
      name = type_->part_type;
    } else if (type_ != nullptr && type_->refused.empty()) {
      fail(part, "is missing: the fields of the text model lie there");
    } else {
      break;
    }
  }
  config_.model_type = name;
}

void ConfigReader::fail(const std::string& key, const std::string& what) const {
  throw BadFile(fmt::format("{}: {}{}: {}", file_, prefix_, shown(key), what));
}

bool ConfigReader::ignores(const std::string& key) const {
  return type_ != nullptr && key != share_key && std::ranges::count(type_->ignores, key) > 0;
}

bool ConfigReader::reads_old_layers() const {
  return type_ == nullptr || type_->layers.empty() || !type_->local_theta.empty() ||
         type_name() == "olmo3";
}

bool ConfigReader::contradicts(const std::string& key, const JsonValue& value) const {
  const auto found = fields_.find(prefix_ + key);
  return ignores(key) && found != fields_.end() && !is_null(key) && found->second != value;
}

bool ConfigReader::plain_rule_ignores_share() const {
  return type_ != nullptr && std::ranges::count(type_->ignores, share_key) > 0;
}

const JsonValue* ConfigReader::find(const std::string& key) {
  const auto found = ignores(key) ? fields_.end() : fields_.find(prefix_ + key);
  if (found != fields_.end() && used_.insert(key).second)
    config_.read.push_back(fmt::format("{}{} = {}", prefix_, key, text_of(found->second)));
  if (found != fields_.end() && found->second != JsonValue(JsonKind::null)) return &found->second;
  const auto taken = defaults_.find(key);
  if (type_ != nullptr && std::ranges::count(type_->disputed, key) > 0)
    fail(key, "is missing, and releases of transformers take different values for it");
  if (taken == defaults_.end()) return nullptr;
  if (is_null(key)) fail(key, "is null, and what that means for this model_type is not known here");
  if (used_.insert(key).second)
    assume(fmt::format("{} {}, of the code of {}", key, text_of(taken->second), type_name()));
  return &taken->second;
}

const JsonValue* ConfigReader::find_beside(const std::string& key) {
  if (const JsonValue* found = find(key)) return found;
  const std::string within = std::exchange(prefix_, "");
  const JsonValue* found = find(key);
  prefix_ = within;
  return found;
}

bool ConfigReader::is(const std::string& key, JsonKind kind) const {
  const auto found = fields_.find(prefix_ + key);
  return found != fields_.end() && found->second == JsonValue(kind);
}

bool ConfigReader::holds(const std::string& key) const {
  return fields_.contains(prefix_ + key) && !is_null(key) && !ignores(key);
}

Keys ConfigReader::members(const std::string& object) const {
  Keys out;
  if (ignores(object)) return out;
  const std::string start = prefix_ + object + ".";
  for (auto each = fields_.lower_bound(start);
       each != fields_.end() && each->first.starts_with(start); ++each)
    if (each->first.find('.', start.size()) == std::string::npos)
      out.push_back(each->first.substr(start.size()));
  return out;
}

bool ConfigReader::same(const std::string& a, const std::string& b) const {
  const Keys names = members(a);
  return names == members(b) && std::ranges::all_of(names, [&](const auto& name) {
           const std::string one = fmt::format("{}.{}", a, name),
                             two = fmt::format("{}.{}", b, name);
           return is_object(one) ? same(one, two)
                                 : fields_.at(prefix_ + one) == fields_.at(prefix_ + two);
         });
}

template <class Value, class Fits>
std::optional<Value> ConfigReader::value_that(const std::string& key, const std::string& wanted,
                                              Fits&& fits) {
  const JsonValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  const Value* found = std::get_if<Value>(value);
  if (found == nullptr || !fits(*found))
    fail(key, fmt::format("is {}; it must be {}", text_of(*value), wanted));
  return *found;
}

std::optional<std::int64_t> ConfigReader::size(const std::string& key, std::int64_t largest) {
  return value_that<std::int64_t>(key, fmt::format("an integer from 1 to {}", largest),
                                  [&](std::int64_t n) { return n >= 1 && n <= largest; });
}

std::optional<double> ConfigReader::number(const std::string& key) {
  const JsonValue* value = find(key);
  if (value != nullptr)
    if (const auto* integer = std::get_if<std::int64_t>(value))
      return static_cast<double>(*integer);
  return value_that<double>(key, "a finite number", is_finite);
}

std::optional<std::string> ConfigReader::word(const std::string& key) {
  return value_that<std::string>(key, "a string", is_any);
}

std::optional<bool> ConfigReader::flag(const std::string& key) {
  return value_that<bool>(key, "true or false", is_any);
}

std::optional<std::vector<double>> ConfigReader::numbers(const std::string& key) {
  return value_that<std::vector<double>>(
      key, fmt::format("a list of at most {} finite numbers", list_members_max),
      [](const auto& list) { return std::ranges::all_of(list, is_finite); });
}

std::optional<Keys> ConfigReader::words(const std::string& key) {
  return value_that<Keys>(key, fmt::format("a list of at most {} strings", list_members_max),
                          is_any);
}

void ConfigReader::read_for(const std::string& layer) {
  layer_ = layer;
  layer_object_.clear();
  const Keys types = layer.empty() || !holds("layer_types") ? Keys{} : *words("layer_types");
  for (const std::string& index : members("per_layer_config")) {
    const std::size_t i = std::strtoul(index.c_str(), nullptr, 10);
    const auto layers = size("num_hidden_layers");
    if (index.find_first_not_of("0123456789") != index.npos ||
        (layers && i >= static_cast<std::size_t>(*layers)))
      fail("per_layer_config." + index, "is not a layer of this model");
    if (layer_object_.empty() && i < types.size() && types[i] == layer)
      layer_object_ = "per_layer_config." + index + ".";
  }
}

Keys ConfigReader::keys_of(std::string_view fact) const {
  Keys keys = {usual_keys.at(fact)};
  if (!layer_object_.empty() && holds(layer_object_ + keys.front()))
    return {layer_object_ + keys.front()};
  if (type_ == nullptr) {
    const auto other = other_keys.find(fact);
    if (other != other_keys.end()) keys.push_back(other->second);
    return keys;
  }
  const std::string of_layer = fmt::format("{}.{}", layer_, fact);
  const auto found = type_->layer_keys.find(of_layer);
  const Keys named = found == type_->layer_keys.end() ? Keys{of_layer} : found->second;
  const bool stated =
      std::ranges::any_of(named, [&](const std::string& key) { return holds(key); });
  // Gemma 4 reads this key if keys are values too; the types that took it over always do.
  const auto equal = fields_.find(prefix_ + "attention_k_eq_v");
  if (named.front() == "num_global_key_value_heads" && type_name().starts_with("gemma4") &&
      equal != fields_.end() && equal->second == JsonValue(false))
    return keys;
  if (!layer_.empty() && (stated || type_->layer_shape.contains(of_layer))) return named;
  const auto own = type_->names.find(fact);
  return own == type_->names.end() ? keys : own->second;
}

void ConfigReader::assume(const std::string& what) {
  auto& all = config_.assumed;  // layers of several kinds may assume the same
  if (std::ranges::count(all, what) == 0) all.push_back(what);
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
    if (ours && !elsewhere && (!used_.contains(key) || ignores(key)) &&
        value != JsonValue(JsonKind::null) && value != JsonValue(JsonKind::object) &&
        config_.ignored.size() < 100)
      config_.ignored.push_back(fmt::format("{}{} = {}", prefix_, shown(key), text_of(value)));
  }
}

}  // namespace ropewalk::bench
