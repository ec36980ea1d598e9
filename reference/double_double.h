// Double-double: an unevaluated sum hi + lo of two doubles, about 106 bits.
//
// The relative error of + - * is below 2^-102 (Joldes, Muller, Popescu, "Tight and rigorous error
// bounds for basic building blocks of double-word arithmetic", ACM TOMS 44, 2017). It needs
// round-to-nearest and -ffp-contract=off. Products are split (Dekker, 1971) and not fused, so every
// machine gives the same bits at the same speed. A software fma would take a hundred times as long.
#pragma once
namespace ropewalk {

struct DoubleDouble {
  double hi = 0, lo = 0;
  constexpr DoubleDouble() = default;
  constexpr DoubleDouble(double high) : hi(high) {}  // NOLINT: every double is exact
  constexpr DoubleDouble(double high, double low) : hi(high), lo(low) {}
  explicit constexpr operator double() const { return hi + lo; }
};

/// a + b exactly, for any a and b.
inline DoubleDouble two_sum(double a, double b) {
  const double s = a + b;
  const double v = s - a;
  return {s, (a - (s - v)) + (b - v)};
}

/// a + b exactly, for |a| >= |b|.
inline DoubleDouble quick_two_sum(double a, double b) {
  const double s = a + b;
  return {s, b - (s - a)};
}

/// a * b exactly, for |a|, |b| < 2^996 and unless it underflows.
inline DoubleDouble two_product(double a, double b) {
  constexpr double splitter = 0x1p27 + 1;
  const double p = a * b;
  const double ta = splitter * a, tb = splitter * b;
  const double ah = ta - (ta - a), bh = tb - (tb - b);
  const double al = a - ah, bl = b - bh;
  return {p, ((ah * bh - p) + ah * bl + al * bh) + al * bl};
}

inline DoubleDouble operator-(const DoubleDouble& a) {
  return {-a.hi, -a.lo};
}

inline DoubleDouble operator+(const DoubleDouble& a, const DoubleDouble& b) {
  const DoubleDouble s = two_sum(a.hi, b.hi);
  const DoubleDouble t = two_sum(a.lo, b.lo);
  const DoubleDouble v = quick_two_sum(s.hi, s.lo + t.hi);
  return quick_two_sum(v.hi, t.lo + v.lo);
}

inline DoubleDouble operator-(const DoubleDouble& a, const DoubleDouble& b) {
  return a + (-b);
}

inline DoubleDouble operator*(const DoubleDouble& a, const DoubleDouble& b) {
  const DoubleDouble p = two_product(a.hi, b.hi);
  const double cross = a.hi * b.lo + a.lo * b.hi;
  return quick_two_sum(p.hi, p.lo + cross);
}

/// Off by less than 2^-98 of the quotient.
inline DoubleDouble operator/(const DoubleDouble& a, const DoubleDouble& b) {
  const double first = a.hi / b.hi;
  const DoubleDouble left = a - b * first;
  const double second = left.hi / b.hi;
  const double third = (left - b * second).hi / b.hi;
  return quick_two_sum(first, second) + third;
}

}  // namespace ropewalk
