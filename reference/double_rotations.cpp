#include "reference/double_rotations.h"

#include <cmath>
#include <utility>

#include "base/fingerprint.h"

namespace ropewalk {
namespace {

// e^(i angle) of a float, exact like the oracle. A float below 2^24 is an integer below 2^24 times
// a power of two. From 2^24 on, it is an integer itself.
Rotation of_float_angle(Oracle& oracle, float angle) {
  if (std::abs(angle) >= 0x1p24F) return oracle.at(1, static_cast<std::int64_t>(angle));
  int exponent = 0;
  const float fraction = std::frexp(angle, &exponent);
  const auto integer = static_cast<std::int64_t>(std::ldexp(fraction, 24));
  return oracle.at(std::ldexp(1.0, exponent - 24), integer);
}

}  // namespace

DoubleRotations::DoubleRotations(std::vector<double> inv_freq, bool f32_angle)
    : inv_freq_(std::move(inv_freq)), f32_angle_(f32_angle) {
  const std::size_t pairs = inv_freq_.size();
  base_cos_.assign(pairs, 1);
  base_sin_.assign(pairs, 0);
  if (f32_angle_) {
    low_cos_.resize(pairs);
    low_sin_.resize(pairs);
    return;
  }
  fill_rows(1, span, low_cos_, low_sin_);
  fill_rows(span, spans_of_base, span_cos_, span_sin_);
  far_cos_.resize(pairs);
  far_sin_.resize(pairs);
}

// Fills [count, pairs]: row k has the rotations of position k * step.
void DoubleRotations::fill_rows(std::int64_t step, std::size_t count, std::vector<double>& cos,
                                std::vector<double>& sin) {
  const std::size_t pairs = inv_freq_.size();
  cos.resize(pairs * count);
  sin.resize(pairs * count);
  for (std::size_t i = 0; i < pairs; ++i) {
    FrequencyTable& table = oracle_.table(inv_freq_[i]);
    for (int level = 0; level < FrequencyTable::levels; ++level) table.rows(level);
    for (std::size_t k = 0; k < count; ++k) {
      const Rotation r = table.at(step * static_cast<std::int64_t>(k));
      cos[k * pairs + i] = r.re.hi;
      sin[k * pairs + i] = r.im.hi;
    }
  }
}

// Makes the base rows those of the span that begins there.
void DoubleRotations::take_span(std::int64_t span_from) {
  const std::size_t pairs = inv_freq_.size();
  const std::int64_t in_base = span_from & (span * spans_of_base - 1);
  if (const std::int64_t far = span_from - in_base; far != far_) {
    for (std::size_t i = 0; i < pairs; ++i) {
      const Rotation r = oracle_.at(inv_freq_[i], far);
      far_cos_[i] = r.re.hi;
      far_sin_[i] = r.im.hi;
    }
    far_ = far;
  }
  const double* const cos = span_cos_.data() + static_cast<std::size_t>(in_base / span) * pairs;
  const double* const sin = span_sin_.data() + static_cast<std::size_t>(in_base / span) * pairs;
  for (std::size_t i = 0; i < pairs; ++i) {
    base_cos_[i] = far_cos_[i] * cos[i] - far_sin_[i] * sin[i];
    base_sin_[i] = far_sin_[i] * cos[i] + far_cos_[i] * sin[i];
  }
  base_ = span_from;
}

void DoubleRotations::fill_f32_angles(std::int64_t position) {
  const auto near = static_cast<float>(position);
  for (std::size_t i = 0; i < inv_freq_.size(); ++i) {
    const double angle = near * static_cast<float>(inv_freq_[i]);
    low_cos_[i] = std::cos(angle);
    low_sin_[i] = std::sin(angle);
  }
}

DoubleRotations::Row DoubleRotations::row(std::int64_t position) {
  std::size_t at = 0;
  if (f32_angle_) {
    fill_f32_angles(position);
  } else {
    const std::int64_t low = position & (span - 1);
    if (position - low != base_) take_span(position - low);
    at = static_cast<std::size_t>(low) * inv_freq_.size();
  }
  return {base_cos_.data(), base_sin_.data(), low_cos_.data() + at, low_sin_.data() + at};
}

Rotation DoubleRotations::exact(std::int64_t position, std::size_t pair) {
  const double frequency = inv_freq_[pair];
  if (!f32_angle_) return oracle_.at(frequency, position);
  return of_float_angle(oracle_, static_cast<float>(position) * static_cast<float>(frequency));
}

std::string DoubleRotations::fingerprint() {
  Fingerprint f;
  std::vector<double> tables = f32_angle_ ? std::vector<double>{1.0} : inv_freq_;
  for (const double frequency : inv_freq_) f.add(frequency);
  for (const double frequency : tables)
    for (int level = 0; level < FrequencyTable::levels; ++level) {
      const std::vector<Rotation>& rows = oracle_.table(frequency).rows(level);
      f.add(rows.data(), rows.size() * sizeof(Rotation));
    }
  return f.text();
}

}  // namespace ropewalk
