// A name is given only if it explains every wrong pair, and only if chance would not: a pair that
// is wrong by m bounds and explained within 2 is worth 2 log2(m / 2) bits, since an error somewhere
// in a disc of m bounds lies in the disc of 2 by chance with probability (2 / m)^2. About 60
// hypotheses are tried: with 30 bits one in 10^7 names would be false, were errors random. Errors
// are not: one or two wrong pairs often fit several names, so four are asked for.
#include "properties/diagnosis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "harness/names.h"
#include "harness/poison.h"
#include "properties/hypotheses.h"

namespace ropewalk {
namespace {

using C = std::complex<double>;

constexpr double bits_needed = 30, close = 2;  // close: bounds between an output and its name's
constexpr std::int64_t most_pairs = 1 << 19, fewest_wrong = 4;

bool finite(const C& z) {
  return std::isfinite(z.real()) && std::isfinite(z.imag());
}

C as_complex(const PairValue& z) {
  return {static_cast<double>(z.re), static_cast<double>(z.im)};
}

double bits_of(const Seen& s) {
  const double margin = std::abs(s.y - s.truth) / s.bound;
  return 2 * std::log2(std::clamp(margin / close, 1.0, 0x1p26));
}

bool explains(const Hypothesis& h, const Scene& scene) {
  double bits = 0;
  std::int64_t wrong = 0;
  for (const Seen& s : scene.pairs) {
    if (!s.wrong) continue;
    const auto output = h.output(s);
    if (!output || !(std::abs(s.y - *output) <= close * s.bound)) return false;
    bits += bits_of(s);
    ++wrong;
  }
  return bits >= bits_needed && wrong >= fewest_wrong;
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

// "only in heads from 2 on"; empty where all of them are wrong, or no rule is to be seen.
std::string along(const Axis& axis, const std::vector<const Seen*>& shows) {
  std::set<std::int64_t> wrong, all;
  for (const Seen* s : shows) {
    all.insert(axis.value(*s));
    if (s->wrong) wrong.insert(axis.value(*s));
  }
  if (wrong.empty() || wrong.size() == all.size()) return {};
  if (wrong.size() == 1) return fmt::format("only in {} {}", axis.one, *wrong.begin());
  const auto part = static_cast<std::ptrdiff_t>(wrong.size());
  if (std::equal(wrong.begin(), wrong.end(), std::prev(all.end(), part)))
    return fmt::format("only in {} from {} on", axis.many, *wrong.begin());
  if (std::equal(wrong.begin(), wrong.end(), all.begin()))
    return fmt::format("only in {} up to {}", axis.many, *wrong.rbegin());
  return {};
}

// `shows`: the pairs in which the error would be seen, were it everywhere.
std::string scope_of(const std::vector<const Seen*>& shows) {
  std::vector<std::string> parts;
  std::set<std::uint32_t> wrong, all;
  std::set<int> wrong_calls, calls;
  for (const Seen* s : shows) {
    all.insert(s->at.tensor);
    calls.insert(s->placement);
    if (!s->wrong) continue;
    wrong.insert(s->at.tensor);
    wrong_calls.insert(s->placement);
  }
  if (wrong.size() == 1 && all.size() > 1)
    parts.push_back(fmt::format("only in {}", tensor_words[*wrong.begin()]));
  std::vector<const Seen*> there;  // in the tensors that have wrong pairs
  for (const Seen* s : shows)
    if (wrong.count(s->at.tensor) > 0) there.push_back(s);
  for (const Axis& axis : axes)
    if (const std::string text = along(axis, there); !text.empty()) parts.push_back(text);
  if (wrong_calls.size() == 1 && calls.size() > 1)
    parts.push_back(*wrong_calls.begin() == 1 ? "only in the second call of a prepared state"
                                              : "only in the first call of a prepared state");
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string elements_of(const std::vector<const Seen*>& shows) {
  bool first = false, second = false;
  for (const Seen* s : shows) {
    if (!s->wrong) continue;
    first = first || !(std::abs(s->y.real() - s->truth.real()) <= s->bound);
    second = second || !(std::abs(s->y.imag() - s->truth.imag()) <= s->bound);
  }
  return first == second ? "" : first ? "first elements of pairs alone" : "second elements alone";
}

std::string joined(const std::vector<std::string>& parts) {
  std::string out;
  for (const std::string& part : parts)
    if (!part.empty()) out += (out.empty() ? "" : ", ") + part;
  return out;
}

// The pairs that an error of this name would move plainly, were it everywhere.
std::vector<const Seen*> moved_by(const Hypothesis& h, const Scene& scene) {
  std::vector<const Seen*> out;
  for (const Seen& s : scene.pairs) {
    constexpr double plain = 4;  // bounds
    const auto output = s.wrong ? std::nullopt : h.output(s);
    if (s.wrong || (output && std::abs(*output - s.truth) > plain * s.bound)) out.push_back(&s);
  }
  return out;
}

// What fits, at most two: what a case cannot tell apart is said so. First what explains all pairs,
// the right ones too; then what explains the wrong ones where these have a place of their own.
std::vector<Hypothesis> fitting(const Scene& scene, std::int64_t wrong) {
  constexpr std::size_t most = 2;
  std::vector<Hypothesis> whole, partial;
  for (const auto make : {fixed_hypotheses, fitted_hypotheses}) {
    if (!whole.empty()) return whole;
    for (const Hypothesis& h : make(scene)) {
      if (whole.size() == most || !explains(h, scene)) continue;
      const auto moved = moved_by(h, scene);
      if (std::ssize(moved) == wrong)
        whole.push_back(h);
      else if (partial.size() < most && !scope_of(moved).empty())
        partial.push_back(h);
    }
  }
  return whole.empty() ? partial : whole;
}

bool unwritten(const Problem& p, const Outputs& outputs, const HeadPlace& at, std::int64_t pair) {
  const TensorPlaces& places = p.tensor[at.tensor];
  const Buffer& buffer = p.buffers[static_cast<std::size_t>(places.out)];
  if (buffer.holds_input) return false;
  const std::byte* out = outputs[static_cast<std::size_t>(places.out)].data();
  const std::int64_t row = places.out_at + out_index(p.asked, at.tensor, at.b, at.t, at.h);
  const PairIndex e = pair_elements(p.asked, at.tensor, pair);
  const Poison poison = outputs.placement == 0 ? Poison::a : Poison::b;
  const auto is_left = [&](std::int64_t element) {
    return is_poison(out + (row + element) * buffer.element_bytes, buffer.element_bytes, poison);
  };
  return is_left(e.first) || is_left(e.second);
}

}  // namespace

Scene scene_of(Subject& subject, const Problem& problem, const Execution& execution) {
  Scene scene{problem, subject.oracle, {}};
  const Case& c = problem.source;
  // In f64 this arithmetic errs as much as the kernel may: only what is plainly wrong counts.
  const double strict = c.dtype == ROPE_F64 ? 8 : 1;
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
        const bool back = c.operation == ROPE_TRANSPOSE;
        s.truth = scale_of(c) * s.x * (back ? std::conj(s.r) : s.r);
        s.bound = strict * pair_bound(subject.facts, c, std::abs(s.x), std::abs(s.r),
                                      {{s.truth.real()}, {s.truth.imag()}});
        s.wrong = !(std::abs(s.y - s.truth) <= s.bound);
        s.unwritten = s.wrong && unwritten(problem, outputs, at, i);
        scene.pairs.push_back(s);
      }
    });
  return scene;
}

Diagnosis diagnose(const Scene& scene) {
  std::vector<const Seen*> moved;  // where a wrong rotation would show
  std::int64_t wrong = 0;
  bool at_zero = false, none_finite = true, none_written = true;
  for (const Seen& s : scene.pairs) {
    if (!s.wrong) continue;
    ++wrong;
    at_zero = at_zero || s.position == 0;
    none_finite = none_finite && !finite(s.y);
    none_written = none_written && s.unwritten;
  }
  if (wrong == 0) return {};
  for (const Seen& s : scene.pairs)
    if (std::abs(s.x) > 0 && (at_zero || s.position != 0)) moved.push_back(&s);
  if (none_written) return {"leaves outputs unwritten", scope_of(moved)};
  if (none_finite) return {"makes NaN or infinity of finite inputs", scope_of(moved)};
  const std::vector<Hypothesis> fits = fitting(scene, wrong);
  if (fits.empty()) return {"", joined({scope_of(moved), elements_of(moved)})};
  const std::string names = fits[0].name + (fits.size() > 1 ? ", or " + fits[1].name : "");
  return {fmt::format("{} ({} wrong pairs fit)", names, wrong), scope_of(moved_by(fits[0], scene))};
}

Diagnosis diagnose(Subject& subject, const Case& c) {
  std::int64_t pairs = 0;
  for (const TensorCase& t : c.tensors) pairs += c.batch * c.tokens * t.heads * c.rotary_dim / 2;
  if (pairs > most_pairs) return {};
  const Problem problem = make_problem(c, subject.oracle);
  const Execution execution = execute(subject, problem);
  if (failure_of(execution).kind != Finding::Kind::measured) return {};
  return diagnose(scene_of(subject, problem, execution));
}

std::string to_text(const Diagnosis& d) {
  return joined({d.name, d.where});
}

}  // namespace ropewalk
