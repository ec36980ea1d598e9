// What the vector kernels say of themselves.
#pragma once
#include <cmath>

#include "kernels/common/vector_walk.h"

namespace ropewalk {

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

/// A kernel of one vector width with a table. Its arithmetic promises equal bits on every path.
template <ChooseCode choose>
KernelInfo vector_table_kernel(const char* name, const char* summary, const char* cpu_features) {
  KernelInfo k;
  k.name = name;
  k.summary = summary;
  k.source = "this project";
  k.cpu_features = cpu_features;
  k.flags = ROPE_IN_PLACE | ROPE_OUT_OF_PLACE | ROPE_THREAD_SAFE | ROPE_BITWISE_INVARIANT;
  k.extensions =
      extension_bit(ROPE_EXT_AXES) | extension_bit(ROPE_EXT_NORM) | extension_bit(ROPE_EXT_APPEND);
  k.supports = [](const rope_problem* p, const char** reason) {
    return supports_vectors(*p, ROPE_ANGLES_TABLE, reason);
  };
  k.workspace_bytes = vector_workspace_bytes;
  k.prepare = prepare_vectors<choose>;
  k.apply = [](const rope_problem*, const rope_operands* o, void* state) -> std::int32_t {
    const auto& s = *static_cast<const VectorState*>(state);
    (s.norm.tensors | s.append.tensors) == 0 ? walk_plain(s, *o) : walk_fused(s, *o);
    return ROPE_OK;
  };
  k.release = [](void* state) { delete static_cast<VectorState*>(state); };
  return k;
}

/// The same with angles of its own, made in f32: a row of cos and one of sin in the workspace.
template <ChooseCode choose>
KernelInfo vector_phase_kernel(const char* name, const char* summary, const char* cpu_features) {
  KernelInfo k = vector_table_kernel<choose>(name, summary, cpu_features);
  k.angle_contract = ROPE_CONTRACT_EXACT;
  k.supports = [](const rope_problem* p, const char** reason) {
    const std::int32_t dtype = p->tensor[0].in_dtype;
    if (dtype == ROPE_F64) return refuse(reason, "only f32, f16 and bf16 data");
    return supports_vectors(*p, ROPE_ANGLES_INV_FREQ, reason);
  };
  return k;
}

}  // namespace ropewalk
