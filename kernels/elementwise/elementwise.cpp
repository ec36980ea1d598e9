// Sparse element-wise: y = x * cos + rotate_pairs(x) * sin over whole heads (RoFormer eq. 34). cos
// and sin have one value for each element, as the paper and most frameworks write it. The widened
// rows and the turned copy of x lie in the workspace, so the output may overwrite the input.
#include <cstddef>

#include "kernels/api/kernel.h"
#include "kernels/common/support.h"

namespace ropewalk {
namespace {

// The size of the workspace in bytes: three rows of rotary_dim elements.
template <class Real>
struct Rows {
  Real *cos, *sin, *turned;
};

template <class Real>
void spread(const rope_problem& p, const Head<Real>& head, const Rows<Real>& rows) {
  const std::int64_t half = p.rotary_dim / 2;
  const auto sign = static_cast<Real>(sign_of(p));
  for (std::int64_t i = 0; i < half; ++i) {
    const auto [a, b] = pair_index(p.pairing, i, half);
    rows.cos[a] = rows.cos[b] = head.cos[i];
    rows.sin[a] = rows.sin[b] = sign * head.sin[i];
  }
}

template <class Real>
void rotate(const rope_problem& p, const rope_operands& o) {
  const std::int64_t half = p.rotary_dim / 2;
  const auto scale = static_cast<Real>(scale_of(p));
  auto* base = static_cast<Real*>(o.workspace);
  const Rows<Real> rows{base, base + p.rotary_dim, base + 2 * p.rotary_dim};
  for_each_token(p, o, [&](const Token& token) {
    const Real *cos = nullptr, *sin = nullptr;  // rows of Q and of K
    for_each_head<Real>(p, o, token, [&](const Head<Real>& head) {
      if (head.cos != cos || head.sin != sin) spread(p, head, rows);
      cos = head.cos;
      sin = head.sin;
      for (std::int64_t i = 0; i < half; ++i) {
        const auto [a, b] = pair_index(p.pairing, i, half);
        rows.turned[a] = -head.in[b];
        rows.turned[b] = head.in[a];
      }
      for (std::int64_t j = 0; j < p.rotary_dim; ++j)
        head.out[j] = scale * (head.in[j] * rows.cos[j] + rows.turned[j] * rows.sin[j]);
    });
  });
}

std::size_t workspace_bytes(const rope_problem* p) {
  const std::size_t element = p->tensor[0].in_dtype == ROPE_F64 ? sizeof(double) : sizeof(float);
  return 3 * static_cast<std::size_t>(p->rotary_dim) * element;
}

const RegisteredKernel registered{{
    .name = "elementwise",
    .summary = "x * cos + rotate_pairs(x) * sin",
    .source = "RoFormer, arXiv:2104.09864, eq. 34",
    .flags = ROPE_IN_PLACE | ROPE_OUT_OF_PLACE | ROPE_THREAD_SAFE | ROPE_BITWISE_INVARIANT,
    .supports = supports_table,
    .workspace_bytes = workspace_bytes,
    .apply = apply_to_floats<rotate<float>, rotate<double>>,
}};

}  // namespace
}  // namespace ropewalk
