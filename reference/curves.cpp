#include "reference/curves.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <functional>
#include <numbers>
#include <random>

#include "reference/frequencies.h"

namespace ropewalk {
namespace {

constexpr std::int64_t rotary_dim = 128, pairs = rotary_dim / 2;
constexpr double base = 10000;

using Turn = std::complex<double>;

double in_f32(double x) {
  return static_cast<float>(x);
}
double in_bf16(double x) {  // without its ends, which no value here comes near
  int exponent = 0;
  const double fraction = std::frexp(x, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(fraction, 8)), exponent - 8);
}
Turn rounded(double (*to)(double), const Turn& z) {
  return {to(z.real()), to(z.imag())};
}
Turn turn_by(double angle) {
  return {std::cos(angle), std::sin(angle)};
}

// f32 arithmetic, as most training code does it.
double f32_angle(double inv_freq_f32, double position) {
  return static_cast<float>(position) * static_cast<float>(inv_freq_f32);
}

// One way of rounding: the rotation of pair i at a position, and how a rotated element is stored.
struct Rounding {
  const char* name;
  std::function<Turn(std::int64_t, std::size_t)> turn;
  double (*stored)(double);
};

using Pairs = std::vector<Turn>;

// Components in [-1, 1) with 24 bits.
Pairs drawn_vector(std::mt19937& random) {
  Pairs out;
  for (std::int64_t i = 0; i < pairs; ++i) {
    const double re = std::ldexp(static_cast<double>(random() >> 8), -23) - 1;
    const double im = std::ldexp(static_cast<double>(random() >> 8), -23) - 1;
    out.emplace_back(re, im);
  }
  return out;
}

double length(const Pairs& x) {
  double square = 0;
  for (const Turn& pair : x) square += std::norm(pair);
  return std::sqrt(square);
}

double product(const Rounding& way, const Pairs& q, std::int64_t m, const Pairs& k,
               std::int64_t n) {
  double sum = 0;
  for (std::size_t i = 0; i < q.size(); ++i) {
    const Turn a = rounded(way.stored, q[i] * way.turn(m, i));
    const Turn b = rounded(way.stored, k[i] * way.turn(n, i));
    sum += a.real() * b.real() + a.imag() * b.imag();
  }
  return sum;
}

}  // namespace

double mean_prefix_magnitude(Oracle& oracle, const std::vector<double>& inv_freq,
                             std::int64_t distance) {
  Rotation sum;
  double total = 0;
  for (const double frequency : inv_freq) {
    const Rotation r = oracle.at(frequency, distance);
    sum = {sum.re + r.re, sum.im + r.im};
    total += std::hypot(static_cast<double>(sum.re), static_cast<double>(sum.im));
  }
  return total / static_cast<double>(inv_freq.size());
}

std::vector<NamedCurve> decay_bound_curves(Oracle& oracle) {
  constexpr std::int64_t each = 256, last = 65536;
  const std::vector<double> inv_freq = inverse_frequencies(base, rotary_dim);
  NamedCurve bound{"B(D)", {}, {}}, rises{"where it rises, up to 256 (some are marked)", {}, {}};
  for (std::int64_t d = 0; d <= last; d = d < each ? d + 1 : d * 102 / 100) {
    const double b = mean_prefix_magnitude(oracle, inv_freq, d);
    if (d > 0 && d <= each && b > bound.y.back()) {
      rises.x.push_back(static_cast<double>(d));
      rises.y.push_back(b);
    }
    bound.x.push_back(static_cast<double>(d));
    bound.y.push_back(b);
  }
  return {bound, rises};
}

std::vector<NamedCurve> relativity_curves(Oracle& oracle) {
  constexpr std::int64_t distance = 50, draws = 16;
  const std::vector<double> exact = inverse_frequencies(base, rotary_dim),
                            in_training = inverse_frequencies_f32(base, rotary_dim);
  const auto true_turn = [&](std::int64_t position, std::size_t i) {
    const Rotation r = oracle.at(exact[i], position);
    return Turn(static_cast<double>(r.re), static_cast<double>(r.im));
  };
  const std::vector<Rounding> ways = {
      {"exact angles, results stored in bf16", true_turn, in_bf16},
      {"cos and sin in bf16, results in f32",
       [&](std::int64_t m, std::size_t i) { return rounded(in_bf16, true_turn(m, i)); }, in_f32},
      {"angle in f32, results in f32",
       [&](std::int64_t m, std::size_t i) {
         return turn_by(f32_angle(in_training[i], static_cast<double>(m)));
       },
       in_f32},
      {"inv_freq in bf16, results in f32",
       [&](std::int64_t m, std::size_t i) {
         return turn_by(static_cast<double>(m) * in_bf16(exact[i]));
       },
       in_f32},
      {"positions in bf16, results in f32",
       [&](std::int64_t m, std::size_t i) {
         return true_turn(static_cast<std::int64_t>(in_bf16(static_cast<double>(m))), i);
       },
       in_f32}};
  std::mt19937 random(20210420);
  std::vector<Pairs> q, k;
  for (std::int64_t i = 0; i < draws; ++i) {
    q.push_back(drawn_vector(random));
    k.push_back(drawn_vector(random));
  }
  std::vector<NamedCurve> out;
  for (const Rounding& way : ways) {
    NamedCurve curve{way.name, {}, {}};
    for (int log2 = 6; log2 <= 20; ++log2) {
      const std::int64_t m = (std::int64_t{1} << log2) + 77;  // a power of two would be exact
      double worst = 0;
      for (std::size_t i = 0; i < q.size(); ++i)
        worst = std::max(worst, std::abs(product(way, q[i], m, k[i], m - distance) -
                                         product(way, q[i], distance, k[i], 0)) /
                                    (length(q[i]) * length(k[i])));
      curve.x.push_back(static_cast<double>(m));
      curve.y.push_back(worst);
    }
    out.push_back(curve);
  }
  return out;
}

std::vector<NamedCurve> context_curves() {
  std::vector<NamedCurve> out;
  for (const auto& [theta, name] :
       {std::pair{1e4, "10000 (RoFormer, Llama 2)"}, std::pair{5e5, "500000 (Llama 3)"},
        std::pair{1e6, "1000000 (Qwen2.5)"}, std::pair{1e7, "10000000"}}) {
    const std::vector<double> inv_freq = inverse_frequencies(theta, rotary_dim);
    NamedCurve curve{name, {}, {}};
    for (int quarter = 4 * 7; quarter <= 4 * 20; ++quarter) {
      const double tokens = std::exp2(quarter / 4.0);
      const auto turned = std::ranges::count_if(
          inv_freq, [&](double f) { return tokens * f >= 2 * std::numbers::pi; });
      curve.x.push_back(tokens);
      curve.y.push_back(static_cast<double>(turned) / static_cast<double>(pairs));
    }
    out.push_back(curve);
  }
  return out;
}

std::vector<NamedCurve> angle_curves(Oracle& oracle) {
  const std::vector<double> exact = inverse_frequencies(base, rotary_dim),
                            in_training = inverse_frequencies_f32(base, rotary_dim);
  const double ratio = in_f32(std::pow(base, -2.0 / rotary_dim));
  // The angle of pair i at a position.
  const std::vector<std::pair<const char*, std::function<double(double, std::size_t)>>> ways = {
      {"f32: position x (1 / powf)",
       [&](double m, std::size_t i) { return f32_angle(in_training[i], m); }},
      {"f32: angle times a constant, pair by pair",
       [&](double m, std::size_t i) {
         auto angle = static_cast<float>(m);
         for (std::size_t j = 0; j < i; ++j) angle *= static_cast<float>(ratio);
         return double{angle};
       }},
      {"f64 angle, cos and sin in f32", [&](double m, std::size_t i) { return m * exact[i]; }}};
  constexpr std::int64_t last = (std::int64_t{1} << 31) - 1, most = 64;
  std::vector<NamedCurve> out;
  for (const auto& [name, angle] : ways) {
    NamedCurve curve{name, {}, {}};
    for (int log2 = 0; log2 <= 31; ++log2) {
      const std::int64_t first = std::min(std::int64_t{1} << log2, last);
      const std::int64_t count = std::clamp<std::int64_t>(last - first, 1, std::min(first, most));
      double worst = 0;
      for (std::int64_t j = 0; j < count; ++j) {
        const std::int64_t m = first + j * (first / count) + (first > most ? j % 7 : 0);
        for (std::size_t i = 0; i < exact.size(); ++i) {
          const Turn got = rounded(in_f32, turn_by(angle(static_cast<double>(m), i)));
          const Rotation r = oracle.at(exact[i], m);
          worst = std::max(
              worst, std::abs(got - Turn(static_cast<double>(r.re), static_cast<double>(r.im))));
        }
      }
      curve.x.push_back(static_cast<double>(first));
      curve.y.push_back(worst);
    }
    out.push_back(curve);
  }
  return out;
}

}  // namespace ropewalk
