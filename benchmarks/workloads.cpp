// The only file that knows TOML. Text in, checked workloads or one clear line out.
#include "benchmarks/workloads.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <initializer_list>
#include <map>

#include "benchmarks/traffic.h"

namespace ropewalk {
namespace {

constexpr std::size_t file_bytes_max = std::size_t{1} << 20;
constexpr std::array<std::string_view, 16> known_keys = {
    "name",      "model",   "source",    "phase",    "pairing",    "dtype",
    "placement", "q_heads", "k_heads",   "head_dim", "rotary_dim", "rope_theta",
    "batch",     "tokens",  "positions", "profiles"};

/// Foreign text inside a message: printable ASCII, one line, short.
std::string shown(std::string_view text) {
  constexpr std::size_t length_max = 60;
  std::string out;
  for (const char c : text.substr(0, length_max)) out += c >= ' ' && c <= '~' ? c : '?';
  return text.size() > length_max ? out + "..." : out;
}

std::string joined(std::initializer_list<std::string_view> words) {
  std::string out;
  for (const std::string_view word : words) out += (out.empty() ? "" : ", ") + std::string(word);
  return out;
}

bool good_name(std::string_view name) {
  return !name.empty() && name.size() <= 100 &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789._/-") ==
             std::string_view::npos;
}

/// One [[workload]] table, with messages that name file, line and entry.
class Entry {
 public:
  Entry(const toml::table& table, const std::string& file) : table_(table), file_(file) {
    if (const auto name = table_["name"].value<std::string_view>()) name_ = shown(*name);
  }

  [[noreturn]] void fail(std::int64_t line, const std::string& what) const {
    throw WorkloadError(fmt::format("{}:{}: workload '{}': {}", file_, line, name_, what));
  }
  [[noreturn]] void fail(std::string_view key, const std::string& what) const {
    fail(line_of(key), what);
  }
  std::int64_t line_of(std::string_view key) const {
    const toml::node* node = table_.get(key);
    return (node != nullptr ? node : &table_)->source().begin.line;
  }

  void refuse_unknown_keys() const {
    for (const auto& [key, node] : table_)
      if (std::find(known_keys.begin(), known_keys.end(), key.str()) == known_keys.end())
        fail(node.source().begin.line, fmt::format("unknown key '{}'", shown(key.str())));
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

  std::string choice(std::string_view key, std::initializer_list<std::string_view> allowed) const {
    const std::string value = text(key);
    if (std::find(allowed.begin(), allowed.end(), value) == allowed.end())
      fail(key, fmt::format("{} is '{}'; allowed: {}", key, shown(value), joined(allowed)));
    return value;
  }

  std::int64_t size(std::string_view key) const {
    const auto value = need(key).value_exact<std::int64_t>();
    if (!value) fail(key, fmt::format("{} must be an integer", key));
    if (*value < 1) fail(key, fmt::format("{} is {}; it must be at least 1", key, *value));
    return *value;
  }

  double number(std::string_view key) const {
    const toml::node& node = need(key);
    if (!node.is_number()) fail(key, fmt::format("{} must be a number", key));
    return *node.value<double>();
  }

  std::vector<std::string> words(std::string_view key,
                                 std::initializer_list<std::string_view> allowed) const {
    const toml::array* array = need(key).as_array();
    if (array == nullptr || array->empty())
      fail(key, fmt::format("{} must be a list of: {}", key, joined(allowed)));
    std::vector<std::string> out;
    for (const toml::node& node : *array) {
      const auto word = node.value_exact<std::string>();
      if (!word || std::find(allowed.begin(), allowed.end(), *word) == allowed.end())
        fail(node.source().begin.line, fmt::format("{} may hold only: {}", key, joined(allowed)));
      if (std::find(out.begin(), out.end(), *word) != out.end())
        fail(node.source().begin.line, fmt::format("{} names '{}' twice", key, *word));
      out.push_back(*word);
    }
    return out;
  }

 private:
  const toml::node& need(std::string_view key) const {
    const toml::node* node = table_.get(key);
    if (node == nullptr) fail(table_.source().begin.line, fmt::format("key '{}' is missing", key));
    return *node;
  }

  const toml::table& table_;
  const std::string& file_;
  std::string name_ = "?";
};

/// What no single key can tell: each shape must be one that a kernel could be asked for.
void check_shape(const Workload& w, const Entry& entry) {
  if (w.rotary_dim % 2 != 0)
    entry.fail("rotary_dim", fmt::format("rotary_dim is {}; it must be even", w.rotary_dim));
  if (w.rotary_dim > w.head_dim)
    entry.fail("rotary_dim",
               fmt::format("rotary_dim {} exceeds head_dim {}", w.rotary_dim, w.head_dim));
  if (!std::isfinite(w.rope_theta) || w.rope_theta < 1)
    entry.fail("rope_theta",
               fmt::format("rope_theta is {}; it must be finite and at least 1", w.rope_theta));
  if (max_position_of(w) >= std::int64_t{1} << 31)
    entry.fail("tokens", fmt::format("tokens is {}; positions end at 2^31 - 1", w.tokens));
  const std::int64_t bytes = allocated_bytes(w);
  if (bytes == std::numeric_limits<std::int64_t>::max())
    entry.fail("batch", "the product of its sizes overflows 64 bits");
  if (bytes > workload_bytes_max)
    entry.fail("batch", fmt::format("it needs {} bytes; at most {} (64 GiB) are allowed", bytes,
                                    workload_bytes_max));
}

Workload read_entry(const toml::table& table, const std::string& file) {
  const Entry entry(table, file);
  entry.refuse_unknown_keys();
  Workload w;
  w.name = entry.text("name");
  if (!good_name(w.name))
    entry.fail("name", "a name is 1 to 100 characters of a-z, 0-9, '.', '_', '/' and '-'");
  w.model = entry.text("model");
  w.source = entry.text("source");
  w.phase = entry.choice("phase", {"decode", "prefill", "working_set"});
  const bool interleaved = entry.choice("pairing", {"interleaved", "half_split"}) == "interleaved";
  w.pairing = interleaved ? ROPE_INTERLEAVED : ROPE_HALF_SPLIT;
  w.dtype = entry.choice("dtype", {"f32", "f64"}) == "f64" ? ROPE_F64 : ROPE_F32;
  w.in_place = entry.choice("placement", {"in_place", "out_of_place"}) == "in_place";
  w.scattered = entry.choice("positions", {"consecutive", "scattered"}) == "scattered";
  w.q_heads = entry.size("q_heads");
  w.k_heads = entry.size("k_heads");
  w.head_dim = entry.size("head_dim");
  w.rotary_dim = entry.size("rotary_dim");
  w.rope_theta = entry.number("rope_theta");
  w.batch = entry.size("batch");
  w.tokens = entry.size("tokens");
  w.profiles = entry.words("profiles", {"smoke", "standard", "full"});
  check_shape(w, entry);
  return w;
}

std::string read_text(const std::filesystem::path& file) {
  const std::string name = shown(file.string());
  std::error_code error;
  const auto status = std::filesystem::status(file, error);
  if (!std::filesystem::exists(status)) throw WorkloadError(name + ": no such workload file");
  if (!std::filesystem::is_regular_file(status)) throw WorkloadError(name + ": not a regular file");
  std::ifstream in(file, std::ios::binary);
  std::string text(file_bytes_max + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!in.is_open() || in.bad()) throw WorkloadError(name + ": cannot be read");
  text.resize(static_cast<std::size_t>(in.gcount()));
  if (text.size() > file_bytes_max)
    throw WorkloadError(name + ": larger than 1 MiB; that is no list of workloads");
  return text;
}

toml::table parse_toml(std::string_view text, const std::string& file) {
  try {
    return toml::parse(text, std::string_view(file));
  } catch (const toml::parse_error& error) {
    throw WorkloadError(
        fmt::format("{}:{}: {}", file, error.source().begin.line, shown(error.description())));
  }
}

}  // namespace

std::vector<Workload> parse_workloads(std::string_view text, const std::string& file) {
  const toml::table root = parse_toml(text, file);
  for (const auto& [key, node] : root)
    if (key.str() != "workload" || !node.is_array_of_tables())
      throw WorkloadError(fmt::format("{}:{}: '{}' is not known here; only [[workload]] tables are",
                                      file, node.source().begin.line, shown(key.str())));
  const toml::array* entries = root.get_as<toml::array>("workload");
  if (entries == nullptr) throw WorkloadError(file + ":1: no [[workload]] in this file");
  std::vector<Workload> out;
  std::map<std::string, std::int64_t> lines;
  for (const toml::node& node : *entries) {
    const toml::table& table = *node.as_table();
    Workload workload = read_entry(table, file);
    const auto [seen, first] = lines.emplace(workload.name, table.source().begin.line);
    if (!first)
      Entry(table, file).fail("name", fmt::format("the name is taken since line {}", seen->second));
    out.push_back(std::move(workload));
  }
  return out;
}

std::vector<Workload> load_workloads(const std::filesystem::path& file) {
  return parse_workloads(read_text(file), shown(file.string()));
}

bool in_profile(const Workload& workload, std::string_view profile) {
  return std::find(workload.profiles.begin(), workload.profiles.end(), profile) !=
         workload.profiles.end();
}

std::string board_of(const Workload& workload, std::string_view angles) {
  return fmt::format(
      "{} / {} / {}{}{}", workload.pairing == ROPE_INTERLEAVED ? "interleaved" : "half_split",
      workload.dtype == ROPE_F64 ? "f64" : "f32", workload.in_place ? "in place" : "out of place",
      angles.empty() ? "" : " / ", angles);
}

rope_problem make_problem(const Workload& w, const std::vector<double>& inv_freq,
                          std::int32_t angle_source, std::int32_t operation) {
  rope_problem p{};
  p.struct_size = sizeof(p);
  p.abi_version = ROPE_ABI_VERSION;
  p.operation = operation;
  p.pairing = w.pairing;
  p.angle_source = angle_source;
  p.table_dtype = w.dtype;
  p.table_rows_by = ROPE_ROW_BY_POSITION;
  p.position_dtype = ROPE_I32;
  p.batch = w.batch;
  p.tokens = w.tokens;
  p.rotary_dim = w.rotary_dim;
  p.position_batch_stride = w.tokens;
  p.position_token_stride = 1;
  p.max_position = max_position_of(w);
  if (angle_source == ROPE_ANGLES_TABLE) {
    p.table_rows = p.max_position + 1;
    p.table_row_stride = w.rotary_dim / 2;
  }
  p.inv_freq = inv_freq.data();
  p.tensor_count = 2;
  for (const std::uint32_t i : {0u, 1u}) {
    rope_tensor& tensor = p.tensor[i];
    tensor.heads = i == 0 ? w.q_heads : w.k_heads;
    tensor.head_dim = w.head_dim;
    tensor.in_head_stride = tensor.out_head_stride = w.head_dim;
    tensor.in_token_stride = tensor.out_token_stride = tensor.heads * w.head_dim;
    tensor.in_batch_stride = tensor.out_batch_stride = w.tokens * tensor.in_token_stride;
    tensor.in_dtype = tensor.out_dtype = w.dtype;
    tensor.rotate = 1;
    tensor.in_place = w.in_place ? 1 : 0;
  }
  return p;
}

}  // namespace ropewalk
