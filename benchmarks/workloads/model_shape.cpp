#include "benchmarks/workloads/model_shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "base/fingerprint.h"
#include "benchmarks/workloads/workload_layout.h"
#include "benchmarks/workloads/workload_shape.h"
#include "harness/cases/axes.h"
#include "harness/cases/fields.h"

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
    "positions=consecutive|scattered (default: scattered for one token), axes= the axis of each "
    "pair, "
    "as 0*16,1*24,2*24 or (0,1,2)*20,0*4, for a picture after text, norm=1 (Q and K are "
    "normalized), append=1 (K and V go to a paged cache) with page= slots of a page (default: 16), "
    "both out of place; and words of a replay "
    "line: q.heads= k.heads= q.head_dim= k.head_dim= q.offset= k.offset= rotary_dim= rope_theta= "
    "attention_scale= scaling= scaling_values= table_dtype=";

namespace {

[[noreturn]] void fail(const std::string& what) {
  throw BadShape(what);
}

/// Other words of a replay line, and those of a shape alone.
constexpr std::string_view replay_words[] = {"dtype", "pairing", "position_dtype", "tokens",
                                             "batch", "scaling", "scaling_values", "table_dtype"};
constexpr std::string_view own_words[] = {"in_place", "layout", "positions",
                                          "axes",     "norm",   "append"};

bool is_own(std::string_view name) {
  return std::find(std::begin(own_words), std::end(own_words), name) != std::end(own_words);
}

std::string in_a_replay_line(std::string_view typed) {
  std::vector<std::string_view> known;
  for (const auto& [name, whole] : harness::short_words) {
    if (typed == name || typed == whole) return std::string(whole);
    known.push_back(name);
  }
  known.insert(known.end(), std::begin(replay_words), std::end(replay_words));
  known.insert(known.end(), std::begin(own_words), std::end(own_words));
  if (std::ranges::find(known, typed) == known.end())
    fail(fmt::format("'{}' is not known; known: {}", shown(typed), fmt::join(known, ", ")));
  return std::string(typed);
}

/// The words of a shape by their names in a replay line. Each may be given once.
using Words = std::map<std::string, std::string, std::less<>>;

Words words_of(std::string_view text) {
  if (text.empty()) fail("it is empty; for example q=32,k=8,d=128");
  Words words;
  std::string last;
  for (;;) {
    const std::size_t end = std::min(text.find_first_of(", "), text.size());
    const std::string_view word = text.substr(0, end);
    const std::size_t equals = word.find('=');
    if ((last == "scaling_values" || last == "axes") && equals == word.npos && !word.empty()) {
      words[last] += "," + std::string(word);  // the list goes on
    } else {
      if (equals == word.npos || equals + 1 == word.size())
        fail("'" + shown(word) + "' is not of the form name=value");
      if (word.find_first_of("\t\n\v\f\r") != word.npos)
        fail("'" + shown(word) + "' has a line break or a tab");
      const std::string_view typed = word.substr(0, equals);
      last = in_a_replay_line(typed);
      if (!words.emplace(last, word.substr(equals + 1)).second)
        fail(fmt::format("'{}' is given twice", typed));
    }
    if (end == text.size()) return words;
    text.remove_prefix(end + 1);
  }
}

/// The place of the value in a list of words. Without a value it is the first.
template <class Known>
std::size_t choice(const Words& words, const std::string& name, const Known& known) {
  const auto found = words.find(name);
  if (found == words.end()) return 0;
  const auto at = std::find(std::begin(known), std::end(known), found->second);
  if (at == std::end(known))
    fail(fmt::format("{}={}: it must be {}", name, shown(found->second), fmt::join(known, " or ")));
  return static_cast<std::size_t>(at - std::begin(known));
}

harness::Case case_in(const Words& words) {
  std::string line;
  for (const auto& [name, value] : words)
    if (!is_own(name)) line += fmt::format("{}={} ", name, value);
  try {
    return harness::case_from_text(line);
  } catch (const harness::BadCase& bad) {
    fail(bad.what());
  }
}

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
  if (!is_in_place(w) && !is_fusing(w)) out += "-out-of-place";
  if (w.position_dtype == Dtype::i64) out += "-i64";
  if (w.attention_scale != 0) out += fmt::format("-scale{}", w.attention_scale);
  if (w.layout != WorkloadLayout::packed)
    out += fmt::format("-{}", layout_words[static_cast<std::size_t>(w.layout)]);
  if (w.scaling != "none")
    out += fmt::format("-{}-{}", w.scaling, fmt::join(w.scaling_values, "-"));
  if (harness::has_norm(w)) out += "-norm";
  if (harness::has_append(w)) out += "-append";
  if (w.page_size != 16) out += fmt::format("-page{}", w.page_size);
  if (w.axes > 1) out += "-axes" + harness::map_text(w.axis_of_pair);
  for (char& c : out) c = c == ',' ? '-' : c == '*' ? 'x' : c == '(' || c == ')' ? '.' : c;
  if (w.table_dtype) out += fmt::format("-table-{}", data_type(*w.table_dtype).word);
  std::erase(out, '+');             // of an exponent
  constexpr std::size_t most = 70;  // phase and tokens follow
  return out.size() <= most ? out : fmt::format("shape-{:016x}", seed_of_name(name_seed, out));
}

Workload model_in(const Words& words) {
  if (!words.contains("q.heads")) fail("'q=' is missing");
  if (!words.contains("q.head_dim")) fail("'d=' is missing");
  Workload w;
  static_cast<harness::Case&>(w) = case_in(words);
  w.tensors.resize(2);
  harness::TensorCase &q = w.tensors[0], &k = w.tensors[1];
  if (!words.contains("k.heads")) k.heads = q.heads;
  if (!words.contains("k.head_dim")) k.head_dim = q.head_dim;
  if (!words.contains("k.offset") && k.head_dim == q.head_dim) k.rotary_offset = q.rotary_offset;
  if (!words.contains("rotary_dim")) w.rotary_dim = q.head_dim;
  constexpr std::array off_or_on{"0", "1"};
  if (choice(words, "norm", off_or_on) == 1) take_norm(w);
  if (choice(words, "append", off_or_on) == 1) take_append(w);
  if (words.contains("page_size") && !harness::has_append(w)) fail("page= needs append=1");
  const bool may_choose = words.contains("in_place") || !is_fusing(w);
  set_in_place(w, may_choose && choice(words, "in_place", std::array{"yes", "no"}) == 0);
  if (const auto axes = words.find("axes"); axes != words.end()) {
    harness::take_axes(w, harness::map_of_text(axes->second));
    if (w.axis_of_pair.empty())
      fail("axes=" + shown(axes->second) + ": it is no map of axes 0 to 3");
  }
  w.layout = static_cast<WorkloadLayout>(choice(words, "layout", layout_words));
  if (!words.contains("attention_scale"))
    take_rule_scale(w);
  else if (w.attention_scale == 0)
    fail("scale=0: it must not be 0");
  return w;
}

}  // namespace

bool shape_states(std::string_view text, const std::string& word) {
  return words_of(text).contains(in_a_replay_line(word));
}

Workload model_of(std::string_view text) {
  return model_in(words_of(text));
}

namespace {

std::vector<Workload> workloads_of(std::string_view text) {
  const Words words = words_of(text);
  Workload w = model_in(words);
  if (const auto fault = shape_fault(w)) fail(fault->what);
  w.name = w.model = name_of(w);
  w.source = "--shape " + shown(text, 900);
  if (!words.contains("tokens") && !words.contains("batch")) {
    if (words.contains("positions")) fail("positions= needs tokens= or batch=");
    return through_phases(w, "--shape");
  }
  w.phase = w.tokens == 1 ? report::WorkloadPhase::decode : report::WorkloadPhase::prefill;
  w.scattered = w.tokens == 1;
  if (words.contains("positions"))
    w.scattered = choice(words, "positions", std::array{"consecutive", "scattered"}) == 1;
  w.name += fmt::format("/t{}-b{}{}", w.tokens, w.batch,
                        w.scattered == (w.tokens == 1) ? ""
                        : w.scattered                  ? "-scattered"
                                                       : "-consecutive");
  w.profiles = {"smoke", "standard", "full"};
  if (const auto fault = shape_fault(w)) fail(fault->what);
  lay_out(w);
  return {w};
}

}  // namespace

std::vector<Workload> parse_shape(std::string_view text) {
  try {
    return workloads_of(text);
  } catch (const BadShape& bad) {
    throw BadFile(fmt::format("--shape: {}", bad.what()));
  }
}

}  // namespace ropewalk::bench
