// A cause is named only if all of these hold:
// - It explains every wrong pair of the larger case, and chance would not. A pair that is wrong by
// m bounds, and explained within 2 bounds, is worth 2 log2(m / 2) bits. The reason: an error
// anywhere in a disc of m bounds lies in the disc of 2 by chance with probability (2 / m)^2. About
// 130 hypotheses are tried. With 30 bits, 1 of 10^6 names would be false if errors were random.
// Errors are not random, and one or two wrong pairs often fit several names, so four wrong pairs
// are needed.
// - It explains the errors themselves and not only values near them: what it leaves of them is
// small (`most_left`).
// - It also explains a second call of the same form with other data and other positions. False
// names fit inputs with a zero in each pair, or a single position.
// - It explains the case that the failure is reported with.
//
// A name may predict errors for pairs that are right. Then the wrong pairs must lie in one place,
// the same in both calls.
#include "properties/explain/diagnosis.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "base/system/memory_limits.h"
#include "harness/cases/data.h"
#include "harness/cases/names.h"
#include "harness/cases/poison.h"
#include "properties/explain/elsewhere.h"
#include "properties/two_runs.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

using C = std::complex<double>;

// close: largest distance of an output from that of a name, in bounds
constexpr double bits_needed = 30, close = 2;
// largest part that a name may leave of the squares of the errors, in bounds
constexpr double most_left = 1.0 / 16;
constexpr std::int64_t most_pairs = 1 << 19, fewest_wrong = 4;

bool finite(const C& z) {
  return std::isfinite(z.real()) && std::isfinite(z.imag());
}

bool has_too_many_pairs(const Case& c) {
  std::int64_t pairs = 0;
  for (const TensorCase& t : c.tensors) pairs += c.batch * c.tokens * t.heads * c.rotary_dim / 2;
  return pairs > most_pairs;
}

double bits_of(const Seen& s) {
  if (!finite(s.y)) return 0;  // NaN fits many names
  const double margin = std::abs(s.y - s.truth) / s.bound;
  return 2 * std::log2(std::clamp(margin / close, 1.0, 0x1p26));
}

std::int64_t wrong_pairs(const Scene& scene) {
  return std::count_if(scene.pairs.begin(), scene.pairs.end(),
                       [](const Seen& s) { return s.wrong; });
}

// The bound of an output for each unit of its length.
double relative_bound(const Scene& scene) {
  double least = 1;
  for (const Seen& s : scene.pairs)
    if (std::abs(s.truth) > 0) least = std::min(least, s.bound / std::abs(s.truth));
  return least;
}

// True if the outputs of all wrong pairs are those of the hypothesis. A hypothesis may give a
// larger output than the truth, such as a turned pair where zeros belong. Then that output sets the
// bound.
bool explains(const Hypothesis& h, const Scene& scene) {
  const double relative = relative_bound(scene);
  double left = 0, all = 0;
  for (const Seen& s : scene.pairs) {
    if (!s.wrong) continue;
    const auto output = h.output(s);
    if (!output) return false;
    if (!finite(s.y) || !finite(*output)) {  // of poison that both read
      if (finite(s.y) || finite(*output)) return false;
      continue;
    }
    const double bound = std::max(s.bound, relative * std::abs(*output));
    if (!(std::abs(s.y - *output) <= close * bound)) return false;
    left += std::norm((s.y - *output) / bound);
    all += std::norm((s.y - s.truth) / bound);
  }
  return left <= most_left * all;
}

// True if there are enough wrong pairs to tell a name from chance.
bool suffices(const Scene& scene) {
  double bits = 0;
  for (const Seen& s : scene.pairs)
    if (s.wrong) bits += bits_of(s);
  return bits >= bits_needed && wrong_pairs(scene) >= fewest_wrong;
}

// ---- where the wrong pairs are

struct Axis {
  const char *one, *many;
  std::int64_t (*value)(const Seen&);
};
constexpr Axis axes[] = {
    {"batch row", "batch rows", [](const Seen& s) { return s.at.b; }},
    {"token", "tokens", [](const Seen& s) { return s.at.t; }},
    {"head", "heads", [](const Seen& s) { return s.at.h; }},
    {"pair", "pairs", [](const Seen& s) { return s.pair; }},
};

// Returns a text like "only in heads from 2 on"; empty if no rule fits.
std::string along(const Axis& axis, const std::set<std::int64_t>& wrong,
                  const std::set<std::int64_t>& all) {
  if (wrong.size() == 1) return fmt::format("only in {} {}", axis.one, *wrong.begin());
  const auto part = static_cast<std::ptrdiff_t>(wrong.size());
  if (std::equal(wrong.begin(), wrong.end(), std::prev(all.end(), part)))
    return fmt::format("only in {} from {} on", axis.many, *wrong.begin());
  if (std::equal(wrong.begin(), wrong.end(), all.begin()))
    return fmt::format("only in {} up to {}", axis.many, *wrong.rbegin());
  return {};
}

struct Scope {
  std::string text;    // "only in k, only in heads from 2 on"; empty: everywhere, or no rule
  bool exact = false;  // all pairs in this place are wrong
};

// `shows`: the pairs that would be wrong if the error were everywhere.
Scope scope_of(const std::vector<const Seen*>& shows) {
  constexpr Axis tensor{"tensor", "tensors",
                        [](const Seen& s) -> std::int64_t { return s.at.tensor; }};
  constexpr Axis call{"call", "calls", [](const Seen& s) -> std::int64_t { return s.placement; }};
  std::vector<std::string> parts;
  std::vector<const Seen*> there = shows;  // pairs in the places named so far
  const auto name = [&](const Axis& axis, auto words) {
    std::set<std::int64_t> wrong, all;
    for (const Seen* s : there) {
      all.insert(axis.value(*s));
      if (s->wrong) wrong.insert(axis.value(*s));
    }
    if (wrong.empty() || wrong.size() == all.size()) return;
    const std::string text = words(wrong, all);
    if (text.empty()) return;
    parts.push_back(text);
    std::erase_if(there, [&](const Seen* s) { return wrong.count(axis.value(*s)) == 0; });
  };
  name(tensor, [](const auto& wrong, const auto&) {
    const auto only = static_cast<std::size_t>(*wrong.begin());
    return wrong.size() == 1 ? fmt::format("only in {}", tensor_words[only]) : std::string();
  });
  for (const Axis& axis : axes)
    name(axis, [&](const auto& wrong, const auto& all) { return along(axis, wrong, all); });
  name(call, [](const auto& wrong, const auto&) -> std::string {
    return *wrong.begin() == 1 ? "only in the second call of a prepared state"
                               : "only in the first call of a prepared state";
  });
  return {fmt::format("{}", fmt::join(parts, ", ")),
          std::all_of(there.begin(), there.end(), [](const Seen* s) { return s->wrong; })};
}

std::string elements_of(const Scene& scene) {
  bool first = false, second = false;
  for (const Seen& s : scene.pairs) {
    if (!s.wrong) continue;
    first = first || !(std::abs(s.y.real() - s.truth.real()) <= s.bound);
    second = second || !(std::abs(s.y.imag() - s.truth.imag()) <= s.bound);
  }
  return first == second ? "" : first ? "first elements of pairs alone" : "second elements alone";
}

std::string joined(const std::vector<std::string>& parts) {
  std::string out;
  for (const std::string& part : parts)
    if (!part.empty()) out += (out.empty() ? "" : ", ") + part;
  return out;
}

std::string counts_of(std::int64_t wrong, std::int64_t in_larger, bool same) {
  const std::string here =
      wrong == 1 ? "1 wrong pair fits" : fmt::format("{} wrong pairs fit", wrong);
  return same ? here : here + fmt::format(", and {} in a larger case", in_larger);
}

// The pairs that an error of this name would change clearly if it were everywhere.
std::vector<const Seen*> moved_by(const Hypothesis& h, const Scene& scene) {
  std::vector<const Seen*> out;
  for (const Seen& s : scene.pairs) {
    constexpr double plain = 4;  // in bounds
    const auto output = s.wrong ? std::nullopt : h.output(s);
    if (s.wrong || (output && std::abs(*output - s.truth) > plain * s.bound)) out.push_back(&s);
  }
  return out;
}

// Where a hypothesis applies in a scene that it explains.
struct Fit {
  bool whole;         // it applies to all pairs that it would change
  std::string scope;  // the pairs outside are right
};
std::optional<Fit> fit_of(const Hypothesis& h, const Scene& scene) {
  if (!explains(h, scene)) return {};
  const auto moved = moved_by(h, scene);
  const Scope scope = scope_of(moved);
  if (!scope.exact) return {};
  return Fit{std::ssize(moved) == wrong_pairs(scene), scope.text};
}

// The form of a case with other positions, and with full mantissas in both elements of each pair.
Case varied(const Case& c, std::int64_t step) {
  Case out = with_positions(c, [&](std::int64_t p) {
    const std::int64_t size = p < 0 ? -p : p;
    // The step is up to half the size, or 13, so slow pairs turn as well. An even position becomes
    // an odd one.
    const auto steps = static_cast<std::uint64_t>(7 + size / 4);
    const auto by = static_cast<std::int64_t>(1 + 2 * (hash(c.seed, p) % steps));
    const std::int64_t moved = std::max<std::int64_t>(0, size + step * by);
    return p < 0 ? -moved : moved;
  });
  const bool full = c.data == DataPattern::unit || c.data == DataPattern::wide ||
                    c.data == DataPattern::tiny || c.data == DataPattern::huge;
  if (!full) out.data = DataPattern::unit;
  out.seed = hash(c.seed, 1);
  for (TensorCase& t : out.tensors) t.values.clear();
  return out;
}

// Tries positions further from 0, then nearer to 0, then those of the case, until the kernel
// accepts some.
std::optional<Scene> look_again(const Look& look, const Case& c) {
  for (const std::int64_t step : {1, -1, 0})
    if (auto scene = look(varied(c, step))) return scene;
  return {};
}

// The causes that fit all three calls: for all pairs that they would change, or else in one place.
struct Named {
  std::vector<std::string> names;
  std::string where;
};
Named names_of(const Scene& small, const Scene& large, const Scene& again) {
  const auto lists = [&](const Scene& scene) {
    return std::array{fixed_hypotheses(scene), fitted_hypotheses(scene, large)};
  };
  const auto in_small = lists(small), in_large = lists(large), in_again = lists(again);
  std::array<Named, 4> found;  // fixed, then fitted hypotheses; then both again, for one place
  for (std::size_t list = 0; list < in_large.size(); ++list)
    for (std::size_t i = 0; i < in_large[list].size(); ++i) {
      const auto first = fit_of(in_large[list][i], large);
      if (!first) continue;
      const auto second = fit_of(in_again[list][i], again);
      const auto here = fit_of(in_small[list][i], small);
      if (!second || !here) continue;
      if (!(first->whole && second->whole) && first->scope != second->scope) continue;
      Named& kind = found[first->whole && second->whole ? list : 2 + list];
      if (kind.names.empty()) kind.where = here->scope;
      kind.names.push_back(in_small[list][i].name);
    }
  for (Named& kind : found)
    if (!kind.names.empty()) return kind;
  return {};
}

// True if an element of the output pair is this poison. Arithmetic keeps it, except for its sign.
bool holds_poison(const Problem& p, const Outputs& outputs, const HeadPlace& at, std::int64_t pair,
                  Poison poison, bool any_sign) {
  const TensorPlaces& places = p.tensor[at.tensor];
  const Buffer& buffer = p.buffers[static_cast<std::size_t>(places.out)];
  const std::byte* out = outputs[static_cast<std::size_t>(places.out)].data();
  const std::int64_t row = places.out_at + out_index(p.asked, at.tensor, at.b, at.t, at.h);
  const PairIndex e = pair_elements(p.asked, at.tensor, pair);
  const auto is_left = [&](std::int64_t element) {
    const std::byte* value = out + (row + element) * buffer.element_bytes();
    return any_sign ? is_poison_of_any_sign(value, buffer.dtype, poison)
                    : is_poison(value, buffer.dtype, poison);
  };
  return is_left(e.first) || is_left(e.second);
}

bool unwritten(const Problem& p, const Outputs& outputs, const HeadPlace& at, std::int64_t pair) {
  const Buffer& buffer = p.buffers[static_cast<std::size_t>(p.tensor[at.tensor].out)];
  return !buffer.holds_input &&
         holds_poison(p, outputs, at, pair, outputs.placement == 0 ? Poison::a : Poison::b, false);
}

}  // namespace

Scene scene_of(Subject& subject, Problem moved, const Execution& execution) {
  Scene scene{std::move(moved), subject.oracle, {}};
  const Problem& problem = scene.problem;
  const Case& c = problem.source;
  // In f64 this arithmetic errs as much as a kernel may, so only clear errors count.
  const auto strict = [&c](std::uint32_t tensor) -> double {
    return data_type(tensor_dtype(c, tensor)).computed_in == Dtype::f64 ? 8 : 1;
  };
  for (const Outputs& outputs : execution.outputs)
    for_each_rotated_head(problem.asked, [&](std::uint32_t tensor, std::int64_t b, std::int64_t t,
                                             std::int64_t h) {
      const HeadPlace at{tensor, b, t, h};
      const auto rotations = rotations_of(problem, subject.oracle, outputs.placement, tensor, b, t);
      for (std::int64_t i = 0; i < c.rotary_dim / 2; ++i) {
        Seen s{};
        s.at = at;
        s.pair = i;
        s.position = position_of(problem, outputs.placement, b, t);
        s.placement = outputs.placement;
        s.x = as_complex(input_pair(problem, outputs.placement, at, i));
        s.r = as_complex(rotations[static_cast<std::size_t>(i)]);
        s.y = as_complex(output_pair(problem, outputs, tensor, b, t, h, i));
        if (!finite(s.x)) continue;
        const bool back = c.operation == Operation::transpose;
        s.truth = scale_of(c) * s.x * (back ? std::conj(s.r) : s.r);
        s.bound = strict(tensor) * pair_bound(subject.facts, c, tensor, std::abs(s.x),
                                              std::abs(s.r), {{s.truth.real()}, {s.truth.imag()}});
        s.wrong = !(std::abs(s.y - s.truth) <= s.bound);
        s.unwritten = s.wrong && unwritten(problem, outputs, at, i);
        s.read_poison = s.wrong && holds_poison(problem, outputs, at, i, Poison::read_only, true);
        scene.pairs.push_back(s);
      }
    });
  return scene;
}

Subject put_right(const Subject& subject) {
  Subject out = subject;
  out.change = [as_it_is = subject](const Problem& problem, Outputs& outputs) mutable {
    if (has_too_many_pairs(problem.source)) return;
    Execution execution;
    execution.outputs = {outputs};
    for (const Seen& s : scene_of(as_it_is, problem, execution).pairs) {
      if (!s.wrong) continue;
      const TensorPlaces& places = problem.tensor[s.at.tensor];
      const std::int64_t row =
          places.out_at + out_index(problem.asked, s.at.tensor, s.at.b, s.at.t, s.at.h);
      const PairIndex e = pair_elements(problem.asked, s.at.tensor, s.pair);
      auto& bytes = outputs[static_cast<std::size_t>(places.out)];
      const Dtype dtype = tensor_dtype(problem.source, s.at.tensor);
      store(bytes, dtype, row + e.first, s.truth.real());
      store(bytes, dtype, row + e.second, s.truth.imag());
    }
  };
  return out;
}

Look look_at(Subject& subject) {
  return [&subject](const Case& c) -> std::optional<Scene> {
    if (has_too_many_pairs(c)) return {};
    try {
      Problem problem = make_problem(c, subject.oracle);
      const Execution execution = execute(subject, problem);
      if (failure_of(execution).kind != Finding::Kind::measured) return {};
      return scene_of(subject, std::move(problem), execution);
    } catch (const BadCase&) {  // a varied case may not allow these positions
      return {};
    } catch (const NoMemory&) {  // a case of far rows is larger when they lie near
      return {};
    }
  };
}

Diagnosis diagnose(const Look& look, const Case& c, const Case& larger) {
  const std::optional<Scene> small = look(c);
  if (!small) return {};
  if (wrong_pairs(*small) == 0) return {"", "a call of this case alone is right"};
  std::vector<const Seen*> moved;  // pairs that a wrong rotation would change
  bool at_zero = false, none_finite = true, none_written = true, read_poison = false;
  for (const Seen& s : small->pairs) {
    if (!s.wrong) continue;
    at_zero = at_zero || s.position == 0;
    none_finite = none_finite && !finite(s.y);
    none_written = none_written && s.unwritten;
    read_poison = read_poison || s.read_poison;
  }
  for (const Seen& s : small->pairs)
    if (std::abs(s.x) > 0 && (at_zero || s.position != 0)) moved.push_back(&s);
  if (none_written) return {"leaves outputs unwritten", scope_of(moved).text};
  const std::optional<Scene> large = look(larger);
  if (large && suffices(*large))
    if (const auto again = look_again(look, larger); again && suffices(*again)) {
      const Named named = names_of(*small, *large, *again);
      constexpr std::size_t most = 3;  // if more names fit, the case is no evidence
      if (!named.names.empty() && named.names.size() <= most)
        return {fmt::format("{} ({})", fmt::join(named.names, ", or "),
                            counts_of(wrong_pairs(*small), wrong_pairs(*large), c == larger)),
                named.where};
    }
  if (none_finite)
    return {read_poison
                ? "reads poison, which lies around rows and behind tables, where no kernel may read"
                : "makes NaN or infinity of finite inputs",
            scope_of(moved).text};
  // Zeros in a pair hide which of its elements are wrong. The same call with other data shows it.
  const auto elements = elements_of(*small);
  const auto again = elements.empty() ? std::nullopt : look_again(look, c);
  const bool shown = again && elements_of(*again) == elements;
  return {"",
          joined({scope_of(moved).text, shown ? elements : "", right_elsewhere(*small, !shown)})};
}

std::string to_text(const Diagnosis& d) {
  return joined({d.cause, d.where});
}

}  // namespace ropewalk::properties
