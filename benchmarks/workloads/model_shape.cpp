#include "benchmarks/workloads/model_shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>

#include "base/fingerprint.h"
#include "benchmarks/workloads/scaling.h"
#include "benchmarks/workloads/workload_layout.h"
#include "benchmarks/workloads/workload_shape.h"

namespace ropewalk::bench {

const char* const shape_help =
    "q= heads of Q, k= heads of K (default: as Q), d= size of a head, kd= size of a head of K "
    "(default: d), rd= rotated elements of a head (default: all), theta= (default: 10000), "
    "pairing=half_split|interleaved (default: half_split), dtype=f32|f64|f16|bf16 (default: f32), "
    "in_place=yes|no (default: yes), qo= and ko= where the rotated window of a head of Q and of K "
    "begins (default: 0; ko= as qo= if the heads are equal), position_dtype=i32|i64 (default: "
    "i32), "
    "scale= factor on the result (default: none), layout=packed|head_major|fused|padded (default: "
    "packed), tokens= and batch= (without both: all phases), "
    "positions=consecutive|scattered (default: scattered for one token); and words of a replay "
    "line: q.heads= k.heads= q.head_dim= k.head_dim= q.offset= k.offset= rotary_dim= rope_theta= "
    "attention_scale= scaling= scaling_values= table_dtype=";

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
      const std::size_t end = std::min(text.find_first_of(", "), text.size());
      add(text.substr(0, end));
      if (end == text.size()) break;
      text.remove_prefix(end + 1);
    }
  }

  bool holds(const std::string& name) const { return words_.contains(name); }

  std::optional<std::int64_t> size(const std::string& name, std::int64_t least = 1) const {
    const auto found = words_.find(name);
    if (found == words_.end()) return std::nullopt;
    const std::string& text = found->second;
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    constexpr std::int64_t largest = std::int64_t{1} << 31;
    if (error != std::errc{} || end != text.data() + text.size() || value < least ||
        value > largest)
      fail(fmt::format("{}={}: it must be an integer from {} to 2^31", name, shown(text), least));
    return value;
  }

  double number_or(const std::string& name, double otherwise) const {
    const auto found = words_.find(name);
    if (found == words_.end()) return otherwise;
    try {
      return harness::case_from_text("rope_theta=" + found->second).rope_theta;
    } catch (const harness::BadCase&) {
      fail(fmt::format("{}={}: it must be a number", name, shown(found->second)));
    }
  }

  /// The words that only a replay line has, as a case.
  harness::Case rest() const {
    std::string text;
    for (const std::string_view name : of_replay)
      if (const auto found = words_.find(std::string(name)); found != words_.end())
        text += fmt::format("{}={} ", name, found->second);
    try {
      return harness::case_from_text(text);
    } catch (const harness::BadCase& bad) {
      fail(bad.what());
    }
  }

  /// The place of the value in a list of words. Without a value it is the first.
  template <class Words>
  std::size_t choice(const std::string& name, const Words& known) const {
    const auto found = words_.find(name);
    if (found == words_.end()) return 0;
    const auto at = std::find(std::begin(known), std::end(known), found->second);
    if (at == std::end(known))
      fail(fmt::format("{}={}: it must be {}", name, shown(found->second),
                       fmt::join(known, " or ")));
    return static_cast<std::size_t>(at - std::begin(known));
  }

  /// Whether the value is the second of two words.
  bool is_second(const std::string& name, std::string_view first, std::string_view second) const {
    return choice(name, std::array{first, second}) == 1;
  }

 private:
  static constexpr std::array<std::string_view, 3> of_replay{"scaling", "scaling_values",
                                                             "table_dtype"};

  void add(std::string_view word) {
    static constexpr std::string_view known[] = {
        "q",       "k",        "d",         "kd", "rd", "theta", "tokens", "batch",         "dtype",
        "pairing", "in_place", "positions", "qo", "ko", "scale", "layout", "position_dtype"};
    static const std::map<std::string_view, std::string> short_words = {
        {"q.heads", "q"},     {"k.heads", "k"},        {"q.head_dim", "d"},
        {"k.head_dim", "kd"}, {"q.offset", "qo"},      {"k.offset", "ko"},
        {"rotary_dim", "rd"}, {"rope_theta", "theta"}, {"attention_scale", "scale"}};
    const std::size_t equals = word.find('=');
    if (last_ == "scaling_values" && equals == std::string_view::npos && !word.empty()) {
      words_[last_] += "," + std::string(word);  // the list goes on
      return;
    }
    if (equals == std::string_view::npos || equals + 1 == word.size())
      fail("'" + shown(word) + "' is not of the form name=value");
    std::string name(word.substr(0, equals));
    const auto is_in = [&](const auto& names) {
      return std::find(std::begin(names), std::end(names), name) != std::end(names);
    };
    if (const auto alias = short_words.find(name); alias != short_words.end())
      name = alias->second;
    else if (!is_in(known) && !is_in(of_replay))
      fail(fmt::format("'{}' is not known; known: {}, {}", shown(name), fmt::join(known, ", "),
                       fmt::join(of_replay, ", ")));
    if (!words_.emplace(name, word.substr(equals + 1)).second) fail("'" + name + "' stands twice");
    last_ = name;
  }

  std::string last_;
  std::map<std::string, std::string> words_;
};

constexpr std::uint64_t fingerprint_seed = 0xcbf29ce484222325;  // of FNV-1a with 64 bits

std::string name_of(const Workload& w) {
  const harness::TensorCase &q = w.tensors[0], &k = w.tensors[1];
  std::string out = fmt::format("shape-q{}-k{}-d{}", q.heads, k.heads, q.head_dim);
  if (k.head_dim != q.head_dim) out += fmt::format("-kd{}", k.head_dim);
  if (w.rotary_dim != q.head_dim) out += fmt::format("-rd{}", w.rotary_dim);
  if (q.rotary_offset != 0 || k.rotary_offset != 0)
    out += fmt::format("-at{}-{}", q.rotary_offset, k.rotary_offset);
  if (w.rope_theta != 10000) out += fmt::format("-theta{}", w.rope_theta);
  if (w.pairing == Pairing::interleaved) out += "-interleaved";
  if (w.dtype != Dtype::f32) out += fmt::format("-{}", data_type(w.dtype).word);
  if (!is_in_place(w)) out += "-out-of-place";
  if (w.position_dtype == Dtype::i64) out += "-i64";
  if (w.attention_scale != 0) out += fmt::format("-scale{}", w.attention_scale);
  if (w.layout != WorkloadLayout::packed)
    out += fmt::format("-{}", layout_words[static_cast<std::size_t>(w.layout)]);
  if (w.scaling != "none")
    out += fmt::format("-{}-{}", w.scaling, fmt::join(w.scaling_values, "-"));
  if (w.table_dtype) out += fmt::format("-table-{}", data_type(*w.table_dtype).word);
  std::erase(out, '+');             // of an exponent
  constexpr std::size_t most = 70;  // phase and tokens follow
  return out.size() <= most ? out
                            : fmt::format("shape-{:016x}", seed_of_name(fingerprint_seed, out));
}

/// Reads everything but name, phase, batch and tokens.
Workload model_of(const ShapeWords& words) {
  Workload w;
  for (const char* needed : {"q", "d"})
    if (!words.holds(needed)) fail(fmt::format("'{}=' is missing", needed));
  harness::TensorCase &q = w.tensors[0], &k = w.tensors[1];
  q.heads = *words.size("q");
  q.head_dim = *words.size("d");
  k.heads = words.size("k").value_or(q.heads);
  k.head_dim = words.size("kd").value_or(q.head_dim);
  q.rotary_offset = words.size("qo", 0).value_or(0);
  k.rotary_offset = words.size("ko", 0).value_or(k.head_dim == q.head_dim ? q.rotary_offset : 0);
  w.rotary_dim = words.size("rd").value_or(q.head_dim);
  w.rope_theta = words.number_or("theta", w.rope_theta);
  w.pairing = words.is_second("pairing", "half_split", "interleaved") ? Pairing::interleaved
                                                                      : Pairing::half_split;
  w.dtype = dtype_of(timed_dtypes[words.choice("dtype", timed_dtypes)]);
  set_in_place(w, !words.is_second("in_place", "yes", "no"));
  if (words.is_second("position_dtype", "i32", "i64")) w.position_dtype = Dtype::i64;
  w.attention_scale = words.number_or("scale", 0);
  if (words.holds("scale") && w.attention_scale == 0) fail("scale=0: it must not be 0");
  w.layout = static_cast<WorkloadLayout>(words.choice("layout", layout_words));
  const harness::Case rest = words.rest();
  w.scaling = rest.scaling;
  w.scaling_values = rest.scaling_values;
  w.table_dtype = rest.table_dtype;
  if (!words.holds("scale")) take_rule_scale(w);
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
  lay_out(w);
  return {w};
}

}  // namespace ropewalk::bench
