// Shared by kernels that make their own angles: one row of cos and one row of sin for each token,
// made in the workspace, then the plain loop over the heads.
#pragma once
#include <cstddef>
#include <cstdint>

#include "kernels/api/kernel.h"

namespace ropewalk {

/// The rotation of one pair, already rounded to f32.
struct Turn {
  float cos, sin;
};

/// Accepts f32 data only.
inline std::int32_t supports_own_angles(const rope_problem* p, const char** reason) {
  return supports_float_data(*p, ROPE_ANGLES_INV_FREQ, false, reason);
}

/// The size of the workspace in bytes: rotary_dim / 2 values of cos, then as many of sin.
inline std::size_t own_angles_workspace_bytes(const rope_problem* p) {
  return static_cast<std::size_t>(p->rotary_dim) * sizeof(float);
}

/// Rotates one head by a row of cos and sin. Each pairing has a loop of its own, so that both
/// become vector code.
template <std::int32_t pairing, class Data>
inline void rotate_head(const Head<Data>& head, const float* cos, const float* sin,
                        std::int64_t half, float scale) {
  for (std::int64_t i = 0; i < half; ++i) {
    const auto [a, b] = pair_index(pairing, i, half);
    const float x1 = head.in[a], x2 = head.in[b];
    head.out[a] = Data(scale * (x1 * cos[i] - x2 * sin[i]));
    head.out[b] = Data(scale * (x2 * cos[i] + x1 * sin[i]));
  }
}

/// Rotates every head by turn_of(pair, position). Data is float, F16 or Bf16.
template <class Data, class TurnOf>
void rotate_by_own_angles(const rope_problem& p, const rope_operands& o, TurnOf&& turn_of) {
  const std::int64_t half = p.rotary_dim / 2;
  const auto scale = static_cast<float>(scale_of(p));
  const float sign = sign_of(p);
  auto* cos = static_cast<float*>(o.workspace);
  float* sin = cos + half;
  const rope_axes* const axes = axes_of(p);
  const auto make_row = [&](auto&& position_of) {
    for (std::int64_t i = 0; i < half; ++i) {
      const Turn turn = turn_of(i, position_of(i));
      cos[i] = turn.cos;
      sin[i] = sign * turn.sin;
    }
  };
  for_each_token(p, o, [&](const Token& token) {
    if (axes == nullptr) {
      make_row([&](std::int64_t) { return token.position; });
    } else {
      const TokenOnAxes at = on_axes(p, o, *axes, token);
      make_row([&](std::int64_t i) { return at.on[axes->axis_of_pair[i]].position; });
    }
    for_each_head<Data>(p, o, token, [&](const Head<Data>& head) {
      p.pairing == ROPE_INTERLEAVED ? rotate_head<ROPE_INTERLEAVED>(head, cos, sin, half, scale)
                                    : rotate_head<ROPE_HALF_SPLIT>(head, cos, sin, half, scale);
    });
  });
}

}  // namespace ropewalk
