// The shapes of models. Many kernels take the heads of one model alone. They are asked about such
// shapes, and a run may be held to one shape.
#pragma once
#include <optional>
#include <vector>

#include "harness/cases/case.h"

namespace ropewalk::harness {

/// Q and K of a model as a case, of which batch, tokens, rotary_dim, the map of axes, the heads,
/// head_dim and window of both, and with `angles` also the frequencies and the scale count. 0 batch
/// rows or tokens, or no map: any.
struct ModelShape : Case {
  bool angles = false;
};

/// What a run says about shapes. By default it says nothing.
struct AskedShapes {
  std::optional<ModelShape> only;  ///< a case of another shape, or angles, counts as refused
  std::vector<ModelShape> models;  ///< for a kernel that refuses every basic case
};

/// True if a case has the shape. Q or K may stand alone. Each tensor after the second has the shape
/// of K. A tensor that is only copied may have any rotary_offset.
bool has_shape(const Case& c, const ModelShape& shape);
/// Frequencies and scale, and the rule that gives them.
void take_angles(Case& c, const Case& from);
bool have_the_same_angles(const Case& a, const Case& b);

}  // namespace ropewalk::harness
