#include "harness/judge.h"

#include <fmt/format.h>

#include <cmath>
#include <complex>
#include <limits>
#include <type_traits>

#include "harness/names.h"
#include "kernels/api/kernel.h"

namespace ropewalk {
namespace {

PairValue load_pair(const Problem& p, const std::vector<std::byte>& bytes, std::int64_t row,
                    std::uint32_t tensor, std::int64_t pair) {
  const PairIndex at = pair_elements(p.asked, tensor, pair);
  return {DoubleDouble(load(bytes, p.source.dtype, row + at.first)),
          DoubleDouble(load(bytes, p.source.dtype, row + at.second))};
}

double as_double(double v) {
  return v;
}
double as_double(const DoubleDouble& v) {
  return static_cast<double>(v);
}

// y / (a x r) = (1 + g) e^(i d): g is a scale error, d an angle error.
std::string diagnose(std::complex<double> y, std::complex<double> expected) {
  const std::complex<double> q = y / expected;
  if (!std::isfinite(q.real()) || !std::isfinite(q.imag()))
    return fmt::format("got ({:g}, {:g}), expected ({:g}, {:g})", y.real(), y.imag(),
                       expected.real(), expected.imag());
  return fmt::format("gain {:+.3g}, phase {:+.3g} rad", std::abs(q) - 1, std::arg(q));
}

template <class Wide>
std::complex<double> as_complex(const Complex<Wide>& z) {
  return {as_double(z.re), as_double(z.im)};
}

// One pair: adds |y - a x r| to the tally, or checks the rule for what is not finite.
template <class Wide, class Where>
void compare_pair(const KernelFacts& facts, const Case& c, const Complex<Wide>& x,
                  const Complex<Wide>& r, const Complex<Wide>& y, Tally& tally, Where&& where) {
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
  // Above 2^990 double-double products of f64 data would overflow in the judge itself.
  const double largest = c.dtype == ROPE_F64 ? 0x1p990 : double{std::numeric_limits<float>::max()};
  const double scale = scale_of(c);
  if (rho * std::max(1.0, std::abs(scale)) > largest / 2)
    return;  // may overflow: nothing is promised
  const Complex<Wide> turned =
      c.operation == ROPE_TRANSPOSE ? rotate_transpose(x, r) : rotate(x, r);
  const Complex<Wide> expected{turned.re * Wide(scale), turned.im * Wide(scale)};
  const std::complex<double> difference{as_double(y.re - expected.re),
                                        as_double(y.im - expected.im)};
  const double bound = rho == 0 ? 0 : pair_bound(facts, c, rho, std::abs(as_complex(r)));
  tally.add(std::abs(difference), bound, [&](Finding& f) {
    f.where = where();
    f.reason = f.margin <= 1 ? "" : "a pair is too far from the exact rotation";
    f.bound = rho > 0 ? bound / (rho * precision_of(facts, c.dtype).u) : 0;
    f.bound_unit = "u rho";
    f.diagnosis = diagnose(as_complex(y), as_complex(expected));
  });
}

// A cheap look: whether |y - a x r| could be worse than `margin` times the bound. A little strict,
// so that it only ever says yes too often; NaN says yes.
struct QuickLook {
  double relative_bound = 0, scale = 1, sign = 1;

  template <class Wide>
  bool suspicious(const Complex<Wide>& x, const Complex<Wide>& r, const Complex<Wide>& y,
                  double margin) const {
    const Complex<Wide> turned = sign < 0 ? rotate_transpose(x, r) : rotate(x, r);
    const double re = as_double(y.re - turned.re * Wide(scale));
    const double im = as_double(y.im - turned.im * Wide(scale));
    constexpr double strict = 1 - 1e-6;  // for underflow and for |r| next to 1, left out here
    if (re == 0 && im == 0) return false;
    const double allowed = strict * margin * relative_bound;
    const double limit = allowed * allowed * squared(x) * squared(r);
    // A square beyond double's range says nothing: of infinity, and of huge or tiny f64 pairs.
    const bool in_range = limit > 0x1p-900 && limit <= std::numeric_limits<double>::max();
    return !(in_range && re * re + im * im <= limit);
  }

 private:
  template <class Wide>
  static double squared(const Complex<Wide>& z) {
    const double re = as_double(z.re), im = as_double(z.im);
    return re * re + im * im;
  }
};

// The pairs of one head of one placement.
template <class Wide>
void compare_head(Subject& subject, const Problem& p, const Outputs& outputs, const HeadPlace& at,
                  const std::vector<Complex<Wide>>& rotations, const QuickLook& look,
                  Tally& tally) {
  const TensorPlaces& places = p.tensor[at.tensor];
  const std::int64_t offset = p.asked.tensor[at.tensor].rotary_offset;
  const std::int64_t in_row =
      places.in_at + in_index(p.asked, at.tensor, at.b, at.t, at.h) + offset;
  const std::int64_t out_row =
      places.out_at + out_index(p.asked, at.tensor, at.b, at.t, at.h) + offset;
  const std::int64_t half = p.asked.rotary_dim / 2;
  using Stored = std::conditional_t<std::is_same_v<Wide, double>, float, double>;
  const std::vector<std::byte>& in = given(p, outputs, places.in);
  const std::vector<std::byte>& out = outputs[static_cast<std::size_t>(places.out)];
  for (std::int64_t i = 0; i < half; ++i) {
    const PairIndex e = pair_index(p.asked.pairing, i, half);
    const auto pair_at = [&](const std::vector<std::byte>& bytes, std::int64_t row) {
      return Complex<Wide>{Wide(load_as<Stored>(bytes, row + e.first)),
                           Wide(load_as<Stored>(bytes, row + e.second))};
    };
    const Complex<Wide> x = pair_at(in, in_row), y = pair_at(out, out_row);
    const Complex<Wide>& r = rotations[static_cast<std::size_t>(i)];
    if (!look.suspicious(x, r, y, tally.finding().margin)) {
      tally.count_harmless();
      continue;
    }
    compare_pair(subject.facts, p.source, x, r, y, tally, [&] {
      return fmt::format("{} pair {}, position {}", place_text(at.tensor, at.b, at.t, at.h), i,
                         position_of(p, outputs.placement, at.b, at.t));
    });
  }
}

template <class Wide>
Finding compare_all(Subject& subject, const Problem& p, const Execution& execution) {
  Tally tally;
  QuickLook look;
  look.scale = scale_of(p.source);
  look.sign = p.source.operation == ROPE_TRANSPOSE ? -1 : 1;
  look.relative_bound = pair_bound(subject.facts, p.source, 1, 1);
  std::vector<Complex<Wide>> rotations;
  for (const Outputs& outputs : execution.outputs) {
    HeadPlace known{ROPE_MAX_TENSORS, 0, 0, 0};
    for_each_rotated_head(p.asked, [&](std::uint32_t tensor, std::int64_t b, std::int64_t t,
                                       std::int64_t h) {
      if (tensor != known.tensor || b != known.b || t != known.t) {
        rotations.clear();
        for (const Rotation& r : rotations_of(p, subject.oracle, outputs.placement, tensor, b, t))
          rotations.push_back({Wide(r.re), Wide(r.im)});
      }
      known = {tensor, b, t, h};
      compare_head(subject, p, outputs, known, rotations, look, tally);
    });
  }
  return tally.finding();
}

}  // namespace

bounds::Precision precision_of(const KernelFacts& facts, std::int32_t dtype) {
  bounds::Precision p = dtype == ROPE_F64 ? bounds::f64 : bounds::f32;
  p.flushes = (facts.flags & ROPE_FLUSHES_SUBNORMALS) != 0;
  return p;
}

std::vector<Rotation> rotations_of(const Problem& p, Oracle& oracle, int placement,
                                   std::uint32_t tensor, std::int64_t b, std::int64_t t) {
  const std::int64_t half = p.asked.rotary_dim / 2;
  const std::int64_t token = b * p.asked.tokens + t;
  const std::int64_t position = position_of(p, placement, b, t);
  std::vector<Rotation> out;
  out.reserve(static_cast<std::size_t>(half));
  const TensorPlaces& at = p.tensor[tensor];
  for (std::int64_t i = 0; i < half; ++i) {
    if (p.source.contract == ROPE_CONTRACT_TABLE) {
      const std::int64_t row = p.asked.table_rows_by == ROPE_ROW_BY_TOKEN ? token : position;
      const std::int64_t index = (p.asked.table_rows > 1 ? row * p.asked.table_row_stride : 0) + i;
      const auto value = [&](int buffer) {
        return load(p.buffers[static_cast<std::size_t>(buffer)].content, p.source.dtype, index);
      };
      out.push_back({value(at.cos), value(at.sin)});
    } else if (p.source.contract == ROPE_CONTRACT_F32_ANGLE) {
      // The angle is a float; double's cos and sin of it are right to 2^-52, u of f32 is 2^-24.
      const float angle = static_cast<float>(position) *
                          static_cast<float>(p.inv_freq[static_cast<std::size_t>(i)]);
      out.push_back({std::cos(double{angle}), std::sin(double{angle})});
    } else {
      out.push_back(given_rotation(p, oracle, tensor, position, i));
    }
  }
  return out;
}

PairValue input_pair(const Problem& p, int placement, const HeadPlace& head, std::int64_t pair) {
  const TensorPlaces& at = p.tensor[head.tensor];
  return load_pair(p, given(p, placement, at.in),
                   at.in_at + in_index(p.asked, head.tensor, head.b, head.t, head.h), head.tensor,
                   pair);
}

PairValue output_pair(const Problem& p, const Outputs& outputs, std::uint32_t tensor,
                      std::int64_t b, std::int64_t t, std::int64_t h, std::int64_t pair) {
  const TensorPlaces& at = p.tensor[tensor];
  return load_pair(p, outputs[static_cast<std::size_t>(at.out)],
                   at.out_at + out_index(p.asked, tensor, b, t, h), tensor, pair);
}

double pair_bound(const KernelFacts& facts, const Case& c, double rho, double r) {
  const bounds::Precision p = precision_of(facts, c.dtype);
  const double scale = scale_of(c);
  if (facts.error_bound > 0)
    return facts.error_bound * p.u * std::abs(scale) * rho + bounds::underflow(p, scale);
  if (c.contract == ROPE_CONTRACT_TABLE) return bounds::against_table(p, rho, r, scale);
  return bounds::against_exact(p, rho, bounds::computed_rotation * p.u, scale);
}

double rotation_error(const KernelFacts& facts, std::int32_t dtype) {
  const double u = precision_of(facts, dtype).u;
  if (facts.error_bound > 0) return facts.error_bound * u;
  return u * (facts.angle_contract == ROPE_CONTRACT_TABLE ? bounds::rounded_rotation
                                                          : bounds::computed_rotation);
}

Finding compare_with_truth(Subject& subject, const Problem& problem, const Execution& execution) {
  // For f32 data double is 2^29 times finer than what is judged; f64 data need double-double.
  return problem.source.dtype == ROPE_F64 ? compare_all<DoubleDouble>(subject, problem, execution)
                                          : compare_all<double>(subject, problem, execution);
}

}  // namespace ropewalk
