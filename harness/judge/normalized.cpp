#include "harness/judge/normalized.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "reference/rms_norm.h"

namespace ropewalk::harness {
namespace {

// The values that are right before the rotation, and how far a kernel's may be from one of them.
struct Truth {
  std::array<DoubleDouble, 4> all = {};  // two roundings make four of one
  std::size_t count = 0;
  double error = 0;  // relative
  double lost = 0;   // by underflow
  void push_back(const DoubleDouble& v) { all[count++] = v; }
  std::span<const DoubleDouble> values() const { return {all.data(), count}; }
};

Truth truth_of(const DoubleDouble& value, double error, double lost) {
  return {{value}, 1, error, lost};
}

// Rounds the value v, off by up to `error` of itself and `lost`: to the neighbours between which it
// may lie, or, where several numbers lie in that range, to v with the error of a rounding.
void round_to(Dtype dtype, const bounds::Precision& p, Truth& truth) {
  Truth out;
  for (const DoubleDouble& v : truth.values()) {
    const double apart = truth.error * std::abs(v.hi) + truth.lost;
    const double half = bounds::half_ulp(p, std::abs(v.hi));
    if (2 * apart > half) {
      out.push_back(v);
      out.lost = std::max(out.lost, apart + bounds::half_ulp(p, std::abs(v.hi) + apart));
      continue;
    }
    for (const double side : {-1.0, 1.0}) {
      const DoubleDouble rounded(stored_value(dtype, v.hi + (v.lo + side * apart)));
      if (out.count == 0 || out.all[out.count - 1].hi != rounded.hi) out.push_back(rounded);
    }
  }
  truth = out;
}

// What a kernel that rounds where it declares to makes of the elements of one head.
class Truths {
 public:
  Truths(const HeadRule& rule, const GivenHead& given, const NormalizedHead& head)
      : rule_(rule), head_(head) {
    const bool narrow = is_narrow(rule.dtype), weighted = given.weight != nullptr;
    const bool plus_one = weighted && given.norm.weight_plus_one != 0;
    const double u = rule.precision.u;
    rounds_norm_ = narrow && (rule.facts.flags & ROPE_ROUNDS_NORM) != 0;
    rounds_weighted_ = narrow && (rule.facts.flags & ROPE_ROUNDS_WEIGHTED) != 0;
    const std::int64_t dims = std::ssize(head.values);
    before_ = bounds::norm_error(u, dims, false, false);
    weighing_ = weighted ? bounds::compound(u, plus_one ? u : 0) : 0;
    whole_ = bounds::norm_error(u, dims, weighted, plus_one);
  }
  Truth operator[](std::int64_t element) const {
    const auto e = static_cast<std::size_t>(element);
    const double weight = head_.weights[e];
    const double lost = bounds::norm_underflow(rule_.precision, weight, head_.factor);
    Truth out = rounds_norm_ ? truth_of(head_.before_weight[e], before_, lost)
                             : truth_of(head_.values[e], whole_, lost);
    if (rounds_norm_) {
      round_to(rule_.dtype, rule_.precision, out);
      for (std::size_t i = 0; i < out.count; ++i) out.all[i] = out.all[i] * DoubleDouble(weight);
      out.error = weighing_;
      out.lost = lost + out.lost * std::abs(weight);
    }
    if (rounds_weighted_) round_to(rule_.dtype, rule_.precision, out);
    return out;
  }

 private:
  const HeadRule& rule_;
  const NormalizedHead& head_;
  bool rounds_norm_, rounds_weighted_;
  double before_, weighing_, whole_;
};

// How often the value is rounded to its narrow type before the rotation.
int roundings_of(const KernelFacts& facts) {
  return ((facts.flags & ROPE_ROUNDS_NORM) != 0 ? 1 : 0) +
         ((facts.flags & ROPE_ROUNDS_WEIGHTED) != 0 ? 1 : 0);
}

double distance(const DoubleDouble& a, const DoubleDouble& b) {
  return std::abs(static_cast<double>(a - b));
}

// An element that is not rotated: normalized and stored.
void compare_element(const HeadRule& rule, const Truth& truth, double y, std::int64_t element,
                     const HeadView& head, Tally& tally) {
  const auto allowed = [&](const DoubleDouble& v) {
    const double h = truth.error * std::abs(v.hi) + truth.lost;
    return h + (rule.precision.stored_u == 0
                    ? 0
                    : bounds::half_ulp(rule.precision, std::abs(v.hi) + h));
  };
  const auto margin = [&](const DoubleDouble& v) {
    const double error = distance(DoubleDouble(y), v);
    return error == 0 ? 0 : error / allowed(v);
  };
  const DoubleDouble& v = *std::ranges::min_element(truth.values(), {}, margin);
  if (std::abs(v.hi) > data_type(rule.dtype).format.largest / 2) return;
  tally.add(distance(DoubleDouble(y), v), allowed(v), [&](Finding& f) {
    f.where = fmt::format("{} element {}", head.where(whole_head), element);
    f.reason =
        f.margin <= 1 ? "" : "an element that is not rotated is too far from its normalized value";
    f.bound = v.hi != 0 ? allowed(v) / (std::abs(v.hi) * rule.precision.unit()) : 0;
    f.bound_unit = "u |v|";
    f.diagnosis = fmt::format("got {:g}, expected {:g}", y, v.hi);
  });
}

// A pair of which each element has one or more right values: the nearest truth counts.
void compare_any(HeadRule rule, const Truth& first, const Truth& second, const Rotation& r,
                 const PairValue& y, const std::function<std::string()>& where, Tally& tally) {
  rule.input_error = std::max(first.error, second.error);
  rule.input_lost = std::hypot(first.lost, second.lost);
  for (const DoubleDouble& a : first.values())
    for (const DoubleDouble& b : second.values())
      if (is_harmless(rule, {a, b}, r, y, tally.finding().margin)) return tally.count_harmless();
  std::optional<double> best;
  PairValue nearest;
  for (const DoubleDouble& a : first.values())
    for (const DoubleDouble& b : second.values())
      if (const auto margin = pair_margin(rule, {a, b}, r, y);
          margin && (!best || *margin < *best)) {
        best = margin;
        nearest = {a, b};
      }
  if (!best) return;
  tally.add(*best, 1, [&](Finding& f) {
    const std::int64_t compared = f.compared;
    Tally described;
    judge_pair(rule, nearest, r, y, described, where);
    f = described.finding();
    f.compared = compared;
    if (f.margin > 1) f.reason = "a pair is too far from the exact rotation of the normalized head";
  });
}

void normalize(const GivenHead& given, NormalizedHead& out) {
  const rope_tensor& s = given.asked.tensor[given.tensor];
  const rope_norm& norm = given.norm;
  const auto dims = static_cast<std::size_t>(s.head_dim);
  out.values.resize(dims), out.before_weight.resize(dims), out.weights.resize(dims);
  DoubleDouble sum;
  out.is_finite = true;
  const Dtype dtype{s.in_dtype};
  with_floating_type(dtype, [&]<class Stored>(std::type_identity<Stored>) {
    for (std::size_t e = 0; e < dims; ++e) {
      const double x{load_as<Stored>(given.in, static_cast<std::int64_t>(e))};
      out.is_finite = out.is_finite && std::isfinite(x);
      out.values[e] = DoubleDouble(x);
      sum = sum + DoubleDouble(x) * DoubleDouble(x);
    }
  });
  const double largest = data_type(data_type(dtype).computed_in).format.largest;
  // Of f64, sums beyond the range of inverse_rms are not judged either.
  out.is_promised = static_cast<double>(sum) <= std::min(largest / 2, 0x1p900);
  if (!out.is_finite || !out.is_promised) return;
  const DoubleDouble factor = inverse_rms(sum, s.head_dim, norm.epsilon);
  out.factor = static_cast<double>(factor);
  const std::byte* const weights = given.weight;
  with_floating_type(Dtype{norm.weight_dtype}, [&]<class Stored>(std::type_identity<Stored>) {
    for (std::size_t e = 0; e < dims; ++e) {
      DoubleDouble weight(1);
      if (weights != nullptr)
        weight = DoubleDouble(double{load_as<Stored>(weights, static_cast<std::int64_t>(e))});
      if (weights != nullptr && norm.weight_plus_one != 0) weight = weight + DoubleDouble(1);
      out.before_weight[e] = out.values[e] * factor;
      out.values[e] = out.before_weight[e] * weight;
      out.weights[e] = static_cast<double>(weight);
    }
  });
}

}  // namespace

NormalizedHead normalized(const GivenHead& head) {
  NormalizedHead out;
  normalize(head, out);
  return out;
}

double norm_error_of(const KernelFacts& facts, const Case& c, std::uint32_t tensor) {
  const TensorCase& t = c.tensors[tensor];
  if (!t.norm) return 0;
  const Dtype dtype = tensor_dtype(c, t);
  const double u = precision_of(facts, dtype).u;
  const double own = bounds::norm_error(u, t.head_dim, t.weight, c.weight_plus_one);
  const int roundings = roundings_of(facts);
  const double stored = is_narrow(dtype) ? data_type(dtype).format.u : 0;
  return bounds::compound(own, roundings * stored);
}

double norm_lost_of(const KernelFacts& facts, const Case& c, std::uint32_t tensor) {
  if (!c.tensors[tensor].norm) return 0;
  constexpr double largest_weight = 9;  // of those that cases have, 1 + w included
  const bounds::Precision p = precision_of(facts, c, tensor);
  const double rounded = roundings_of(facts) * largest_weight * p.stored_least();
  return std::sqrt(2.0) *
         (bounds::norm_underflow(p, largest_weight, 1 / std::sqrt(c.epsilon)) + rounded);
}

void compare_normalized_head(const HeadRule& rule, const HeadView& view, const Rotation* rotations,
                             Tally& tally) {
  const rope_tensor& s = view.asked.tensor[view.tensor];
  const auto y = [&](std::int64_t e) { return load(view.out, rule.dtype, e); };
  thread_local NormalizedHead head;  // its memory is used again
  normalize(view, head);
  if (!head.is_finite) {
    bool finite = true;
    for (std::int64_t e = 0; e < s.head_dim; ++e) finite = finite && std::isfinite(y(e));
    tally.add(finite ? 1 : 0, 0, [&](Finding& f) {
      f.where = view.where(whole_head);
      f.reason = finite ? "an input of the head is not finite, but all outputs are" : "";
    });
  }
  if (!head.is_finite || !head.is_promised) return;
  const std::int64_t begin = s.rotate != 0 ? s.rotary_offset : s.head_dim;
  const std::int64_t end = s.rotate != 0 ? begin + view.asked.rotary_dim : s.head_dim;
  const Truths truths(rule, view, head);
  for (std::int64_t e = 0; e < s.head_dim; ++e)
    if (e < begin || e >= end) compare_element(rule, truths[e], y(e), e, view, tally);
  for (std::int64_t i = 0; begin < end && i < view.asked.rotary_dim / 2; ++i) {
    const PairIndex pair = pair_elements(view.asked, view.tensor, i);
    compare_any(
        rule, truths[pair.first], truths[pair.second], rotations[i],
        {DoubleDouble(y(pair.first)), DoubleDouble(y(pair.second))}, [&] { return view.where(i); },
        tally);
  }
}

}  // namespace ropewalk::harness
