// The definition of rotary position embedding (RoFormer, arXiv:2104.09864, eq. 15 and section
// 3.2.2).
//
// Pair i of a head is the complex number x = first + i second. At position m it becomes x * r with
// r = e^(i m theta_i). Everything else in this project is measured against these lines.
#pragma once

namespace ropewalk {

/// A pair of elements, or the rotation (cos, sin) that turns it, as a complex number.
template <class Real>
struct Complex {
  Real re, im;
};

template <class Real>
constexpr Complex<Real> conjugate(const Complex<Real>& r) {
  return {r.re, -r.im};
}

/// y = x * r: the pair x turned by the rotation r, counter-clockwise for a positive angle.
template <class Real>
constexpr Complex<Real> rotate(const Complex<Real>& x, const Complex<Real>& r) {
  return {x.re * r.re - x.im * r.im, x.im * r.re + x.re * r.im};
}

/// The backward pass, R^T x: the same rotation in the opposite direction.
template <class Real>
constexpr Complex<Real> rotate_transpose(const Complex<Real>& x, const Complex<Real>& r) {
  return rotate(x, conjugate(r));
}

}  // namespace ropewalk
