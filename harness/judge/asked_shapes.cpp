#include "harness/judge/asked_shapes.h"

#include <algorithm>

namespace ropewalk::harness {
namespace {

bool is_like(const rope_tensor& t, const ModelTensor& wanted) {
  return t.heads == wanted.heads && t.head_dim == wanted.head_dim &&
         (t.rotate == 0 || t.rotary_offset == wanted.rotary_offset);
}

}  // namespace

ModelAngles angles_of(const Case& c) {
  return {c.rope_theta, c.scaling, c.scaling_values, c.attention_scale};
}

void take_angles(Case& c, const ModelAngles& angles) {
  c.rope_theta = angles.rope_theta;
  c.scaling = angles.scaling;
  c.scaling_values = angles.scaling_values;
  c.attention_scale = angles.attention_scale;
}

bool has_shape(const rope_problem& p, const ModelShape& shape) {
  if (p.rotary_dim != shape.rotary_dim) return false;
  if (shape.batch > 0 && p.batch != shape.batch) return false;
  if (shape.tokens > 0 && p.tokens != shape.tokens) return false;
  if (p.tensor_count == 1 && is_like(p.tensor[0], shape.tensors[1])) return true;
  for (std::uint32_t i = 0; i < p.tensor_count; ++i)
    if (!is_like(p.tensor[i], shape.tensors[std::min(i, 1u)])) return false;
  return true;
}

bool has_angles(const Case& c, const ModelShape& shape) {
  return !shape.angles || (c.inv_freq.empty() && angles_of(c) == *shape.angles);
}

}  // namespace ropewalk::harness
