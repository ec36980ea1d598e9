// What the vector kernels keep from prepare to release, and what they say of themselves.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include "kernels/api/kernel.h"
#include "kernels/common/integer_phase.h"
#include "kernels/common/mixed_rows.h"
#include "kernels/common/reach.h"

namespace ropewalk {

/// The turn fractions of all pairs as two halves of 32 bits. Rows of pairs are filled up with zeros
/// to a multiple of 16, so a vector reads no less.
struct HalvedFractions {
  std::vector<std::uint32_t> high, low;
};

struct VectorState {
  Reach reach = Reach::near;
  HalvedFractions fractions;        ///< none if angles come from a table
  std::vector<std::uint32_t> axes;  ///< of each pair, filled up as the fractions are; or none
};

inline std::int64_t padded_pairs(const rope_problem& p) {
  constexpr std::int64_t widest = 16;
  return (p.rotary_dim / 2 + widest - 1) / widest * widest;
}

/// The workspace: rows of cos and sin, of this size, ...
inline std::size_t rows_bytes(const rope_problem& p) {
  if (p.angle_source == ROPE_ANGLES_TABLE) return mixed_rows_bytes(&p);
  return 2 * static_cast<std::size_t>(padded_pairs(p)) * sizeof(float);
}
/// ... and behind them the weights of the tensors that are marked for a norm.
inline std::size_t vector_workspace_bytes(const rope_problem* p) {
  std::int64_t weights = 0;
  for (std::uint32_t i = 0; i < p->tensor_count; ++i)
    if (marks(norm_of(*p), i)) weights += p->tensor[i].head_dim;
  const DataType& data = data_type(Dtype{p->tensor[0].in_dtype});
  return rows_bytes(*p) + static_cast<std::size_t>(weights * data_type(data.computed_in).bytes);
}

inline std::int32_t prepare_vectors(const rope_problem* p, void** state) {
  try {
    auto made = std::make_unique<VectorState>();
    made->reach = reach_of(*p);
    if (p->angle_source == ROPE_ANGLES_INV_FREQ) {
      const auto padded = static_cast<std::size_t>(padded_pairs(*p));
      made->fractions.high.resize(padded);
      made->fractions.low.resize(padded);
      for (std::int64_t i = 0; i < p->rotary_dim / 2; ++i) {
        const TurnFraction fraction = turn_fraction(p->inv_freq[i]);
        made->fractions.high[static_cast<std::size_t>(i)] =
            static_cast<std::uint32_t>(fraction >> 32);
        made->fractions.low[static_cast<std::size_t>(i)] = static_cast<std::uint32_t>(fraction);
      }
    }
    if (const rope_axes* axes = axes_of(*p); axes != nullptr) {
      made->axes.resize(static_cast<std::size_t>(padded_pairs(*p)));
      std::copy_n(axes->axis_of_pair, p->rotary_dim / 2, made->axes.begin());
    }
    *state = made.release();
    return ROPE_OK;
  } catch (const std::bad_alloc&) {
    return ROPE_FAILED;
  }
}

/// The scale is multiplied into cos and sin. Where a product could be subnormal, it would lose more
/// than the bound allows (bounds::underflow).
inline std::int32_t supports_vectors(const rope_problem& p, std::int32_t angles,
                                     const char** reason) {
  const std::int32_t dtype = p.tensor[0].in_dtype;
  if (!is_floating(dtype)) return refuse(reason, "only floating-point data");
  const Format& real = data_type(data_type(Dtype{dtype}).computed_in).format;
  if (std::abs(scale_of(p)) < real.normal / real.u)
    return refuse(reason, "no attention_scale that makes cos and sin subnormal");
  return supports_data(p, angles, dtype, reason);
}

using VectorApply = decltype(rope_kernel::apply);

/// A kernel of one vector width with a table. Its arithmetic promises equal bits on every path.
inline KernelInfo vector_table_kernel(const char* name, const char* summary,
                                      const char* cpu_features, VectorApply apply) {
  KernelInfo k;
  k.name = name;
  k.summary = summary;
  k.source = "this project";
  k.cpu_features = cpu_features;
  k.flags = ROPE_IN_PLACE | ROPE_OUT_OF_PLACE | ROPE_THREAD_SAFE | ROPE_BITWISE_INVARIANT;
  k.supports = [](const rope_problem* p, const char** reason) {
    return supports_vectors(*p, ROPE_ANGLES_TABLE, reason);
  };
  k.prepare = prepare_vectors;
  k.apply = apply;
  k.release = [](void* state) { delete static_cast<VectorState*>(state); };
  return k;
}

/// The same with angles of its own, made in f32: a row of cos and one of sin in the workspace.
inline KernelInfo vector_phase_kernel(const char* name, const char* summary,
                                      const char* cpu_features, VectorApply apply) {
  KernelInfo k = vector_table_kernel(name, summary, cpu_features, apply);
  k.angle_contract = ROPE_CONTRACT_EXACT;
  k.supports = [](const rope_problem* p, const char** reason) {
    const std::int32_t dtype = p->tensor[0].in_dtype;
    if (dtype == ROPE_F64) return refuse(reason, "only f32, f16 and bf16 data");
    return supports_vectors(*p, ROPE_ANGLES_INV_FREQ, reason);
  };
  k.workspace_bytes = vector_workspace_bytes;
  return k;
}

}  // namespace ropewalk
