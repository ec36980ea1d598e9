// The memory of a case: strides of its tensors, tables and positions.
#pragma once
#include "harness/cases/case.h"
#include "properties/array/level_draw.h"

namespace ropewalk::properties {

/// Lays out a case of these levels, whose sizes are chosen.
void lay_out(harness::Case& c, const Levels& levels, const LevelDraw& draw);

}  // namespace ropewalk::properties
