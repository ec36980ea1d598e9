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
//
// NaN hides what was computed. So a case whose wrong outputs are not finite is made again with
// numbers in all that a kernel may read by mistake (Calls::tame).
#include "properties/explain/diagnosis.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "harness/cases/data.h"
#include "harness/cases/fused.h"
#include "harness/cases/names.h"
#include "properties/explain/causes.h"
#include "properties/explain/check_case.h"
#include "properties/explain/hypotheses.h"
#include "properties/explain/places.h"
#include "properties/explain/shrink_steps.h"
#include "properties/two_runs.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

using C = std::complex<double>;

// close: largest distance of an output from that of a name, in bounds
constexpr double bits_needed = 30, close = 2;
// largest part that a name may leave of the squares of the errors, in bounds
constexpr double most_left = 1.0 / 16;
constexpr std::int64_t fewest_wrong = 4;

bool finite(const C& z) {
  return std::isfinite(z.real()) && std::isfinite(z.imag());
}

double bits_of(const Seen& s) {
  if (!finite(s.y)) return 0;  // NaN fits many names
  const double margin = std::abs(s.y - s.truth) / s.bound;
  return 2 * std::log2(std::clamp(margin / close, 1.0, 0x1p26));
}

std::int64_t wrong_pairs(const Scene& scene) {
  return std::ranges::count_if(scene.pairs, [](const Seen& s) { return s.wrong; });
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
    const double length = h.reach ? std::max(std::abs(*output), h.reach(s)) : std::abs(*output);
    const double bound = std::max(s.bound, relative * length);
    if (!(std::abs(s.y - *output) <= close * bound)) return false;
    left += std::norm((s.y - *output) / bound);
    all += std::norm((s.y - s.truth) / bound);
  }
  return left <= most_left * all;
}

// True if a hypothesis tells something of a scene: pairs are wrong, or else the wrong elements
// outside the window are those that it predicts.
bool tells_of(const Hypothesis& h, const Scene& scene) {
  if (wrong_pairs(scene) > 0) return true;
  return h.outside && std::ranges::all_of(scene.copies, [&](const Copied& e) {
           Seen s{};
           s.at = e.at;
           s.placement = e.placement;
           s.position = e.position;
           constexpr double close_enough = 1e-2;  // of a number that any other error would change
           const auto output = e.wrong ? h.outside(s, e.element) : std::nullopt;
           return !e.wrong ||
                  (output && std::abs(e.got - *output) <= close_enough * std::abs(*output));
         });
}

// True if there are enough wrong pairs to tell a name from chance.
bool suffices(const Scene& scene) {
  double bits = 0;
  for (const Seen& s : scene.pairs)
    if (s.wrong) bits += bits_of(s);
  return bits >= bits_needed && wrong_pairs(scene) >= fewest_wrong;
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
  bool whole;   // it applies to all pairs that it would change
  Scope scope;  // the pairs outside are right
};
std::optional<Fit> fit_of(const Hypothesis& h, const Scene& scene) {
  if (!explains(h, scene)) return {};
  const auto moved = moved_by(h, scene);
  Scope scope = scope_of(moved);
  if (!scope.exact) return {};
  return Fit{std::ssize(moved) == wrong_pairs(scene), std::move(scope)};
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
                    c.data == DataPattern::tiny || c.data == DataPattern::huge ||
                    c.data == DataPattern::subnormal || c.data == DataPattern::far;
  if (!full) out.data = DataPattern::unit;
  out.seed = hash(c.seed, 1);
  out.position_room =
      c.position_room == PositionRoom::none ? PositionRoom::some : PositionRoom::none;
  if (step == 1) out.positions_null = false;  // a kernel may do without them in another way
  for (TensorCase& t : out.tensors) t.values.clear();
  return out;
}

// The calls of a larger case, and others of the same form with other data.
struct Evidence {
  Scene large, again;
  std::vector<Scene> right;  ///< the pairs that a name would change there are evidence against it
};

// Tries positions further from 0, then nearer to 0, then those of the case, until enough is wrong.
std::optional<Evidence> evidence_of(const Look& look, const Case& larger, Calls calls) {
  constexpr std::size_t enough = 3;  // positions, if there are no others that are wrong
  std::optional<Scene> large = look(larger, calls);
  if (!large || !suffices(*large)) return {};
  std::set<std::int64_t> positions;
  for (const Seen& s : large->pairs)
    if (s.wrong) positions.insert(s.position);
  std::vector<Scene> right;
  for (const std::int64_t step : {1, -1, 0}) {
    if (step == 0 && !right.empty() && positions.size() < enough) break;
    std::optional<Scene> again = look(varied(larger, step), calls);
    if (!again) continue;
    if (suffices(*again)) return Evidence{std::move(*large), std::move(*again), std::move(right)};
    right.push_back(std::move(*again));
  }
  return {};
}

// The causes that fit all calls: for all pairs that they would change, or else in one place.
struct Named {
  std::vector<std::string> names, ids;
  std::string where;
};
Named names_of(const Scene& small, const Evidence& of) {
  const auto lists = [&](const Scene& scene) {
    return std::array{fixed_hypotheses(scene), fitted_hypotheses(scene, of.large)};
  };
  const auto in_small = lists(small), in_large = lists(of.large), in_again = lists(of.again);
  std::vector<decltype(lists(small))> in_right;
  for (const Scene& scene : of.right) in_right.push_back(lists(scene));
  const auto is_refuted = [&](std::size_t list, std::size_t i) {
    for (std::size_t k = 0; k < of.right.size(); ++k)
      if (std::ssize(moved_by(in_right[k][list][i], of.right[k])) != wrong_pairs(of.right[k]))
        return true;
    return false;
  };
  std::array<Named, 4> found;  // fixed, then fitted hypotheses; then both again, for one place
  for (std::size_t list = 0; list < in_large.size(); ++list)
    for (std::size_t i = 0; i < in_large[list].size(); ++i) {
      const auto first = fit_of(in_large[list][i], of.large);
      if (!first) continue;
      const auto second = fit_of(in_again[list][i], of.again);
      const auto here = fit_of(in_small[list][i], small);
      if (!second || !here || !tells_of(in_small[list][i], small) || is_refuted(list, i)) continue;
      const bool whole = first->whole && second->whole;
      const bool in_one_place =
          first->scope.text == second->scope.text && first->scope.call == second->scope.call;
      if (!whole && !in_one_place) continue;
      Named& kind = found[whole ? list : 2 + list];
      if (kind.names.empty()) kind.where = here->scope.text;
      const auto& [ids, name] = in_small[list][i].cause;  // two may be one without a scale
      if (std::ranges::find(kind.names, name) != kind.names.end()) continue;
      kind.names.push_back(name);
      kind.ids.push_back(ids.front());
    }
  for (Named& kind : found)
    if (!kind.names.empty()) return kind;
  return {};
}

// What is wrong in a scene, all of it.
struct Wrong {
  explicit Wrong(const Scene& scene) {
    for (const Seen& s : scene.pairs)
      if (s.wrong) add(s.unwritten, !finite(s.y), s.read_poison);
    for (const Copied& e : scene.copies)
      if (e.wrong) add(e.unwritten, false, false);
  }
  void add(bool is_unwritten, bool is_not_finite, bool is_poison) {
    any = true;
    all_unwritten = all_unwritten && is_unwritten;
    not_finite = not_finite || is_not_finite;
    poison = poison || is_poison;
  }
  bool any = false, all_unwritten = true, not_finite = false, poison = false;
};

bool has_finite_inputs(const Scene& scene) {
  const Problem& p = scene.problem;
  const auto pairs = [&](const rope_tensor& t) {
    return t.rotate == 0 ? 0 : p.asked.batch * p.asked.tokens * t.heads * p.asked.rotary_dim;
  };
  std::int64_t planned = 0;
  for (std::uint32_t i = 0; i < p.asked.tensor_count; ++i) planned += pairs(p.asked.tensor[i]);
  return scene.has_full_tables &&
         std::ssize(scene.pairs) == planned &&  // scene_of() leaves out pairs that are not
         std::ranges::all_of(scene.copies,
                             [](const Copied& e) { return std::isfinite(e.expected); });
}

// True if the case fails once more. Otherwise what another call did says nothing of the kernel.
bool fails_again(const Look& look, const Case& c) {
  const auto again = look(c, Calls::as_judged);
  return again && Wrong(*again).any;
}

// What a kernel read if only numbers in place of NaN make its outputs finite; empty: nothing that
// this case has.
std::string tamed(const Look& look, const Case& c, const Scene& scene) {
  const bool table = c.contract == ROPE_CONTRACT_TABLE, more = !scene.copies.empty();
  if ((!table && !more) || !fails_again(look, c)) return "";
  return fmt::format("reads {}{}{}", table ? "unused rows of tables" : "",
                     table && more ? " or " : "", more ? "elements that are not rotated" : "");
}

// True if the case has slot 0, and holds with all its slots a page further.
bool leaves_slot_0(const Look& look, const Case& c) {
  Case moved = listed_slots(c);
  if (std::ranges::count(moved.slots, 0) == 0) return false;
  for (std::int64_t& slot : moved.slots) slot += slot < 0 ? 0 : c.page_size;
  ++moved.pages;
  const auto further = look(moved, Calls::as_judged);
  return further && further->holds;
}

// What is said without a cause.
Diagnosis seen(const std::vector<std::string>& parts) {
  return {{}, joined(parts)};
}

// The case with numbers in its outputs shows whether they are left as they were, or read. A case
// that needs a call before it has no such form.
Diagnosis of_unwritten(const Look& look, const Case& c, const Scene& small) {
  const bool lone = c.before == Before::nothing || c.before == Before::numbers;
  Case other = c;
  other.before = c.before == Before::numbers ? Before::nothing : Before::numbers;
  const auto again = lone ? look(other, Calls::as_judged) : std::nullopt;
  std::string rows = rows_from_on(look, c, small);
  const std::string where =
      joined({rows.empty() ? place_of(small) : rows, call_of_state(look, c, small)});
  if (!again || !fails_again(look, c))
    return seen({"outputs are as they were before the call", where});
  const Wrong wrong(*again);
  if (wrong.any && wrong.all_unwritten)
    return {cause(leaves_slot_0(look, c) ? "slot_0_out" : "unwritten"), where};
  return {cause("reads_outputs"), where};
}

// A table whose rows hold other angles tells the row that was read from angles of the kernel's own.
std::string right_place(const Look& look, const Case& c, const Scene& scene, bool whole_pairs) {
  const Elsewhere there = right_elsewhere(scene, whole_pairs);
  if (!there.row) return there.text;
  Case apart = c;
  apart.table_apart = c.table_apart + 1001;
  if (apart.table_apart_pair == -2) apart.table_apart_pair = -1;
  const auto again = look(apart, Calls::tame);
  return again && right_elsewhere(*again, whole_pairs).row == there.row
             ? fmt::format("reads table row {}, position {}", *there.row, there.position)
             : there.text;
}

Diagnosis explained(const Look& look, const Case& c, const Case& larger, const Scene& small) {
  const Wrong wrong(small);
  const auto poisoned = look(c, Calls::poisoned);
  if (poisoned && !Wrong(*poisoned).any && fails_again(look, c))
    return seen({"reads numbers around rows, between them or in unused rows of tables",
                 "right if NaN is there", place_of(small)});
  if (wrong.all_unwritten) return of_unwritten(look, c, small);
  const std::string state = call_of_state(look, c, small);
  const Calls calls = wrong.not_finite ? Calls::tame : Calls::as_judged;
  const std::optional<Scene> tame = wrong.not_finite ? look(c, calls) : std::nullopt;
  if (wrong.not_finite && !tame) return seen({place_of(small), state});
  const Scene& scene = tame ? *tame : small;
  const Wrong left(scene);
  if (const auto evidence = evidence_of(look, larger, calls)) {
    const Named named = names_of(left.any ? scene : small, *evidence);
    constexpr std::size_t most = 3;  // if more names fit, the case is no evidence
    if (!named.names.empty() && named.names.size() <= most)
      return {{named.ids, fmt::format("{} ({})", fmt::join(named.names, ", or "),
                                      counts_of(wrong_pairs(left.any ? scene : small),
                                                wrong_pairs(evidence->large), c == larger))},
              joined({named.where, state}),
              false};
  }
  const std::string reads =
      wrong.not_finite && !left.not_finite ? tamed(look, c, scene) : std::string();
  if (!left.any) {
    const char* then = reads.empty() ? "" : "right if they hold numbers";
    return seen({reads, then, place_of(small), state});
  }
  if (!left.not_finite)
    if (const Diagnosis rounded = rounding_of(look, c, larger); !rounded.cause.empty())
      return rounded;
  if (left.not_finite && left.poison)
    return seen({scene.has_full_tables
                     ? "reads poison, which lies around rows and behind tables"
                     : "reads poison, which lies around rows and in unused rows of tables",
                 place_of(scene), state});
  if (left.not_finite && has_finite_inputs(scene))
    return {cause("makes_nan"), joined({place_of(scene), state})};
  // Zeros in a pair hide which of its elements are wrong. The same call with other data shows it.
  const auto elements = elements_of(scene);
  const auto again = elements.empty() ? std::nullopt : look(varied(c, 0), calls);
  const bool shown = again && elements_of(*again) == elements;
  return seen(
      {reads, place_of(scene), state, shown ? elements : "", right_place(look, c, scene, !shown)});
}

// Rows that are written where no token has its slot show nothing. With slot 0 in use, and no slot
// for the last token, one of them may lie there.
Cause cause_of_stray(const Look& look, const Case& c) {
  Case used = listed_slots(c);
  if (!used.slots.empty()) used.slots.back() = -1;
  const auto first = std::ranges::find_if(used.slots, [](std::int64_t s) { return s >= 0; });
  if (first == used.slots.end()) return {};
  if (std::ranges::count(used.slots, 0) == 0) *first = 0;
  const Cause found = diagnose(look, used, used).cause;
  return std::ranges::count(found.ids, "to_slot_0") > 0 ? found : Cause();
}

// True if the case holds once the wrong elements are put right. Otherwise a cause of theirs does
// not explain the failure. `late`: the first wrong call, if it came after a right one. The process
// is fresh, as that of the failure was.
bool holds_put_right_too(Subject& subject, const Property& property, const Case& c,
                         std::optional<Problem>& late) {
  subject.worker.restart();
  bool any_right = false, any_wrong = false;
  Subject right = put_right(subject, [&](const Scene& scene) {
    const bool wrong = Wrong(scene).any;
    if (wrong && any_right && !any_wrong) {
      late = scene.problem;
      late->asked.inv_freq = late->inv_freq.data();
    }
    (wrong ? any_wrong : any_right) = true;
  });
  return check_case(property, right, c).holds();
}

// The case with enough heads and pairs for a cause to be told from chance.
Case larger_of(const Case& c) {
  Case out = with_pairs(c, std::max<std::int64_t>(c.rotary_dim / 2, 8));
  for (TensorCase& t : out.tensors) t.heads = std::max<std::int64_t>(t.heads, 4);
  return out;
}

// True if a call that is wrong in the check is right alone in a new process.
bool is_right_alone(Subject& subject, const Problem& late) {
  subject.worker.restart();
  const Execution alone =
      late.other_positions.empty() ? execute_once(subject, late, true) : execute(subject, late);
  return failure_of(alone).kind == Finding::Kind::measured &&
         !Wrong(scene_of(subject, late, alone)).any;
}

}  // namespace

Diagnosis diagnose(const Look& look, const Case& c, const Case& larger) {
  const std::optional<Scene> small = look(c, Calls::as_judged);
  if (!small) return {{}, "", false};
  if (!Wrong(*small).any)
    return {{}, small->holds ? "the call of this case, made alone, is right" : "", false};
  Diagnosis out = explained(look, c, larger, *small);
  out.first = first_wrong(*small);
  out.outside = out.outside && wrong_pairs(*small) == 0;
  return out;
}

Cause cause_of_crash(Subject& subject, const Property& property, const Case& c,
                     const Finding& crash) {
  for (std::size_t i = 0; i < c.tensors.size() && c.calls.empty(); ++i) {
    const TensorCase& t = c.tensors[i];
    const struct {
      const char* words;
      std::int64_t Strides::*stride;
      std::int64_t count, packed;
    } axes[] = {{"batch rows", &Strides::batch, c.batch, c.tokens * t.heads * t.head_dim},
                {"tokens", &Strides::token, c.tokens, t.heads * t.head_dim},
                {"heads", &Strides::head, t.heads, t.head_dim}};
    const std::string name = operand_name(Operand::in, static_cast<std::uint32_t>(i));
    if (crash.reason.find(fmt::format("read past the end of {},", name)) == std::string::npos)
      continue;
    for (const auto& axis : axes) {
      if (axis.count < 2 || t.in.*axis.stride != 0) continue;
      const auto holds_with = [&](std::int64_t stride) {
        Case other = c;
        other.tensors[i].in.*axis.stride = stride;
        try {
          return check_case(property, subject, other).holds();
        } catch (const BadCase&) {
          return false;
        }
      };
      if (holds_with(axis.packed) && holds_with(axis.packed + 1))
        return cause("walks_packed", axis.words, name);
    }
  }
  return {};
}

Cause explain(Subject& subject, const Property& property, const Case& c, const Case& larger,
              Finding& finding) {
  if (finding.kind == Finding::Kind::crash) return cause_of_crash(subject, property, c, finding);
  const Look look = look_at(subject);
  if (finding.reason.starts_with("wrote outside its rows")) return cause_of_stray(look, larger);
  if (finding.kind != Finding::Kind::measured) return {};
  std::optional<Problem> late;
  const bool of_elements = holds_put_right_too(subject, property, c, late);
  for (int process = 0; process < 2 && late; ++process) {  // no chance fits each of them
    const bool right = is_right_alone(subject, *late);
    subject.worker.restart();
    if (!right || !fails(check_case(property, subject, c))) late.reset();
  }
  if (late) return cause("keeps_something");
  Diagnosis found = diagnose(look, c, larger);
  // Other elements were wrong in that case too. Of two rows of a cache, one may be the other's
  // neighbour.
  const bool tells = !has_append(c) || c.batch * c.tokens > 2;
  if (of_elements && found.cause.empty() && tells)
    if (Diagnosis wide = diagnose(look, c, larger_of(c)); !wide.cause.empty()) found = wide;
  if (!found.first.empty()) finding.where += (finding.where.empty() ? "" : "; ") + found.first;
  const bool is_cause = of_elements && !found.cause.empty();
  std::vector<std::string> parts{found.where, finding.diagnosis};
  if (of_elements && !is_cause) {
    parts.push_back(sentence_of("put_right"));
    finding.cause_ids.emplace_back("put_right");
  }
  if (found.outside) finding.cause_ids.emplace_back("only_outside");
  std::erase(parts, "");
  finding.diagnosis = fmt::format("{}", fmt::join(parts, "; "));
  return is_cause ? found.cause : Cause();
}

std::string to_text(const Diagnosis& d) {
  return joined({d.cause.words, d.where});
}

}  // namespace ropewalk::properties
