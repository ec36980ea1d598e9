#include "benchmarks/configs/config.h"

#include <toml++/toml.h>

#include <algorithm>
#include <span>
#include <stdexcept>

namespace ropewalk::bench {
namespace {

// The table is compiled in, and a test reads it whole: a value of another kind throws
// std::bad_optional_access or std::out_of_range there.

std::string word_of(const toml::node& node) {
  return node.value_exact<std::string>().value();
}

/// A string stands for a list of one.
std::vector<std::string> words_of(const toml::node& node) {
  if (!node.is_array()) return {word_of(node)};
  std::vector<std::string> out;
  for (const toml::node& each : *node.as_array()) out.push_back(word_of(each));
  return out;
}

std::vector<double> numbers_of(const toml::array& list) {
  std::vector<double> out;
  for (const toml::node& each : list) out.push_back(each.value<double>().value());
  return out;
}

/// The words of two enums, in their order.
constexpr std::string_view axes_words[] = {"one", "chunked", "interleaved", "alternating", "hw",
                                           "wh",  "thw",     "w_h_in_turn", "hw_dealt"};
constexpr std::string_view unrotated_words[] = {
    "none", "flags", "full", "full_if_sliding", "full_or_all", "null_parameters", "zero_theta"};

int place_of(const toml::node& node, std::span<const std::string_view> words) {
  const auto found = std::ranges::find(words, word_of(node));
  return found == words.end() ? throw std::out_of_range(word_of(node))
                              : static_cast<int>(found - words.begin());
}

/// A value as a config.json has it.
JsonValue value_of(const toml::node& node) {
  if (node.is_string()) return word_of(node);
  if (node.is_boolean()) return *node.value<bool>();
  if (node.is_integer()) return *node.value<std::int64_t>();
  if (node.is_array()) return numbers_of(*node.as_array());
  return node.value<double>().value();
}

/// The members of a table, and of the tables in it, as fields.
void add_fields(const toml::node& node, const std::string& prefix, JsonFields& fields) {
  for (const auto& [name, member] : *node.as_table()) {
    const std::string whole = prefix + std::string(name.str());
    if (member.is_table()) {
      fields.emplace(whole, JsonKind::object);
      add_fields(member, whole + ".", fields);
    } else {
      fields.emplace(whole, value_of(member));
    }
  }
}

/// Keys of facts, of the whole type or of the layers whose name `layer` begins with.
void add_names(const toml::node& node, const std::string& layer,
               std::map<std::string, std::vector<std::string>, std::less<>>& names) {
  for (const auto& [fact, keys] : *node.as_table())
    names.emplace(layer + std::string(fact.str()), words_of(keys));
}

/// A number, or a word for what a missing key means.
void read_fact(const std::string& key, const toml::node& node, ModelType& type) {
  if (!node.is_string())
    type.facts.emplace(key, value_of(node));
  else if (key == "kv_heads")
    type.k_like_q = std::map<std::string, bool>{{"heads", true}}.at(word_of(node));
  else
    type.width_share =
        std::map<std::string, std::int64_t>{{"width / heads", 1}, {"2 * width / heads", 2}}.at(
            word_of(node));
}

void read_key(const std::string& key, const toml::node& node, ModelType& type) {
  const std::map<std::string_view, std::string*> words = {
      {"refused", &type.refused},         {"part", &type.part},
      {"part_type", &type.part_type},     {"pairing_key", &type.pairing_key},
      {"local_theta", &type.local_theta}, {"layer_thetas", &type.layer_thetas},
      {"layer_heads", &type.layer_heads}, {"not_timed", &type.not_timed}};
  const std::map<std::string_view, JsonFields*> fields = {{"rope", &type.rope},
                                                          {"layer_rope", &type.layer_rope},
                                                          {"layer_shape", &type.layer_shape},
                                                          {"rotates_if", &type.rotates_if},
                                                          {"refused_if", &type.refused_if}};
  const std::map<std::string_view, std::vector<std::string>*> lists = {
      {"ignores", &type.ignores}, {"layers", &type.layers}, {"disputed", &type.disputed}};
  if (const auto found = words.find(key); found != words.end())
    *found->second = word_of(node);
  else if (const auto tables = fields.find(key); tables != fields.end())
    add_fields(node, "", *tables->second);
  else if (const auto list = lists.find(key); list != lists.end())
    *list->second = words_of(node);
  else if (key == "names")
    add_names(node, "", type.names);
  else if (key == "layer_keys")
    for (const auto& [layer, names] : *node.as_table())
      add_names(names, std::string(layer.str()) + ".", type.layer_keys);
  else if (key == "pairing")
    type.pairing = word_of(node) == "interleaved" ? Pairing::interleaved : Pairing::half_split;
  else if (key == "latent" || key == "flat")
    (key == "flat" ? type.flat : type.latent) = node.value<bool>().value();
  else if (key == "axes")
    type.axes = Axes{place_of(node, axes_words)};
  else if (key == "unrotated")
    type.unrotated = Unrotated{place_of(node, unrotated_words)};
  else if (key == "sections")
    type.sections = numbers_of(*node.as_array());
  else if (key != "source")
    read_fact(key, node, type);
}

ModelTypes read_table() {
  ModelTypes types;
  for (const auto& [name, node] :
       toml::parse(model_types_text(), std::string_view("model_types.toml")))
    if (name.str() == "rotates_nothing")
      for (const std::string& type : words_of(node)) {
        types[type].refused = "rotates nothing in transformers";
        types[type].part = "text_config";
      }
    else
      for (const auto& [key, value] : *node.as_table())
        read_key(std::string(key.str()), value, types[std::string(name.str())]);
  return types;
}

}  // namespace

const ModelTypes& all_model_types() {
  static const ModelTypes types = read_table();
  return types;
}

const ModelType* find_model_type(std::string_view name) {
  const auto found = all_model_types().find(name);
  return found == all_model_types().end() ? nullptr : &found->second;
}

}  // namespace ropewalk::bench
