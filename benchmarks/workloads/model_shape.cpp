#include "benchmarks/workloads/model_shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "benchmarks/workloads/workload_shape.h"

namespace ropewalk::bench {

const char* const shape_help =
    "q= heads of Q, k= heads of K (default: as Q), d= size of a head, kd= size of a head of K "
    "(default: d), rd= rotated elements of a head (default: all), theta= (default: 10000), "
    "pairing=half_split|interleaved (default: half_split), dtype=f32|f64 (default: f32), "
    "in_place=yes|no (default: yes), tokens= and batch= (without both: all phases), "
    "positions=consecutive|scattered (default: scattered for one token)";

namespace {

[[noreturn]] void fail(const std::string& what) {
  throw BadFile("--shape: " + what);
}

/// The words of a shape. Each may be given once.
class ShapeWords {
 public:
  explicit ShapeWords(std::string_view text) {
    if (text.empty()) fail("it is empty; for example q=32,k=8,d=128");
    while (true) {
      const std::size_t end = std::min(text.find(','), text.size());
      add(text.substr(0, end));
      if (end == text.size()) break;
      text.remove_prefix(end + 1);
    }
  }

  bool holds(const std::string& name) const { return words_.contains(name); }

  std::optional<std::int64_t> size(const std::string& name) const {
    const auto found = words_.find(name);
    if (found == words_.end()) return std::nullopt;
    const std::string& text = found->second;
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    constexpr std::int64_t largest = std::int64_t{1} << 31;
    if (error != std::errc{} || end != text.data() + text.size() || value < 1 || value > largest)
      fail(fmt::format("{}={}: it must be an integer from 1 to 2^31", name, shown(text)));
    return value;
  }

  double number_or(const std::string& name, double otherwise) const {
    const auto found = words_.find(name);
    if (found == words_.end()) return otherwise;
    const std::string& text = found->second;
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size())
      fail(fmt::format("{}={}: it must be a number", name, shown(text)));
    return value;
  }

  /// Whether the value is the second of two words. Without a value it is the first.
  bool is_second(const std::string& name, std::string_view first, std::string_view second) const {
    const auto found = words_.find(name);
    if (found == words_.end() || found->second == first) return false;
    if (found->second != second)
      fail(fmt::format("{}={}: it must be {} or {}", name, shown(found->second), first, second));
    return true;
  }

 private:
  void add(std::string_view word) {
    static constexpr std::string_view known[] = {"q",     "k",       "d",        "kd",
                                                 "rd",    "theta",   "tokens",   "batch",
                                                 "dtype", "pairing", "in_place", "positions"};
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos || equals + 1 == word.size())
      fail("'" + shown(word) + "' is not of the form name=value");
    const std::string name(word.substr(0, equals));
    if (std::find(std::begin(known), std::end(known), name) == std::end(known))
      fail(fmt::format("'{}' is not known; known: {}", shown(name), fmt::join(known, ", ")));
    if (!words_.emplace(name, word.substr(equals + 1)).second) fail("'" + name + "' stands twice");
  }

  std::map<std::string, std::string> words_;
};

std::string name_of(const Workload& w) {
  const WorkloadTensor &q = w.tensors[0], &k = w.tensors[1];
  std::string out = fmt::format("shape-q{}-k{}-d{}", q.heads, k.heads, q.head_dim);
  if (k.head_dim != q.head_dim) out += fmt::format("-kd{}", k.head_dim);
  if (w.rotary_dim != q.head_dim) out += fmt::format("-rd{}", w.rotary_dim);
  if (w.rope_theta != 10000) out += fmt::format("-theta{}", w.rope_theta);
  if (w.pairing == Pairing::interleaved) out += "-interleaved";
  if (w.dtype == Dtype::f64) out += "-f64";
  if (!w.in_place) out += "-out-of-place";
  std::erase(out, '+');  // of an exponent
  return out;
}

/// Reads everything but name, phase, batch and tokens.
Workload model_of(const ShapeWords& words) {
  Workload w;
  for (const char* needed : {"q", "d"})
    if (!words.holds(needed)) fail(fmt::format("'{}=' is missing", needed));
  w.tensors[0] = {*words.size("q"), *words.size("d"), 0};
  w.tensors[1] = {words.size("k").value_or(w.tensors[0].heads),
                  words.size("kd").value_or(w.tensors[0].head_dim), 0};
  w.rotary_dim = words.size("rd").value_or(w.tensors[0].head_dim);
  w.rope_theta = words.number_or("theta", w.rope_theta);
  w.pairing = words.is_second("pairing", "half_split", "interleaved") ? Pairing::interleaved
                                                                      : Pairing::half_split;
  w.dtype = words.is_second("dtype", "f32", "f64") ? Dtype::f64 : Dtype::f32;
  w.in_place = !words.is_second("in_place", "yes", "no");
  return w;
}

}  // namespace

bool shape_states(std::string_view text, const std::string& word) {
  return ShapeWords(text).holds(word);
}

std::vector<Workload> parse_shape(std::string_view text) {
  const ShapeWords words(text);
  Workload w = model_of(words);
  if (const auto fault = shape_fault(w)) fail(fault->what);
  w.name = w.model = name_of(w);
  w.source = "--shape " + shown(text, 900);
  const auto tokens = words.size("tokens"), batch = words.size("batch");
  if (!tokens && !batch) {
    if (words.holds("positions")) fail("positions= needs tokens= or batch=");
    return through_phases(w, "--shape");
  }
  w.tokens = tokens.value_or(1);
  w.batch = batch.value_or(1);
  w.phase = w.tokens == 1 ? report::WorkloadPhase::decode : report::WorkloadPhase::prefill;
  w.scattered = w.tokens == 1;
  if (words.holds("positions"))
    w.scattered = words.is_second("positions", "consecutive", "scattered");
  w.name += fmt::format("/t{}-b{}{}", w.tokens, w.batch,
                        w.scattered == (w.tokens == 1) ? ""
                        : w.scattered                  ? "-scattered"
                                                       : "-consecutive");
  w.profiles = {"smoke", "standard", "full"};
  if (const auto fault = shape_fault(w)) fail(fault->what);
  return {w};
}

}  // namespace ropewalk::bench
