#include "benchmarks/configs/model_types.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>

#include "base/text_file.h"
#include "benchmarks/workloads/toml_text.h"

namespace ropewalk::bench {
namespace {

/// One table of the file. Its messages name file, line, type and key.
class TypeEntry {
 public:
  TypeEntry(const std::string& file, std::string_view name) : file_(file), name_(name) {}

  [[noreturn]] void fail(const toml::node& at, const std::string& key,
                         const std::string& what) const {
    throw BadFile(file_, at.source().begin.line,
                  fmt::format("[{}] {}: {}", shown(name_), shown(key), what));
  }

  template <class Value>
  Value need(const toml::node& node, const std::string& key, const char* kind) const {
    const auto value = node.value_exact<Value>();
    if (!value) fail(node, key, fmt::format("must be {}", kind));
    return *value;
  }
  std::string word(const toml::node& node, const std::string& key) const {
    const auto value = need<std::string>(node, key, "a string");
    if (value.empty()) fail(node, key, "is empty");
    return value;
  }
  bool flag(const toml::node& node, const std::string& key) const {
    return need<bool>(node, key, "true or false");
  }
  template <class Choice>
  Choice choice(const toml::node& node, const std::string& key,
                const std::map<std::string, Choice>& choices) const {
    const auto found = choices.find(word(node, key));
    if (found == choices.end()) fail(node, key, "is none of the words for it");
    return found->second;
  }
  /// A string stands for a list of one.
  std::vector<std::string> words(const toml::node& node, const std::string& key) const {
    if (!node.is_array()) return {word(node, key)};
    std::vector<std::string> out;
    for (const toml::node& each : *node.as_array()) out.push_back(word(each, key));
    return out;
  }
  std::vector<double> numbers(const toml::node& node, const std::string& key) const {
    std::vector<double> out;
    if (!node.is_array()) fail(node, key, "must be a list of numbers");
    for (const toml::node& each : *node.as_array()) {
      if (!each.is_number()) fail(each, key, "must be a list of numbers");
      out.push_back(*each.value<double>());
    }
    return out;
  }
  /// A value as a config.json has it.
  JsonValue value(const toml::node& node, const std::string& key) const {
    if (node.is_string()) return word(node, key);
    if (node.is_boolean()) return flag(node, key);
    if (node.is_integer()) return *node.value<std::int64_t>();
    if (node.is_array()) return numbers(node, key);
    if (!node.is_number()) fail(node, key, "must be a number, a string, a flag or a list");
    return *node.value<double>();
  }
  const toml::table& table(const toml::node& node, const std::string& key) const {
    if (!node.is_table()) fail(node, key, "must be a table");
    return *node.as_table();
  }
  /// The members of a table, and of the tables in it, as fields.
  void add_fields(const toml::node& node, const std::string& key, const std::string& prefix,
                  JsonFields& fields) const {
    for (const auto& [name, member] : table(node, key)) {
      const std::string whole = prefix + std::string(name.str());
      if (member.is_table()) {
        fields.emplace(whole, JsonKind::object);
        add_fields(member, key, whole + ".", fields);
      } else {
        fields.emplace(whole, value(member, key));
      }
    }
  }

 private:
  const std::string& file_;
  std::string_view name_;
};

const std::vector<std::string_view> fact_names = {
    "heads",      "kv_heads",  "width",         "head_dim",      "theta",    "share",
    "rotary_dim", "positions", "nope_head_dim", "rope_head_dim", "original", "share_alone"};

bool is_fact(std::string_view key) {
  return std::find(fact_names.begin(), fact_names.end(), key) != fact_names.end();
}

void read_fact(const TypeEntry& in, const std::string& key, const toml::node& node,
               ModelType& type) {
  if (key == "kv_heads" && node.is_string()) {
    type.k_like_q = in.choice<bool>(node, key, {{"heads", true}});
  } else if (key == "head_dim" && node.is_string()) {
    type.width_share =
        in.choice<std::int64_t>(node, key, {{"width / heads", 1}, {"2 * width / heads", 2}});
  } else {
    if (!node.is_number()) in.fail(node, key, "must be a number");
    type.facts.emplace(key, in.value(node, key));
  }
}

/// Keys of facts, of the whole type or of the layers whose name `layer` begins with.
void read_names(const TypeEntry& in, const toml::node& node, const std::string& layer,
                std::map<std::string, std::vector<std::string>, std::less<>>& names) {
  for (const auto& [fact, keys] : in.table(node, "names")) {
    const std::string name(fact.str());
    if (!is_fact(name)) in.fail(keys, "names", "'" + shown(name) + "' is no fact");
    names.emplace(layer + name, in.words(keys, name));
  }
}

void read_key(const TypeEntry& in, const std::string& key, const toml::node& node,
              ModelType& type) {
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
    *found->second = in.word(node, key);
  else if (const auto tables = fields.find(key); tables != fields.end())
    in.add_fields(node, key, "", *tables->second);
  else if (const auto list = lists.find(key); list != lists.end())
    *list->second = in.words(node, key);
  else if (is_fact(key))
    read_fact(in, key, node, type);
  else if (key == "names")
    read_names(in, node, "", type.names);
  else if (key == "layer_keys")
    for (const auto& [layer, names] : in.table(node, key))
      read_names(in, names, std::string(layer.str()) + ".", type.layer_keys);
  else if (key == "pairing")
    type.pairing = in.choice<Pairing>(
        node, key, {{"half_split", Pairing::half_split}, {"interleaved", Pairing::interleaved}});
  else if (key == "latent" || key == "flat")
    (key == "flat" ? type.flat : type.latent) = in.flag(node, key);
  else if (key == "axes")
    type.axes = in.choice<Axes>(node, key,
                                {{"chunked", Axes::chunked},
                                 {"interleaved", Axes::interleaved},
                                 {"alternating", Axes::alternating}});
  else if (key == "unrotated")
    type.unrotated = in.choice<Unrotated>(node, key,
                                          {{"flags", Unrotated::flags},
                                           {"full", Unrotated::full},
                                           {"full_if_sliding", Unrotated::full_if_sliding},
                                           {"full_or_all", Unrotated::full_or_all},
                                           {"null_parameters", Unrotated::null_parameters},
                                           {"zero_theta", Unrotated::zero_theta}});
  else if (key == "sections")
    type.sections = in.numbers(node, key);
  else if (key == "source")
    in.word(node, key);
  else
    in.fail(node, key, "is unknown");
}

toml::table parsed(std::string_view text, const std::string& file) {
  check_toml_text(text, file);
  try {
    return toml::parse(text, std::string_view(file));
  } catch (const toml::parse_error& error) {
    throw BadFile(file, error.source().begin.line, std::string(error.description()));
  }
}

}  // namespace

ModelTypes parse_model_types(std::string_view text, const std::string& file) {
  ModelTypes types;
  for (const auto& [name, node] : parsed(text, file)) {
    const TypeEntry in(file, name.str());
    if (name.str() == "rotates_nothing") {
      for (const std::string& type : in.words(node, "it")) {
        types[type].refused = "rotates nothing in transformers";
        types[type].part = "text_config";
      }
      continue;
    }
    ModelType& type = types[std::string(name.str())];
    for (const auto& [key, value] : in.table(node, "it"))
      read_key(in, std::string(key.str()), value, type);
    if (type.refused.empty() && type.part.empty() && !type.pairing)
      in.fail(node, "pairing", "is missing");
  }
  return types;
}

const ModelTypes& all_model_types() {
  static const ModelTypes types = parse_model_types(model_types_text(), "model_types.toml");
  return types;
}

const ModelType* find_model_type(std::string_view name) {
  const auto found = all_model_types().find(name);
  return found == all_model_types().end() ? nullptr : &found->second;
}

}  // namespace ropewalk::bench
