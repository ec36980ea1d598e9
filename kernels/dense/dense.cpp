// Dense matrix: builds the rotary_dim x rotary_dim matrix of RoFormer eq. 15 for every token, and
// multiplies by it. It is not meant to be fast: it spells out the definition. It multiplies zeros
// too, so Inf and NaN spread to other pairs (ROPE_MIXES_PAIRS).
#include <Eigen/Core>
#include <cstddef>

#include "kernels/api/kernel.h"
#include "kernels/common/support.h"

namespace ropewalk {
namespace {

constexpr std::int64_t largest_rotary_dim = 4096;  // 128 MiB of f64 matrix

template <class Real>
using Matrix = Eigen::Map<Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic>>;
template <class Real>
using Vector = Eigen::Map<Eigen::Matrix<Real, Eigen::Dynamic, 1>>;
template <class Real>
using ConstVector = Eigen::Map<const Eigen::Matrix<Real, Eigen::Dynamic, 1>>;

template <class Real>
void build(const rope_problem& p, const Head<Real>& head, Matrix<Real>& matrix) {
  const std::int64_t half = p.rotary_dim / 2;
  const auto sign = static_cast<Real>(sign_of(p));
  matrix.setZero();
  for (std::int64_t i = 0; i < half; ++i) {
    const auto [a, b] = pair_index(p.pairing, i, half);
    matrix(a, a) = matrix(b, b) = head.cos[i];
    matrix(b, a) = sign * head.sin[i];
    matrix(a, b) = -matrix(b, a);
  }
}

template <class Real>
void rotate(const rope_problem& p, const rope_operands& o) {
  const auto d = static_cast<Eigen::Index>(p.rotary_dim);
  auto* base = static_cast<Real*>(o.workspace);
  Matrix<Real> matrix(base, d, d);
  Vector<Real> product(base + d * d, d);
  const auto scale = static_cast<Real>(scale_of(p));
  for_each_token(p, o, [&](const Token& token) {
    const Real *cos = nullptr, *sin = nullptr;  // rows of Q and of K
    for_each_head<Real>(p, o, token, [&](const Head<Real>& head) {
      if (head.cos != cos || head.sin != sin) build(p, head, matrix);
      cos = head.cos;
      sin = head.sin;
      product.setZero();
      product.noalias() += matrix * ConstVector<Real>(head.in, d);
      Vector<Real>(head.out, d) = scale * product;
    });
  });
}

std::int32_t supports(const rope_problem* p, const char** reason) {
  if (p->rotary_dim > largest_rotary_dim)
    return refuse(reason, "rotary_dim above 4096: the matrix would be too large");
  return supports_float_data(*p, ROPE_ANGLES_TABLE, true, reason);
}

std::size_t workspace_bytes(const rope_problem* p) {
  const auto d = static_cast<std::size_t>(p->rotary_dim);
  return (d + 1) * d * (p->tensor[0].in_dtype == ROPE_F64 ? sizeof(double) : sizeof(float));
}

const RegisteredKernel registered{{
    .name = "dense",
    .summary = "the d x d matrix, built and multiplied (Eigen)",
    .source = "RoFormer, arXiv:2104.09864, eq. 15",
    .flags = ROPE_IN_PLACE | ROPE_OUT_OF_PLACE | ROPE_THREAD_SAFE | ROPE_BITWISE_INVARIANT |
             ROPE_MIXES_PAIRS,
    .supports = supports,
    .workspace_bytes = workspace_bytes,
    .apply = apply_to_floats<rotate<float>, rotate<double>>,
}};

}  // namespace
}  // namespace ropewalk
