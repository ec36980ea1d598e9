// The norm of code that fuses nothing: a pass of its own, before a kernel's rotation. It is a plain
// loop that the compiler vectorizes. The copy to a cache, after the rotation, is memcpy.
#pragma once
#include "benchmarks/ceilings/loops.h"
#include "kernels/api/types.h"

namespace ropewalk::bench {

struct NormPass {
  CeilingSpan rows;  ///< of whole heads, without a gap between those of a row
  Dtype dtype;       ///< of elements and weights
  std::int64_t head_dim;
  const void* weight;
  double epsilon;
};
void normalize(const NormPass& pass);

}  // namespace ropewalk::bench
