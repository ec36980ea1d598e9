#include "harness/judge/asked_shapes.h"

#include <algorithm>
#include <tuple>

namespace ropewalk::harness {
namespace {

constexpr auto angles_of = [](auto& c) {
  return std::tie(c.rope_theta, c.scaling, c.scaling_values, c.attention_scale, c.inv_freq);
};

bool is_like(const TensorCase& t, const TensorCase& wanted) {
  return t.heads == wanted.heads && t.head_dim == wanted.head_dim &&
         (!t.rotate || t.rotary_offset == wanted.rotary_offset);
}

}  // namespace

bool has_shape(const Case& c, const ModelShape& shape) {
  if (c.rotary_dim != shape.rotary_dim) return false;
  if (shape.batch > 0 && c.batch != shape.batch) return false;
  if (shape.tokens > 0 && c.tokens != shape.tokens) return false;
  if (shape.angles && !have_the_same_angles(c, shape)) return false;
  if (c.tensors.size() == 1 && is_like(c.tensors[0], shape.tensors[1])) return true;
  for (std::size_t i = 0; i < c.tensors.size(); ++i)
    if (!is_like(c.tensors[i], shape.tensors[std::min<std::size_t>(i, 1)])) return false;
  return true;
}

void take_angles(Case& c, const Case& from) {
  angles_of(c) = angles_of(from);
}
bool have_the_same_angles(const Case& a, const Case& b) {
  return angles_of(a) == angles_of(b);
}

}  // namespace ropewalk::harness
