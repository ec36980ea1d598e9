#include "harness/cases/case.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <sstream>

#include "base/text_file.h"
#include "harness/cases/data.h"
#include "harness/cases/names.h"
#include "reference/frequency_rule.h"

namespace ropewalk::harness {
namespace {

constexpr Words<11> pattern_words{"unit",    "wide",      "basis", "decay", "tiny",      "huge",
                                  "special", "subnormal", "edge",  "span",  "zero_heads"};
constexpr Words<3> before_words{"nothing", "other_contents", "other_state"};

// Calls `visit(name, field, words...)` once for each field of a case, with its word in a replay
// line.
template <class C, class Visit>
void visit_fields(C& c, Visit&& visit) {
  visit("kernel", c.kernel);
  visit("plugin", c.plugin);
  visit("property", c.property);
  visit("contract", c.contract, contract_words);
  visit("op", c.operation, operation_words);
  visit("pairing", c.pairing, pairing_words);
  visit("dtype", c.dtype, dtype_words);
  visit("batch", c.batch);
  visit("tokens", c.tokens);
  visit("rotary_dim", c.rotary_dim);
  visit("rope_theta", c.rope_theta);
  visit("scaling", c.scaling);
  visit("scaling_values", c.scaling_values);
  visit("inv_freq", c.inv_freq);
  visit("position_dtype", c.position_dtype, dtype_words);
  visit("positions_null", c.positions_null);
  visit("position_batch_stride", c.position_batch_stride);
  visit("position_token_stride", c.position_token_stride);
  visit("rows_by", c.rows_by, rows_by_words);
  visit("table_spare_rows", c.table_spare_rows);
  visit("table_row_stride", c.table_row_stride);
  visit("table_dtype", c.table_dtype, dtype_words);
  visit("own_tables", c.own_tables);
  visit("own_sin", c.own_sin);
  visit("attention_scale", c.attention_scale);
  visit("data", c.data, pattern_words);
  visit("seed", c.seed);
  visit("shift", c.shift);
  visit("before", c.before, before_words);
  visit("callers", c.callers);
  visit("fused", c.fused);
}

template <class T, class Visit>
void visit_tensor_fields(T& t, Visit&& visit) {
  visit("heads", t.heads);
  visit("head_dim", t.head_dim);
  visit("dtype", t.dtype, dtype_words);
  visit("offset", t.rotary_offset);
  visit("rotate", t.rotate);
  visit("in_place", t.in_place);
  visit("in", t.in);
  visit("out", t.out);
  visit("in_at", t.in_at);
  visit("out_at", t.out_at);
  visit("values", t.values);
}

// ---- writing

// A path may hold any bytes. All but plain characters become %XX, so a line has no spaces or
// quotes.
std::string show(const std::string& v) {
  std::string out;
  for (const char c : v) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("_./+-").find(c) != std::string_view::npos;
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}
std::string show(bool v) {
  return v ? "1" : "0";
}
std::string show(std::int64_t v) {
  return fmt::format("{}", v);
}
std::string show(std::uint64_t v) {
  return fmt::format("{:#x}", v);
}
std::string show(double v) {
  constexpr double plain = 1e6;  // up to here whole numbers are exact in decimal too, and shorter
  if (v == std::trunc(v) && std::abs(v) <= plain && !(v == 0 && std::signbit(v)))
    return fmt::format("{}", static_cast<std::int64_t>(v));
  return fmt::format("{:a}", v);
}
std::string show(const Strides& s) {
  return fmt::format("{},{},{}", s.batch, s.token, s.head);
}
template <class T>
std::string show(const std::vector<T>& list) {
  std::string out;
  for (const T& v : list) out += (out.empty() ? "" : ",") + show(v);
  return out;
}
template <class E, std::size_t N>
std::string show(E value, const Words<N>& words) {
  return std::string(word_of(words, static_cast<std::int64_t>(value)));
}

// Empty: the field is left out of the line.
template <class E, std::size_t N>
std::string show(const std::optional<E>& value, const Words<N>& words) {
  return value ? show(*value, words) : "";
}

std::string show_positions(const Case& c) {
  switch (c.position_rule) {
    case PositionRule::list:
      return show(c.positions);
    case PositionRule::random:
      return fmt::format("random:{}:{}", c.position_from, c.position_to);
    case PositionRule::consecutive:
      return fmt::format("from:{}:{}", c.position_from, c.position_step);
  }
  __builtin_unreachable();
}

// ---- reading

[[noreturn]] void bad_value(std::string_view name, std::string_view text, std::string_view wanted) {
  throw BadCase(fmt::format("replay line: {}={} is not {}", name, shown(text), wanted));
}

std::int64_t read_integer(std::string_view name, std::string_view text) {
  std::int64_t v = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
  if (error != std::errc{} || end != text.data() + text.size())
    bad_value(name, text, "an integer that fits 64 bits");
  return v;
}

double read_double(std::string_view name, std::string_view text) {
  const std::string copy(text);
  char* end = nullptr;
  const double v = std::strtod(copy.c_str(), &end);  // accepts hex floats, inf and nan
  if (copy.empty() || end != copy.c_str() + copy.size()) bad_value(name, text, "a number");
  return v;
}

// An empty list or a surplus comma gives an item that is no number, and `read` refuses it.
template <class Read>
void for_each_item(std::string_view text, Read&& read) {
  for (;;) {
    const auto comma = text.find(',');
    read(text.substr(0, comma));
    if (comma == std::string_view::npos) return;
    text.remove_prefix(comma + 1);
  }
}

struct FieldReader {
  std::string_view name, text;
  void operator()(std::string& v) const {
    v.clear();
    for (std::size_t i = 0; i < text.size(); ++i) {
      unsigned byte = 0;
      const char* digits = text.data() + i + 1;
      if (text[i] != '%') {
        v += text[i];
      } else if (i + 2 < text.size() &&
                 std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2) {
        v += static_cast<char>(byte);
        i += 2;
      } else {
        bad_value(name, text, "a text with %XX for special characters");
      }
    }
  }
  void operator()(bool& v) const {
    if (text != "0" && text != "1") bad_value(name, text, "0 or 1");
    v = text == "1";
  }
  void operator()(std::int64_t& v) const { v = read_integer(name, text); }
  void operator()(std::uint64_t& v) const {
    const bool hex = text.starts_with("0x");
    const auto digits = hex ? text.substr(2) : text;
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), v, hex ? 16 : 10);
    if (error != std::errc{} || end != digits.data() + digits.size())
      bad_value(name, text, "an unsigned integer");
  }
  void operator()(double& v) const { v = read_double(name, text); }
  void operator()(std::vector<double>& v) const {
    for_each_item(text, [&](std::string_view item) { v.push_back(read_double(name, item)); });
  }
  void operator()(Strides& s) const {
    std::vector<std::int64_t> v;
    for_each_item(text, [&](std::string_view item) { v.push_back(read_integer(name, item)); });
    if (v.size() != 3) bad_value(name, text, "three strides: batch,token,head");
    s = {v[0], v[1], v[2]};
  }
  template <class E, std::size_t N>
  void operator()(E& v, const Words<N>& words) const {
    const auto found = std::find(words.begin(), words.end(), text);
    if (found == words.end()) {
      std::string known;
      for (const auto& w : words) known += (known.empty() ? "" : ", ") + std::string(w);
      bad_value(name, text, "one of " + known);
    }
    v = static_cast<E>(found - words.begin());
  }
  template <class E, std::size_t N>
  void operator()(std::optional<E>& v, const Words<N>& words) const {
    (*this)(v.emplace(), words);
  }
};

void read_positions(Case& c, std::string_view text) {
  const auto parts = [&](std::string_view rest) {
    const auto colon = rest.find(':');
    if (colon == std::string_view::npos) bad_value("positions", text, "WORD:A:B");
    return std::pair{read_integer("positions", rest.substr(0, colon)),
                     read_integer("positions", rest.substr(colon + 1))};
  };
  if (text.starts_with("from:")) {
    c.position_rule = PositionRule::consecutive;
    std::tie(c.position_from, c.position_step) = parts(text.substr(5));
  } else if (text.starts_with("random:")) {
    c.position_rule = PositionRule::random;
    std::tie(c.position_from, c.position_to) = parts(text.substr(7));
  } else {
    c.position_rule = PositionRule::list;
    if (text.empty()) return;  // an empty list is no case, as validate() reports
    for_each_item(text, [&](std::string_view item) {
      c.positions.push_back(read_integer("positions", item));
    });
  }
}

// Returns 0 for "q.heads". Makes the tensor when it is first named. -1: the word is not a tensor's.
int tensor_of(Case& c, std::string_view& name) {
  for (std::size_t i = 0; i < tensor_words.size(); ++i) {
    const std::string prefix = std::string(tensor_words[i]) + ".";
    if (!name.starts_with(prefix)) continue;
    name.remove_prefix(prefix.size());
    if (c.tensors.size() <= i) c.tensors.resize(i + 1);
    return static_cast<int>(i);
  }
  return -1;
}

void read_word(Case& c, const std::string& word) {
  const auto equals = word.find('=');
  if (equals == std::string::npos)
    throw BadCase("replay line: '" + shown(word) + "' is not of the form name=value");
  const std::string_view whole_name = std::string_view(word).substr(0, equals);
  std::string_view name = whole_name;
  const std::string_view text = std::string_view(word).substr(equals + 1);
  if (name == "positions") return read_positions(c, text);
  bool known = false;
  const auto read = [&](std::string_view field, auto& value, const auto&... words) {
    if (field != name) return;
    known = true;
    FieldReader{whole_name, text}(value, words...);
  };
  const int tensor = tensor_of(c, name);
  if (tensor >= 0)
    visit_tensor_fields(c.tensors[static_cast<std::size_t>(tensor)], read);
  else
    visit_fields(c, read);
  if (!known)
    throw BadCase("replay line: unknown word '" + shown(whole_name) +
                  "' (docs/replay.md lists them)");
}

}  // namespace

std::string to_text(const Case& c) {
  static const Case defaults;
  std::map<std::string_view, std::string> default_words;
  visit_fields(defaults, [&](std::string_view name, const auto& v, const auto&... words) {
    default_words[name] = show(v, words...);
  });
  std::string out;
  const auto add = [&](std::string_view name, const std::string& value) {
    out += fmt::format("{}{}={}", out.empty() ? "" : " ", name, value);
  };
  visit_fields(c, [&](std::string_view name, const auto& v, const auto&... words) {
    if (const std::string text = show(v, words...); text != default_words[name]) add(name, text);
  });
  add("positions", show_positions(c));
  static const TensorCase plain_tensor;
  for (std::size_t i = 0; i < c.tensors.size(); ++i) {
    std::map<std::string_view, std::string> tensor_defaults;
    const auto keep = [&](std::string_view name, const auto& v, const auto&... words) {
      tensor_defaults[name] = show(v, words...);
    };
    visit_tensor_fields(plain_tensor, keep);
    visit_tensor_fields(c.tensors[i],
                        [&](std::string_view name, const auto& v, const auto&... words) {
                          const std::string text = show(v, words...);
                          if (text != tensor_defaults[name] || name == "heads")
                            add(fmt::format("{}.{}", tensor_words[i], name), text);
                        });
  }
  return out;
}

Case case_from_text(const std::string& text) {
  constexpr std::size_t longest = 1 << 20;
  if (text.size() > longest) throw BadCase("replay line: longer than 1 MiB");
  Case c;
  std::istringstream in(text);
  std::set<std::string> seen;
  for (std::string word; in >> word;) {
    if (!seen.insert(word.substr(0, word.find('='))).second)
      throw BadCase("replay line: '" + shown(word.substr(0, word.find('='))) + "' is given twice");
    read_word(c, word);
  }
  return c;
}

std::vector<Dtype> types_beside(Dtype dtype) {
  std::vector<Dtype> out(tensor_dtypes.begin(), tensor_dtypes.end());
  std::erase(out, dtype);
  return out;
}

std::vector<std::int64_t> positions_of(const Case& c) {
  if (c.position_rule == PositionRule::list) return c.positions;
  std::vector<std::int64_t> out;
  out.reserve(static_cast<std::size_t>(c.batch * c.tokens));
  // A broadcast axis (stride 0) repeats its first value.
  const bool one_row = c.position_batch_stride == 0, one_token = c.position_token_stride == 0;
  for (std::int64_t b = 0; b < c.batch; ++b)
    for (std::int64_t t = 0; t < c.tokens; ++t) {
      const std::int64_t row = one_row ? 0 : b, token = one_token ? 0 : t;
      if (c.position_rule == PositionRule::consecutive) {
        out.push_back(c.position_from + c.position_step * token);
      } else {
        const auto span = static_cast<std::uint64_t>(c.position_to - c.position_from) + 1;
        out.push_back(c.position_from +
                      static_cast<std::int64_t>(hash(c.seed, 0x705, row, token) % span));
      }
    }
  return out;
}

std::vector<double> frequencies_of(const Case& c) {
  if (!c.inv_freq.empty()) return c.inv_freq;
  const FrequencyRule* rule = find_frequency_rule(c.scaling);
  if (rule == nullptr) throw BadCase("scaling '" + shown(c.scaling) + "' is unknown");
  const auto make = c.contract == ROPE_CONTRACT_F32_ANGLE ? rule_frequencies_f32 : rule_frequencies;
  return make(*rule, c.rope_theta, c.rotary_dim, c.scaling_values);
}

}  // namespace ropewalk::harness
