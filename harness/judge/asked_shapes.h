// The shapes of models. Many kernels take the heads of one model alone. They are asked about such
// shapes, and a run may be held to one shape.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/cases/case.h"
#include "kernels/api/rope_kernel.h"

namespace ropewalk::harness {

/// One tensor of a model, and where its rotated window begins.
struct ModelTensor {
  std::int64_t heads = 1, head_dim = 2, rotary_offset = 0;
  bool operator==(const ModelTensor&) const = default;
};

/// How fast the pairs of a model turn, and its factor on the result. A case says the same.
struct ModelAngles {
  double rope_theta = 10000;
  std::string scaling = "none";
  std::vector<double> scaling_values;
  double attention_scale = 0;
  bool operator==(const ModelAngles&) const = default;
};
ModelAngles angles_of(const Case& c);
void take_angles(Case& c, const ModelAngles& angles);

/// Q and K of a model, and how many tokens a call has.
struct ModelShape {
  std::array<ModelTensor, 2> tensors;  ///< Q and K
  std::int64_t rotary_dim = 2;
  std::int64_t batch = 0, tokens = 0;           ///< 0: any
  std::optional<ModelAngles> angles;            ///< empty: any
  std::vector<std::uint8_t> axis_of_pair = {};  ///< of cases with axes; empty: any
  bool operator==(const ModelShape&) const = default;
};

/// What a run says about shapes. By default it says nothing.
struct AskedShapes {
  std::optional<ModelShape> only;  ///< a case of another shape, or angles, counts as refused
  std::vector<ModelShape> models;  ///< for a kernel that refuses every basic case
};

/// True if a problem has the shape, with any angles. Q or K may stand alone. Each tensor after the
/// second has the shape of K. A tensor that is only copied may have any rotary_offset.
bool has_shape(const rope_problem& problem, const ModelShape& shape);
/// True if a case has the shape's angles, or the shape has none.
bool has_angles(const Case& c, const ModelShape& shape);

}  // namespace ropewalk::harness
