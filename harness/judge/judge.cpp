#include "harness/judge/judge.h"

#include <fmt/format.h>

#include <cmath>
#include <complex>
#include <limits>
#include <type_traits>

#include "base/text.h"
#include "harness/judge/normalized.h"
#include "kernels/api/kernel.h"

namespace ropewalk::harness {
namespace {

PairValue load_pair(const Problem& p, const std::vector<std::byte>& bytes, std::int64_t row,
                    std::uint32_t tensor, std::int64_t pair) {
  const PairIndex at = pair_elements(p.asked, tensor, pair);
  const Dtype dtype{p.asked.tensor[tensor].in_dtype};
  return {DoubleDouble(load(bytes, dtype, row + at.first)),
          DoubleDouble(load(bytes, dtype, row + at.second))};
}

double as_double(double v) {
  return v;
}
double as_double(const DoubleDouble& v) {
  return static_cast<double>(v);
}

// y / (a x r) = (1 + g) e^(i d), where g is a scale error and d an angle error in rad. A clear
// error of the angle alone is shown with the angle itself.
std::string diagnose(std::complex<double> x, std::complex<double> y,
                     std::complex<double> expected) {
  const std::complex<double> q = y / expected;
  if (!std::isfinite(q.real()) || !std::isfinite(q.imag()))
    return fmt::format("got ({:g}, {:g}), expected ({:g}, {:g})", y.real(), y.imag(),
                       expected.real(), expected.imag());
  constexpr double clear = 1e-3;  // rad, or of the length
  const std::string error =
      fmt::format("gain {:+.3g}, phase {:+.3g} rad", std::abs(q) - 1, std::arg(q));
  if (std::abs(std::arg(q)) < clear || std::abs(std::abs(q) - 1) > clear) return error;
  return error + fmt::format(" (turned by {:.4g} rad, should be {:.4g} rad)", std::arg(y / x),
                             std::arg(expected / x));
}

template <class Wide>
std::complex<double> as_complex(const Complex<Wide>& z) {
  return {as_double(z.re), as_double(z.im)};
}

// Double-double cannot hold products of f64 pairs near the ends of the range. A rotation is linear,
// so such a pair is judged 2^600 times as large or as small, together with its bound. This is
// exact, except that the small element of a huge pair may lose less than 2^-1000 of the pair.
double factor_for(Dtype dtype, double rho) {
  if (dtype != Dtype::f64 || rho == 0 || (rho > 0x1p-400 && rho < 0x1p400)) return 1;
  return rho < 1 ? 0x1p600 : 0x1p-600;
}

// The bound before storage, with all magnitudes multiplied by `factor`.
double computed_bound(const KernelFacts& facts, const Case& c, const bounds::Precision& at_one,
                      double table_rounding, double rho, double r, double factor) {
  bounds::Precision p = at_one;
  p.eta *= factor;
  p.normal *= factor;
  const double scale = scale_of(c);
  if (facts.error_bound > 0)
    return facts.error_bound * p.u * std::abs(scale) * rho + bounds::underflow(p, scale);
  if (c.contract == ROPE_CONTRACT_TABLE)
    return bounds::against_table(p, rho, r, scale, table_rounding);
  return bounds::against_exact(p, rho, bounds::computed_rotation * p.u, scale);
}

// The contract promises nothing if the result, or the value that is scaled first, could overflow.
bool may_overflow(const HeadRule& rule, double rho) {
  const double a = std::max(1.0, std::abs(rule.scale));
  return !(rho <= data_type(rule.dtype).format.largest / a * std::sqrt(0.5));
}

template <class Wide>
Complex<Wide> expected_of(const HeadRule& rule, const Complex<Wide>& x, const Complex<Wide>& r) {
  const Complex<Wide> turned = rule.transposes ? rotate_transpose(x, r) : rotate(x, r);
  return {turned.re * Wide(rule.scale), turned.im * Wide(rule.scale)};
}

// Judges one pair: adds |y - a x r| to the tally, or checks the rule for values that are not
// finite.
template <class Wide, class Into, class Where>
void compare_pair(const HeadRule& rule, const Complex<Wide>& x, const Complex<Wide>& r,
                  const Complex<Wide>& y, Into& tally, Where&& where) {
  const double rho = std::abs(as_complex(x));
  const auto finite = [](const Complex<Wide>& z) {
    return std::isfinite(as_double(z.re)) && std::isfinite(as_double(z.im));
  };
  if (!finite(x)) {
    tally.add(finite(y) ? 1 : 0, 0, [&](Finding& f) {
      f.where = where();
      f.reason = f.margin <= 1 ? "" : "an input of the pair is not finite, but both outputs are";
    });
    return;
  }
  if (may_overflow(rule, rho)) return;
  const double factor = factor_for(rule.dtype, rho);
  const auto moved = [factor](const Complex<Wide>& z) {
    return Complex<Wide>{Wide(as_double(z.re) * factor), Wide(as_double(z.im) * factor)};
  };
  const Complex<Wide> from = moved(x), got = moved(y), expected = expected_of(rule, from, r);
  const std::complex<double> difference{as_double(got.re - expected.re),
                                        as_double(got.im - expected.im)};
  const double length = std::abs(as_complex(from));
  const auto bound_here = [&] {
    const double input = length * rule.input_error + rule.input_lost * factor;
    const double turn = std::abs(as_complex(r));
    const double h = computed_bound(rule.facts, rule.c, rule.precision, rule.table_rounding,
                                    length + input, turn, factor) +
                     std::abs(rule.scale) * turn * input;
    return rule.times * bounds::with_storage(rule.precision, h, as_double(expected.re),
                                             as_double(expected.im)) +
           rule.stored_before * rule.precision.stored_u * length;
  };
  const double bound = rho == 0 ? 0 : bound_here();
  tally.add(std::abs(difference), bound, [&](Finding& f) {
    f.where = where();
    f.reason = f.margin <= 1 ? "" : "a pair is too far from the exact rotation";
    f.bound = rho > 0 ? bound / (length * rule.precision.unit()) : 0;
    f.bound_unit = "u rho";
    f.diagnosis = diagnose(as_complex(from), as_complex(got), as_complex(expected));
  });
}

// Takes one comparison, and describes nothing.
struct MarginAlone {
  std::optional<double> margin = {};
  template <class Describe>
  void add(double error, double bound, const Describe&) {
    margin = Tally::ratio(error, bound);
  }
};

template <class Wide>
double squared(const Complex<Wide>& z) {
  const double re = as_double(z.re), im = as_double(z.im);
  return re * re + im * im;
}

// A quick test whether |y - a x r| could be worse than `margin` times the bound. It errs only
// towards yes, and says yes for NaN.
template <class Wide>
bool is_suspicious(const HeadRule& rule, const Complex<Wide>& x, const Complex<Wide>& r,
                   const Complex<Wide>& y, double margin) {
  const Complex<Wide> expected = expected_of(rule, x, r);
  const double re = as_double(y.re - expected.re), im = as_double(y.im - expected.im);
  if (re == 0 && im == 0) return false;
  constexpr double strict = 1 - 1e-6;  // covers |r| next to 1, which is left out here
  // The bound is the sum of two parts, so its square is at least the sum of their squares.
  const double allowed = strict * rule.times * margin;
  const double part = allowed * rule.relative_bound;
  double stored = 0;
  if (rule.precision.stored_u != 0)  // never true for f64 data, so double suffices
    stored = squared(Complex<double>{bounds::half_ulp(rule.precision, as_double(expected.re)),
                                     bounds::half_ulp(rule.precision, as_double(expected.im))});
  const double limit = part * part * squared(x) * squared(r) + allowed * allowed * stored;
  // A square outside double's range decides nothing: that of infinity, or of huge or tiny f64
  // pairs.
  const bool in_range = limit > 0x1p-900 && limit <= std::numeric_limits<double>::max();
  return !(in_range && re * re + im * im <= limit);
}

// The type to judge in: double for f32 data and narrower types, 2^29 times finer than their
// precision. f64 data needs double-double.
template <class Stored>
using WideFor = std::conditional_t<std::is_same_v<Stored, double>, DoubleDouble, double>;

template <class Stored>
std::vector<Complex<WideFor<Stored>>> widen(const std::vector<Rotation>& from) {
  std::vector<Complex<WideFor<Stored>>> to;
  to.reserve(from.size());
  for (const Rotation& r : from) to.push_back({WideFor<Stored>(r.re), WideFor<Stored>(r.im)});
  return to;
}

template <class Stored>
void compare_head_as(const HeadRule& rule, const HeadView& head,
                     const Complex<WideFor<Stored>>* rotations, Tally& tally) {
  using Wide = WideFor<Stored>;
  for (std::int64_t i = 0; i < head.asked.rotary_dim / 2; ++i) {
    const PairIndex e = pair_elements(head.asked, head.tensor, i);
    const auto pair_at = [&](const std::byte* row) {
      return Complex<Wide>{Wide(TableOf<Stored>{load_as<Stored>(row, e.first)}),
                           Wide(TableOf<Stored>{load_as<Stored>(row, e.second)})};
    };
    const Complex<Wide> x = pair_at(head.in), y = pair_at(head.out);
    const Complex<Wide>& r = rotations[i];
    if (is_suspicious(rule, x, r, y, tally.finding().margin))
      compare_pair(rule, x, r, y, tally, [&] { return head.where(i); });
    else
      tally.count_harmless();
  }
}

GivenHead given_head(const Problem& p, int placement, const HeadPlace& at) {
  const int weight = p.buffer(Operand::weight, at.tensor);
  const std::byte* const in = given(p, placement, p.buffer(Operand::in, at.tensor)).data();
  return {p.asked, p.norm, at.tensor,
          in + in_row(p, at) * data_type(Dtype{p.asked.tensor[at.tensor].in_dtype}).bytes,
          weight < 0 ? nullptr : given(p, placement, weight).data()};
}

// Compares the rows of some tokens of one batch row of a tensor, whose elements are stored as
// `Stored`.
template <class Stored>
void compare_tokens(Subject& subject, const Problem& p, const Outputs& outputs,
                    const HeadRule& rule, HeadPlace at, const std::vector<std::int64_t>& tokens,
                    Tally& tally) {
  const std::function<std::string(std::int64_t)> where = [&](std::int64_t pair) {
    const std::int64_t position =
        pair == whole_head ? 0 : position_of(p, outputs.placement, at.b, at.t, pair);
    return head_text(p.source, at, pair, position);
  };
  const std::int64_t half = p.asked.rotary_dim / 2;
  const rope_tensor& shape = p.asked.tensor[at.tensor];
  const std::vector<Rotation> exact =
      shape.rotate == 0
          ? std::vector<Rotation>{}
          : rotations_of(p, subject.oracle, outputs.placement, at.tensor, at.b, tokens);
  const auto rotations = widen<Stored>(exact);
  const std::byte* const out = outputs[static_cast<std::size_t>(p.output(at.tensor).buffer)].data();
  const auto* of_token = rotations.data();
  for (const std::int64_t t : tokens) {
    at.t = t;
    for (at.h = 0; at.h < shape.heads; ++at.h) {
      const std::int64_t to = out_row(p, outputs.placement, at) * std::int64_t{sizeof(Stored)};
      const HeadView head{given_head(p, outputs.placement, at), out + to, where};
      if (marks(&p.norm, at.tensor))
        compare_normalized_head(rule, head, exact.data() + (of_token - rotations.data()), tally);
      else
        compare_head_as<Stored>(rule, head, of_token, tally);
    }
    if (shape.rotate != 0) of_token += half;
  }
}

template <class Stored>
void compare_tensor(Subject& subject, const Problem& p, const Outputs& outputs,
                    std::uint32_t tensor, const RowSample& sample, Tally& tally) {
  constexpr std::size_t most = 64;  // tokens at a time, so the rotations stay in the cache
  const HeadRule rule(subject.facts, p.source, 1, tensor);
  std::vector<std::int64_t> tokens;
  for (std::int64_t b = 0; b < p.asked.batch; ++b) {
    const auto compare = [&] {
      if (!tokens.empty())
        compare_tokens<Stored>(subject, p, outputs, rule, {tensor, b, 0, 0}, tokens, tally);
      tokens.clear();
    };
    for (std::int64_t t = 0; t < p.asked.tokens; ++t) {
      if (sample.has(b, t) && out_row(p, outputs.placement, {tensor, b, t, 0}) >= 0)
        tokens.push_back(t);
      if (tokens.size() == most) compare();
    }
    compare();
  }
}

}  // namespace

bounds::Precision precision_of(const KernelFacts& facts, Dtype dtype) {
  const Format& format = data_type(dtype).format;
  bounds::Precision p = is_narrow(dtype) && facts.error_bound == 0 ? bounds::stored_as(format)
                                                                   : bounds::computed_in(format);
  p.flushes = (facts.flags & ROPE_FLUSHES_SUBNORMALS) != 0;
  return p;
}

double stored_error(const bounds::Precision& precision, const PairValue& y) {
  return bounds::stored_error(precision, y.re.hi, y.im.hi);
}

Rotation own_rotation(std::int32_t contract, Oracle& oracle, double inv_freq,
                      std::int64_t position) {
  if (contract != ROPE_CONTRACT_F32_ANGLE) return oracle.at(inv_freq, position);
  // The angle is a float. The cos and sin of double are right to 2^-52, while u of f32 is
  // 2^-24.
  const float angle_rad = static_cast<float>(position) * static_cast<float>(inv_freq);
  return {std::cos(double{angle_rad}), std::sin(double{angle_rad})};
}

std::vector<Rotation> rotations_of(const Problem& p, Oracle& oracle, int placement,
                                   std::uint32_t tensor, std::int64_t b,
                                   const std::vector<std::int64_t>& tokens) {
  const auto half = static_cast<std::size_t>(p.asked.rotary_dim / 2);
  std::vector<Rotation> out(tokens.size() * half);
  const auto fill = [&](auto&& rotation_of) {
    // The oracle has a table for each frequency, so the frequencies come first.
    for (std::size_t i = 0; i < half; ++i)
      for (std::size_t k = 0; k < tokens.size(); ++k)
        out[k * half + i] = rotation_of(
            i, tokens[k], position_of(p, placement, b, tokens[k], static_cast<std::int64_t>(i)));
  };
  if (p.source.contract != ROPE_CONTRACT_TABLE) {
    fill([&](std::size_t i, std::int64_t, std::int64_t position) {
      return own_rotation(p.source.contract, oracle, p.inv_freq[i], position);
    });
    return out;
  }
  with_floating_type(Dtype{p.asked.table_dtype}, [&]<class Stored>(std::type_identity<Stored>) {
    const std::byte* const cos = given(p, placement, p.buffer(Operand::cos, tensor)).data();
    const std::byte* const sin = given(p, placement, p.buffer(Operand::sin, tensor)).data();
    fill([&](std::size_t i, std::int64_t t, std::int64_t position) -> Rotation {
      const auto pair = static_cast<std::int64_t>(i);
      const auto axis = static_cast<std::int64_t>(axis_of(p.source.axis_of_pair, pair));
      const std::int64_t index = table_row(p, axis, b * p.asked.tokens + t, position) + pair;
      return {double{load_as<Stored>(cos, index)}, double{load_as<Stored>(sin, index)}};
    });
  });
  return out;
}

InputPairs::InputPairs(const Problem& p, int placement, const HeadPlace& at)
    : problem_(p), placement_(placement), at_(at) {
  if (marks(&p.norm, at.tensor)) normalized_ = normalized(given_head(p, placement, at)).values;
}

PairValue InputPairs::operator[](std::int64_t pair) const {
  const Problem& p = problem_;
  if (!normalized_.empty()) {
    const PairIndex e = pair_elements(p.asked, at_.tensor, pair);
    return {normalized_[static_cast<std::size_t>(e.first)],
            normalized_[static_cast<std::size_t>(e.second)]};
  }
  return load_pair(p, given(p, placement_, p.buffer(Operand::in, at_.tensor)), in_row(p, at_),
                   at_.tensor, pair);
}

PairValue output_pair(const Problem& p, const Outputs& outputs, std::uint32_t tensor,
                      std::int64_t b, std::int64_t t, std::int64_t h, std::int64_t pair) {
  return load_pair(p, outputs[static_cast<std::size_t>(p.output(tensor).buffer)],
                   out_row(p, outputs.placement, {tensor, b, t, h}), tensor, pair);
}

double pair_bound(const KernelFacts& facts, const Case& c, std::uint32_t tensor, double rho,
                  double r, const PairValue& expected) {
  const bounds::Precision p = precision_of(facts, c, tensor);
  const double rounding = table_rounding(facts, c, tensor), norm = norm_error_of(facts, c, tensor);
  const double h = computed_bound(facts, c, p, rounding, rho * (1 + norm), r, 1);
  return bounds::with_storage(p, h + std::abs(scale_of(c)) * r * rho * norm, expected.re.hi,
                              expected.im.hi);
}

double table_rounding(const KernelFacts& facts, const Case& c, std::uint32_t tensor) {
  if (c.contract != ROPE_CONTRACT_TABLE) return 0;
  return bounds::table_rounding(precision_of(facts, c, tensor), data_type(table_dtype(c)).format);
}

double rotation_error(const KernelFacts& facts, const Case& c, std::uint32_t tensor) {
  const double u = precision_of(facts, c, tensor).u;
  const bool table = facts.angle_contract == ROPE_CONTRACT_TABLE;
  const DataType& given = data_type(table_dtype(c));
  const double norm = norm_error_of(facts, c, tensor);
  // A declared bound covers a table that is as exact as the kernel's own arithmetic.
  if (facts.error_bound > 0)
    return bounds::compound(
        norm,
        facts.error_bound * u + (table && given.format.u > u ? bounds::table_error(given) : 0));
  return bounds::compound(norm, table
                                    ? bounds::table_error(given) + table_rounding(facts, c, tensor)
                                    : u * bounds::computed_rotation);
}

std::string declared_words(const KernelFacts& facts, Dtype dtype) {
  const DataType& type = data_type(dtype);
  const double derived =
      std::ceil(bounds::needed_in_type(type, facts.angle_contract != ROPE_CONTRACT_TABLE));
  if (facts.error_bound <= derived) return {};
  const double part = facts.error_bound * type.format.u;
  const std::string size = part >= 0.5    ? percent_text(100 * part)
                           : part >= 1e-4 ? fmt::format("{:.2g} %", 100 * part)
                                          : fmt::format("{:.2g}", part);
  return fmt::format("declared {:g} u of {} = {}, derived {:g} u", facts.error_bound, type.word,
                     size, derived);
}

HeadRule::HeadRule(const KernelFacts& of, const Case& asked, double of_one_call,
                   std::uint32_t tensor)
    : facts(of),
      c(asked),
      times(of_one_call),
      dtype(tensor_dtype(asked, tensor)),
      precision(precision_of(of, dtype)),
      scale(scale_of(asked)),
      table_rounding(harness::table_rounding(of, asked, tensor)),
      transposes(asked.operation == Operation::transpose) {
  bounds::Precision no_underflow = precision;
  no_underflow.eta = no_underflow.normal = no_underflow.stored_normal = 0;
  relative_bound = computed_bound(facts, c, no_underflow, table_rounding, 1, 1, 1);
}

std::string head_text(const Case& c, const HeadPlace& at, std::int64_t pair,
                      std::int64_t position) {
  const std::string head = place_text(at.tensor, at.b, at.t, at.h);
  if (pair == whole_head) return head;
  const std::string axis =
      c.axes == 1 ? "" : fmt::format(", axis {}", axis_of(c.axis_of_pair, pair));
  return fmt::format("{} pair {}{}, position {}", head, pair, axis, position);
}

void judge_pair(const HeadRule& rule, const PairValue& x, const Rotation& r, const PairValue& y,
                Tally& tally, const std::function<std::string()>& where) {
  compare_pair(rule, x, r, y, tally, where);
}

void compare_head(const HeadRule& rule, const HeadView& head,
                  const std::vector<Rotation>& rotations, Tally& tally) {
  if (marks(&head.norm, head.tensor))
    return compare_normalized_head(rule, head, rotations.data(), tally);
  with_floating_type(rule.dtype, [&]<class Stored>(std::type_identity<Stored>) {
    compare_head_as<Stored>(rule, head, widen<Stored>(rotations).data(), tally);
  });
}

bool is_harmless(const HeadRule& rule, const PairValue& x, const Rotation& r, const PairValue& y,
                 double margin) {
  const PairValue turn{r.re, r.im};
  return !may_overflow(rule, std::sqrt(squared(x))) && !is_suspicious(rule, x, turn, y, margin);
}

std::optional<double> pair_margin(const HeadRule& rule, const PairValue& x, const Rotation& r,
                                  const PairValue& y) {
  MarginAlone into;
  compare_pair(rule, x, r, y, into, [] { return std::string(); });
  return into.margin;
}

Finding compare_with_truth(Subject& subject, const Problem& problem, const Execution& execution,
                           const RowSample& sample) {
  Tally tally;
  for (const Outputs& outputs : execution.outputs)
    for (std::uint32_t i = 0; i < problem.asked.tensor_count; ++i) {
      if (problem.asked.tensor[i].rotate == 0 && !marks(&problem.norm, i)) continue;
      with_floating_type(tensor_dtype(problem.source, i),
                         [&]<class Stored>(std::type_identity<Stored>) {
                           compare_tensor<Stored>(subject, problem, outputs, i, sample, tally);
                         });
    }
  return tally.finding();
}

}  // namespace ropewalk::harness
