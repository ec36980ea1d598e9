// Turns TOML into checked workloads, or into one clear line of error. No other file knows TOML.
#include "benchmarks/workloads/workloads.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <initializer_list>

#include "benchmarks/workloads/model_shape.h"
#include "benchmarks/workloads/traffic.h"
#include "benchmarks/workloads/workload_layout.h"
#include "benchmarks/workloads/workload_shape.h"
#include "harness/cases/axes.h"
#include "harness/cases/names.h"

namespace ropewalk::bench {
namespace {

using Keys = std::vector<std::string_view>;

// The keys that a table may hold beside its name.
const Keys model_keys = {"model", "source", "shape"};
const Keys phase_keys = {"phase", "batch", "tokens", "positions"};

constexpr std::int64_t quick_tokens_max = 512;  // phases with more tokens are too slow for smoke

bool has(const Keys& keys, std::string_view key) {
  return std::ranges::find(keys, key) != keys.end();
}

std::string joined(const Keys& words) {
  return fmt::format("{}", fmt::join(words, ", "));
}

std::int64_t line_of(const toml::node& node) {
  return node.source().begin.line;
}

/// The keys of one name: a table of the file, or a model's and a phase's tables together. Its
/// messages name file, line and table.
class TableEntry {
 public:
  /// If there is only one table, `phase` is the same as `model`.
  TableEntry(std::string kind, std::string name, const toml::table& model, const toml::table& phase)
      : kind_(std::move(kind)), name_(std::move(name)), model_(model), phase_(phase) {}
  TableEntry(std::string kind, const toml::table& table)
      : TableEntry(std::move(kind), "?", table, table) {
    if (const auto name = table["name"].value<std::string_view>()) name_ = shown(*name);
  }

  [[noreturn]] void fail(const toml::node& at, const std::string& what) const {
    throw BadFile(*at.source().path, line_of(at), fmt::format("{} '{}': {}", kind_, name_, what));
  }
  [[noreturn]] void fail(std::string_view key, const std::string& what) const {
    const toml::node* node = find(key);
    fail(node != nullptr ? *node : home_of(key), what);
  }

  void refuse_unknown_keys(std::initializer_list<Keys> known) const {
    for (const auto& [key, node] : model_)
      if (key.str() != "name" && std::ranges::none_of(known, [&, k = key.str()](const Keys& keys) {
            return has(keys, k);
          }))
        fail(node, fmt::format("unknown key '{}'", shown(key.str())));
  }

  std::string text(std::string_view key) const {
    const auto value = need(key).value_exact<std::string>();
    if (!value) fail(key, fmt::format("{} must be a string", key));
    if (value->empty()) fail(key, fmt::format("{} must not be empty", key));
    const auto control = [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; };
    if (std::any_of(value->begin(), value->end(), control))
      fail(key, fmt::format("{} contains a control character", key));
    return *value;
  }

  std::string name() const {
    const std::string value = text("name");
    if (!good_workload_name(value))
      fail("name", "a name is 1 to 100 characters of a-z, 0-9, '.', '_', '/' and '-'");
    return value;
  }

  std::string choice(std::string_view key, const Keys& allowed) const {
    const std::string value = text(key);
    if (!has(allowed, value))
      fail(key, fmt::format("{} is '{}'; allowed: {}", key, shown(value), joined(allowed)));
    return value;
  }

  std::int64_t size(std::string_view key) const {
    const auto value = need(key).value_exact<std::int64_t>();
    if (!value) fail(key, fmt::format("{} must be an integer", key));
    if (*value < 1) fail(key, fmt::format("{} is {}; it must be at least 1", key, *value));
    return *value;
  }

  std::vector<std::string> words(std::string_view key, const Keys& allowed) const {
    const toml::array* array = need(key).as_array();
    if (array == nullptr || array->empty())
      fail(key, fmt::format("{} must be a list of: {}", key, joined(allowed)));
    std::vector<std::string> out;
    for (const toml::node& node : *array) {
      const auto word = node.value_exact<std::string>();
      if (!word || !has(allowed, *word))
        fail(node, fmt::format("{} may hold only: {}", key, joined(allowed)));
      if (std::ranges::find(out, *word) != out.end())
        fail(node, fmt::format("{} names '{}' twice", key, *word));
      out.push_back(*word);
    }
    return out;
  }
  /// Whether a list names the word. A missing key names all words.
  bool names(std::string_view key, std::string_view word) const {
    const toml::node* node = find(key);
    if (node == nullptr) return true;
    const toml::array& list = *node->as_array();
    return std::ranges::any_of(
        list, [&](const toml::node& each) { return each.value<std::string>() == word; });
  }
  /// The words of a list; none if the key is missing.
  std::vector<std::string> words_if_any(std::string_view key, const Keys& allowed) const {
    return find(key) == nullptr ? std::vector<std::string>{} : words(key, allowed);
  }

 private:
  const toml::table& home_of(std::string_view key) const {
    return has(phase_keys, key) ? phase_ : model_;
  }
  const toml::node* find(std::string_view key) const { return home_of(key).get(key); }
  const toml::node& need(std::string_view key) const {
    const toml::node* node = find(key);
    if (node == nullptr) fail(home_of(key), fmt::format("key '{}' is missing", key));
    return *node;
  }

  std::string kind_, name_;
  const toml::table& model_;
  const toml::table& phase_;
};

/// Takes over what a phase says about the workload.
void read_phase(const TableEntry& entry, Workload& w) {
  constexpr auto& phases = report::words_of<report::WorkloadPhase>;
  w.phase = *report::from_word<report::WorkloadPhase>(
      entry.choice("phase", {phases.begin(), phases.end()}));
  const std::string positions = entry.choice("positions", {"consecutive", "scattered", "cold"});
  w.cold = positions == "cold";
  w.scattered = w.cold || positions == "scattered";
  w.batch = entry.size("batch");
  w.tokens = entry.size("tokens");
}

/// Reads the words of a shape, which is that of all phases.
Workload read_shape(const TableEntry& entry) {
  const std::string text = entry.text("shape");
  try {
    for (const char* word : {"batch", "tokens", "positions"})
      if (shape_states(text, word)) throw BadShape(fmt::format("{}= belongs to the phase", word));
    return model_of(text);
  } catch (const BadShape& bad) {
    entry.fail("shape", bad.what());
  }
}

/// Reads everything but name and profiles.
Workload read_workload(const TableEntry& entry) {
  Workload w = read_shape(entry);
  w.model = entry.text("model");
  w.source = entry.text("source");
  read_phase(entry, w);
  if (const auto fault = shape_fault(w))
    entry.fail(has(phase_keys, fault->key) ? fault->key : "shape", fault->what);
  lay_out(w);
  return w;
}

toml::table parse_toml(std::string_view text, const std::string& file) {
  try {
    return toml::parse(text, std::string_view(file));
  } catch (const toml::parse_error& error) {
    throw BadFile(file, error.source().begin.line, shown(error.description()));
  }
}

/// The tables of one kind by name, in the order of the file.
class TableGroup {
 public:
  TableGroup(const toml::table& root, std::string kind, std::initializer_list<Keys> known)
      : kind_(std::move(kind)) {
    const toml::array* entries = root.get_as<toml::array>(kind_);
    if (entries == nullptr) return;
    for (const toml::node& node : *entries) {
      const toml::table& table = *node.as_table();
      const TableEntry entry = of(table);
      entry.refuse_unknown_keys(known);
      const std::string name = entry.name();
      for (const auto& [other, earlier] : all)
        if (other == name)
          entry.fail("name", fmt::format("the name is taken since line {}", line_of(*earlier)));
      all.emplace_back(name, &table);
    }
  }
  TableEntry of(const toml::table& table) const { return {kind_, table}; }
  Keys names() const {
    Keys out;
    for (const auto& [name, table] : all) out.push_back(name);
    return out;
  }

  std::vector<std::pair<std::string, const toml::table*>> all;

 private:
  std::string kind_;
};

/// Adds a model in each of its phases.
void append_model(const std::string& name, const toml::table& table, const TableGroup& phases,
                  std::vector<Workload>& out) {
  const TableEntry model("model", table);
  const std::size_t first = out.size();
  Keys own_phases;
  for (const auto& [phase_name, phase] : phases.all) {
    if (!phases.of(*phase).names("models", name)) continue;
    own_phases.push_back(phase_name);
    const std::string whole = fmt::format("{}/{}", name, phase_name);
    if (!good_workload_name(whole))
      model.fail("name", "with its phase it is longer than 100 characters");
    Workload w = read_workload(TableEntry("workload", whole, table, *phase));
    w.name = whole;
    out.push_back(std::move(w));
  }
  if (own_phases.empty()) model.fail("name", "no [[phase]] is for this model");
  for (const char* profile : {"smoke", "standard"})
    for (const std::string& phase : model.words_if_any(profile, own_phases))
      for (std::size_t i = first; i < out.size(); ++i)
        if (out[i].name == fmt::format("{}/{}", name, phase)) out[i].profiles.emplace_back(profile);
  for (std::size_t i = first; i < out.size(); ++i) out[i].profiles.emplace_back("full");
}

void append_single(const std::string& name, const toml::table& table, std::vector<Workload>& out) {
  const TableEntry entry("workload", table);
  Workload w = read_workload(entry);
  w.name = name;
  w.profiles = entry.words("profiles", {"smoke", "standard", "full"});
  if (std::ranges::any_of(out, [&](const Workload& other) { return other.name == name; }))
    entry.fail("name", "the name is taken by a model and its phase");
  out.push_back(std::move(w));
}

}  // namespace

std::vector<Workload> parse_workloads(std::string_view text, const std::string& file) {
  const toml::table root = parse_toml(text, file);
  for (const auto& [key, node] : root)
    if (!has({"workload", "model", "phase"}, key.str()) || !node.is_array_of_tables())
      throw BadFile(file, line_of(node),
                    fmt::format("'{}' is not known here; only [[workload]], [[model]] and "
                                "[[phase]] tables are",
                                shown(key.str())));
  const TableGroup models(root, "model", {model_keys, {"smoke", "standard"}});
  const TableGroup singles(root, "workload", {model_keys, phase_keys, {"profiles"}});
  if (models.all.empty() && singles.all.empty())
    throw BadFile(file, 1, "no [[workload]] and no [[model]] in this file");
  const bool own_phases = root.contains("phase");
  const toml::table built_in =
      own_phases ? toml::table{} : parse_toml(default_workloads_text(), "workloads.toml");
  const TableGroup phases(own_phases ? root : built_in, "phase", {phase_keys, {"models"}});
  if (own_phases)
    for (const auto& [name, table] : phases.all)
      phases.of(*table).words_if_any("models", models.names());
  std::vector<Workload> out;
  for (const auto& [name, table] : models.all) append_model(name, *table, phases, out);
  for (const auto& [name, table] : singles.all) append_single(name, *table, out);
  return out;
}

std::vector<Workload> load_workloads(const std::filesystem::path& file) {
  return parse_workloads(read_text_file(file), shown_path(file));
}

std::vector<Workload> through_phases(const Workload& model, const std::string& file) {
  const toml::table root = parse_toml(default_workloads_text(), "workloads.toml");
  std::vector<Workload> out;
  for (const auto& [name, table] : TableGroup(root, "phase", {phase_keys, {"models"}}).all) {
    if (table->contains("models")) continue;
    for (const bool picture : {false, true}) {
      Workload w = model;
      if (!picture) harness::drop_axes(w);
      read_phase(TableEntry("phase", *table), w);
      const bool tower = is_picture_alone(model);
      if (picture ? w.axes == 1 || w.cold || (tower && w.scattered) : tower) continue;
      w.name = fmt::format("{}/{}{}", model.name, name, picture ? "-picture" : "");
      if (!good_workload_name(w.name))
        throw BadFile(fmt::format("{}: '{}' is not a valid workload name", file, shown(w.name)));
      if (const auto fault = shape_fault(w))
        throw BadFile(fmt::format("{}: {}: {}", file, w.name, fault->what));
      lay_out(w);
      w.profiles = {"standard", "full"};
      if (saturating_product({w.batch, w.tokens}) <= quick_tokens_max)
        w.profiles.insert(w.profiles.begin(), "smoke");
      out.push_back(std::move(w));
    }
  }
  return out;
}

std::string board_of(const Workload& w, std::string_view angles) {
  return fmt::format("{} / {} / {}{}{}{}{}{}", harness::word_of(w.pairing),
                     harness::word_of(w.dtype), is_in_place(w) ? "in place" : "out of place",
                     w.operation == Operation::transpose ? " / transpose" : "",
                     harness::has_norm(w) ? " / norm" : "",
                     harness::has_append(w) ? " / append" : "", angles.empty() ? "" : " / ",
                     angles);
}

}  // namespace ropewalk::bench
