#include "properties/explain/facts.h"

#include <algorithm>
#include <cmath>

namespace ropewalk::properties {
using namespace harness;
using C = std::complex<double>;

C turn(double m, double f) {
  const double angle = m * f, rest = std::fma(m, f, -angle);
  const double c = std::cos(angle), s = std::sin(angle);
  return {c - rest * s, s + rest * c};
}

std::optional<C> Facts::rotation(const Seen& s, std::int64_t position) const {
  constexpr std::int64_t limit = std::int64_t{1} << 31;
  if (position < -limit || position >= limit) return {};
  const bool by_position =
      p_.source.contract == ROPE_CONTRACT_TABLE && p_.asked.table_rows_by == ROPE_ROW_BY_POSITION;
  if (by_position && (position < 0 || position >= p_.asked.table_rows)) return {};
  if (p_.source.contract == ROPE_CONTRACT_F32_ANGLE)
    return turn(1, double{static_cast<float>(position) * static_cast<float>(frequency(s.pair))});
  const Rotation r = given_rotation(p_, scene_.oracle, s.at.tensor, position, s.pair);
  return C{static_cast<double>(r.re), static_cast<double>(r.im)};
}

std::optional<C> Facts::rotation_of_pair(Seen s, std::int64_t i) const {
  s.pair = i;
  return rotation(s, position(s.placement, s.at.b, s.at.t, i));
}

double Facts::element(const Seen& s, const HeadPlace& at, std::int64_t e) const {
  return load(given(p_, s.placement, p_.buffer(Operand::in, at.tensor)),
              Dtype{p_.asked.tensor[at.tensor].in_dtype}, in_row(p_, at) + e);
}

C Facts::pair_of(const Seen& s, const HeadPlace& at) const {
  const PairIndex e = pair_elements(p_.asked, at.tensor, s.pair);
  return {element(s, at, e.first), element(s, at, e.second)};
}

Facts::From Facts::source(const Seen& s, Pairing read, Pairing written, std::int64_t offset,
                          std::int64_t at) const {
  const std::int64_t half = p_.asked.rotary_dim / 2, in_window = at - offset;
  if (in_window < 0 || in_window >= 2 * half) return {-1, true, {element(s, s.at, at), 0}};
  const std::int64_t pair = written == Pairing::interleaved ? in_window / 2 : in_window % half;
  const PairIndex two = pair_index(read, pair, half);
  return {pair,
          in_window == pair_index(written, pair, half).first,
          {element(s, s.at, offset + two.first), element(s, s.at, offset + two.second)}};
}

C Facts::rearranged(const Seen& s, Pairing read, Pairing written, std::int64_t offset) const {
  const auto value = [&](std::int64_t at) {
    const From from = source(s, read, written, offset, at);
    if (from.pair < 0) return from.x.real();
    const C y = turned(from.x, rotation_of_pair(s, from.pair).value_or(C{1, 0}));
    return from.first ? y.real() : y.imag();
  };
  const PairIndex e = pair_elements(p_.asked, s.at.tensor, s.pair);
  return C{value(e.first), value(e.second)};
}

double Facts::longest(const Seen& s, Pairing read, Pairing written, std::int64_t offset) const {
  const PairIndex e = pair_elements(p_.asked, s.at.tensor, s.pair);
  return std::abs(scale()) * std::max(std::abs(source(s, read, written, offset, e.first).x),
                                      std::abs(source(s, read, written, offset, e.second).x));
}

std::optional<double> Facts::far_element(const Seen& s, std::int64_t at) const {
  const rope_tensor& t = tensor(s);
  const std::int64_t half = p_.asked.rotary_dim / 2, far = t.head_dim / 2;
  if (p_.source.pairing != Pairing::half_split || far == half) return {};
  for (const bool first : {true, false}) {
    const std::int64_t i = at - t.rotary_offset - (first ? 0 : far);
    if (i < 0 || i >= half || t.rotary_offset + i + far >= t.head_dim) continue;
    const C x{element(s, s.at, t.rotary_offset + i), element(s, s.at, t.rotary_offset + i + far)};
    const C y = turned(x, rotation_of_pair(s, i).value_or(C{1, 0}));
    return first ? y.real() : y.imag();
  }
  return element(s, s.at, at);
}

std::optional<C> Facts::with_far_partner(const Seen& s) const {
  const PairIndex e = pair_elements(p_.asked, s.at.tensor, s.pair);
  const auto first = far_element(s, e.first), second = far_element(s, e.second);
  return first ? std::optional<C>({*first, *second}) : std::nullopt;
}

}  // namespace ropewalk::properties
