// Reads and writes the words of a replay line.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <sstream>

#include "base/text_file.h"
#include "harness/cases/axes.h"
#include "harness/cases/fields.h"
#include "harness/cases/names.h"

namespace ropewalk::harness {
namespace {

// ---- writing

// A path may hold any bytes. All but plain characters become %XX, so a line has no spaces or
// quotes.
std::string show(const std::string& v) {
  std::string out;
  for (const char c : v) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("_./+-:=").find(c) != std::string_view::npos;
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
std::string show(const std::vector<std::uint8_t>& axis_of_pair) {
  return map_text(axis_of_pair);
}
template <class T>
std::string show(const std::vector<T>& list) {
  std::string out;
  for (const T& v : list) out += (out.empty() ? "" : ",") + show(v);
  return out;
}
template <class E, std::size_t N>
requires(N > 0) std::string show(E value, const Words<N>& words) {
  return std::string(word_of(words, static_cast<std::int64_t>(value)));
}

// Empty: the field is left out of the line.
template <class E, std::size_t N>
std::string show(const std::optional<E>& value, const Words<N>& words) {
  return value ? show(*value, words) : "";
}

std::string show(const Positions<const Case>& positions) {
  const Case& c = positions.of;
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
template <class T>
std::string show(const T& value, const Words<0>&) {
  return show(value);
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

// Reads the text of a field.
struct Reader {
  std::string_view name, text;
  bool may_be_empty;  // a list, or what may be absent
  Range range;        // of words
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
    v.clear();
    if (text.empty() && may_be_empty) return;
    for_each_item(text, [&](std::string_view item) { v.push_back(read_double(name, item)); });
  }
  void operator()(std::vector<std::int64_t>& v) const {
    v.clear();
    if (text.empty() && may_be_empty) return;
    for_each_item(text, [&](std::string_view item) { v.push_back(read_integer(name, item)); });
  }
  void operator()(std::vector<std::uint8_t>& axis_of_pair) const {
    axis_of_pair = map_of_text(text);
    if (axis_of_pair.empty() && !(text.empty() && may_be_empty))
      bad_value(name, text, "a map of axes 0 to 3, as 0*16,1*24 or (0,1,2)*20");
  }
  void operator()(Strides& s) const {
    std::vector<std::int64_t> v;
    for_each_item(text, [&](std::string_view item) { v.push_back(read_integer(name, item)); });
    if (v.size() != 3) bad_value(name, text, "three strides: batch,token,head");
    s = {v[0], v[1], v[2]};
  }
  template <class E, std::size_t N>
  requires(N > 0) void operator()(E& v, const Words<N>& words) const {
    const auto known = words_in(words, range);
    const auto found = std::ranges::find(known, text);
    if (found == known.end())
      bad_value(name, text, fmt::format("one of {}", fmt::join(known, ", ")));
    v = static_cast<E>(&*found - words.data());
  }
  template <class T>
  void operator()(T&& v, const Words<0>&) const {
    (*this)(v);
  }
  template <class E, std::size_t N>
  void operator()(std::optional<E>& v, const Words<N>& words) const {
    v.reset();
    if (!text.empty() || !may_be_empty) (*this)(v.emplace(), words);
  }
  void operator()(const Positions<Case>& positions) const {
    Case& c = positions.of;
    c.positions.clear();
    c.position_from = c.position_to = 0;
    c.position_step = 1;
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
};

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

// Of a call, a list may be empty, and position_from alone may change.
void read_word(Case& c, std::string_view whole_name, std::string_view name, std::string_view text,
               bool of_call) {
  bool known = of_call && name == "position_from";
  if (known) c.position_from = read_integer(whole_name, text);
  if (known && c.position_rule != PositionRule::consecutive)
    throw BadCase(
        fmt::format("replay line: {}={} needs a call before it whose positions are from:A:STEP",
                    whole_name, shown(text)));
  const auto read_in = [&](auto& of) {
    return [&](const auto& field) {
      if (field.word != name) return;
      known = true;
      Reader{whole_name, text, of_call, field.range}(std::invoke(field.get, of), field.words);
    };
  };
  const int tensor = tensor_of(c, name);
  if (tensor >= 0)
    for_each_field(tensor_fields, read_in(c.tensors[static_cast<std::size_t>(tensor)]));
  else
    for_each_field(case_fields, read_in(c));
  if (name == "shift")
    throw BadCase(
        "replay line: 'shift' has other words now, one for each of its meanings: position_shift, "
        "cut, lead, far_rows, slots_behind, beside, callers_share and fresh (docs/replay.md)");
  if (!known)
    throw BadCase("replay line: unknown word '" + shown(whole_name) +
                  "' (docs/replay.md lists them)");
}

bool is_of_tensors(std::string_view name) {
  bool found = false;
  for_each_field(tensor_fields, [&](const auto& field) { found = found || field.word == name; });
  for_each_field(case_fields, [&](const auto& field) { found = found && field.word != name; });
  return found;
}

// "cycle:5,9,12": these positions, until there are enough.
void cycle_positions(Case& c, std::string_view text) {
  std::vector<std::int64_t> cycle;
  for_each_item(text,
                [&](std::string_view item) { cycle.push_back(read_integer("positions", item)); });
  c.position_rule = PositionRule::list;
  c.position_from = c.position_to = 0;
  c.position_step = 1;
  c.positions.resize(static_cast<std::size_t>(c.axes * c.batch * c.tokens));
  for (std::size_t i = 0; i < c.positions.size(); ++i) c.positions[i] = cycle[i % cycle.size()];
}

void add_tensors(Case& c, std::int64_t count) {
  if (count < 1 || count > ROPE_MAX_TENSORS) bad_value("tensors", show(count), "1 to 4");
  if (c.tensors.size() < static_cast<std::size_t>(count))
    c.tensors.resize(static_cast<std::size_t>(count), c.tensors[0]);
}

void patch(Case& c, std::string_view whole_name, std::string_view name, std::string_view text) {
  constexpr std::string_view cycle = "cycle:", rotary = "rotary+";
  for (const auto& [short_word, word] : short_words)
    if (name == short_word) name = word;
  std::string dims;
  if (name == "head_dim" && text.starts_with(rotary)) {
    dims = show(c.rotary_dim + read_integer(whole_name, text.substr(rotary.size())));
    text = dims;
  }
  if (name == "tensors") return add_tensors(c, read_integer(whole_name, text));
  if (name == "positions" && text.starts_with(cycle))
    return cycle_positions(c, text.substr(cycle.size()));
  if (!is_of_tensors(name)) return read_word(c, whole_name, name, text, true);
  for (std::size_t i = 0; i < c.tensors.size(); ++i)
    if (name != "in_place" || !c.tensors[i].append)
      read_word(c, whole_name, fmt::format("{}.{}", tensor_words[i], name), text, true);
}

struct Word {
  std::string_view whole_name, name, text;
};

Word split(std::string_view word) {
  const auto equals = word.find('=');
  if (equals == std::string_view::npos)
    throw BadCase("replay line: '" + shown(word) + "' is not of the form name=value");
  return {word.substr(0, equals), word.substr(0, equals), word.substr(equals + 1)};
}

// "v" is another word for "t2", the third tensor.
std::string with_tensor_word(std::string word) {
  const std::size_t at = word.starts_with("call.") ? word.find('.', 5) + 1 : 0;
  if (word.compare(at, 2, "v.") == 0) word.replace(at, 1, tensor_words[2]);
  return word;
}

// Takes "call.3." off a word and returns 3. 0: the word is of the first call.
std::int64_t call_of(Word& word) {
  constexpr std::string_view prefix = "call.";
  if (!word.name.starts_with(prefix)) return 0;
  const auto dot = word.name.find('.', prefix.size());
  const std::string_view number = word.name.substr(prefix.size(), dot - prefix.size());
  std::int64_t call = 0;
  const char* const end = number.data() + number.size();
  if (dot == std::string_view::npos || std::from_chars(number.data(), end, call).ptr != end ||
      call < 2 || call > most_calls)
    throw BadCase(fmt::format("replay line: '{}' names no call: call.2. to call.{}.",
                              shown(word.whole_name), most_calls));
  word.name.remove_prefix(dot + 1);
  return call;
}

// Values of lists and letters, which each call has again.
std::size_t listed_in(const Case& c) {
  std::size_t listed = c.positions.size() + c.inv_freq.size() + c.scaling_values.size() +
                       c.axis_of_pair.size() + c.slots.size() + c.kernel.size() + c.plugin.size() +
                       c.property.size() + c.scaling.size();
  for (const TensorCase& t : c.tensors) listed += t.values.size() + t.weights.size();
  return listed;
}

// Makes the later calls, each from the one before, with a seed one larger.
void read_calls(Case& c, std::int64_t count,
                const std::map<std::int64_t, std::vector<Word>>& words) {
  constexpr std::size_t most_listed = 1 << 20;
  std::size_t listed = 0;
  Case call = c;
  for (std::int64_t k = 2; k <= count; ++k) {
    ++call.seed;
    if (const auto changes = words.find(k); changes != words.end())
      for (const Word& word : changes->second)
        read_word(call, word.whole_name, word.name, word.text, true);
    listed += listed_in(call);
    if (listed > most_listed)
      throw BadCase("replay line: the calls have more than a million listed values");
    c.calls.push_back(call);
  }
}

// Calls visit(word, value) for all words of a call.
template <class Visit>
void for_each_word(const Case& c, Visit&& visit) {
  for_each_field(case_fields, [&](const auto& field) {
    visit(std::string(field.word), show(std::invoke(field.get, c), field.words));
  });
  for (std::size_t i = 0; i < c.tensors.size(); ++i)
    for_each_field(tensor_fields, [&](const auto& field) {
      visit(fmt::format("{}.{}", tensor_words[i], field.word),
            show(std::invoke(field.get, c.tensors[i]), field.words));
    });
}

// What values a field may have.
template <class T, std::size_t N>
std::string kind_of(const T&, const Words<N>& words, Range range) {
  if constexpr (N > 0) return fmt::format("`{}`", fmt::join(words_in(words, range), "`, `"));
  if constexpr (std::is_same_v<T, bool>) return "0 or 1";
  if constexpr (std::is_same_v<T, std::string>) return "text";
  if constexpr (std::is_same_v<T, Strides>) return "three";
  if constexpr (std::is_integral_v<T>)
    if (std::isinf(range.least) && std::isinf(range.most)) return "any integer";
  if constexpr (std::is_arithmetic_v<T>) return range_text(range);
  return range.least > std::numeric_limits<double>::lowest() ? "list, " + range_text(range)
                                                             : "list";
}

template <class Fields, class Owner>
std::string table_of(const Fields& fields, const Owner& plain) {
  std::string out = "| word | default | values | meaning |\n|---|---|---|---|\n";
  for_each_field(fields, [&](const auto& field) {
    const auto& value = std::invoke(field.get, plain);
    std::string text = show(value, field.words);
    if constexpr (std::is_same_v<decltype(value), const double&>) text = fmt::format("{}", value);
    out +=
        fmt::format("| `{}` | {} | {} | {} |\n", field.word, text.empty() ? "" : "`" + text + "`",
                    kind_of(value, field.words, field.range), field.meaning);
  });
  return out;
}

std::map<std::string, std::string> words_of(const Case& c) {
  std::map<std::string, std::string> words;
  for_each_word(c, [&](const std::string& name, const std::string& text) { words[name] = text; });
  return words;
}

// How a call differs from the one before.
std::string changes_of(const Case& before, const Case& call, std::size_t number) {
  std::map<std::string, std::string> known = words_of(before);
  known["seed"] = show(before.seed + 1);
  const bool only_from = before.position_rule == PositionRule::consecutive &&
                         call.position_rule == PositionRule::consecutive &&
                         before.position_step == call.position_step;
  std::string out;
  for_each_word(call, [&](const std::string& name, const std::string& text) {
    if (const auto found = known.find(name); found != known.end() && found->second == text) return;
    const bool from = name == "positions" && only_from;
    out += fmt::format(" call.{}.{}={}", number, from ? "position_from" : name,
                       from ? show(call.position_from) : text);
  });
  return out;
}

}  // namespace

std::string to_text(const Case& c) {
  static const auto defaults = [] {
    Case all;
    all.tensors.resize(ROPE_MAX_TENSORS);
    return words_of(all);
  }();
  std::string out;
  for_each_word(c, [&](const std::string& name, const std::string& text) {
    if (text == defaults.at(name) && name != "positions" && !name.ends_with(".heads")) return;
    out += fmt::format("{}{}={}", out.empty() ? "" : " ", name, text);
  });
  if (!c.calls.empty()) out += fmt::format(" calls={}", c.calls.size() + 1);
  for (std::size_t i = 0; i < c.calls.size(); ++i)
    out += changes_of(i == 0 ? c : c.calls[i - 1], c.calls[i], i + 2);
  return out;
}

Case patched(Case c, std::string_view words) {
  std::istringstream in{std::string(words)};
  for (std::string each; in >> each;) {
    const Word word = split(each);
    patch(c, word.whole_name, word.name, word.text);
  }
  return c;
}

Case case_from_text(const std::string& text) {
  constexpr std::size_t longest = 1 << 20;
  if (text.size() > longest) throw BadCase("replay line: longer than 1 MiB");
  Case c;
  std::istringstream in(text);
  std::set<std::string> seen;
  std::map<std::int64_t, std::vector<Word>> of_calls;
  std::int64_t calls = 0, last_named = 1;
  std::vector<std::string> all;
  for (std::string word; in >> word;)
    if (!all.empty() && all.back().ends_with(','))
      all.back() += word;  // a list over several lines
    else
      all.push_back(with_tensor_word(word));
  for (const std::string& each : all) {
    Word word = split(each);
    if (!seen.insert(std::string(word.name)).second)
      throw BadCase("replay line: '" + shown(word.name) + "' is given twice");
    if (word.name == "calls") {
      calls = read_integer(word.name, word.text);
      if (calls < 1 || calls > most_calls)
        bad_value(word.name, word.text, fmt::format("1 to {}", most_calls));
    } else if (const std::int64_t call = call_of(word); call > 0) {
      last_named = std::max(last_named, call);
      of_calls[call].push_back(word);
    } else {
      read_word(c, word.whole_name, word.name, word.text, false);
    }
  }
  if (calls > 0 && last_named > calls)
    throw BadCase(fmt::format("replay line: there is no call {}: calls={}", last_named, calls));
  read_calls(c, std::max(calls, last_named), of_calls);
  return c;
}

std::string words_of_a_case() {
  return table_of(case_fields, Case{});
}
std::string words_of_a_tensor() {
  return table_of(tensor_fields, TensorCase{});
}

}  // namespace ropewalk::harness
