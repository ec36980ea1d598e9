// The data types that benchmarks time.
#pragma once
#include <stdexcept>
#include <type_traits>

#include "kernels/api/types.h"

namespace ropewalk::bench {

/// Calls use(std::type_identity<Data>{}), where Data is the C++ type of f32 or f64. Throws
/// std::logic_error for other types, which shape_fault() refuses.
template <class Use>
auto with_timed_type(Dtype dtype, Use&& use) {
  switch (dtype) {
    case Dtype::f64:
      return use(std::type_identity<double>{});
    case Dtype::f32:
      return use(std::type_identity<float>{});
    case Dtype::f16:
    case Dtype::bf16:
    case Dtype::i32:
    case Dtype::i64:
      break;
  }
  throw std::logic_error("benchmarks time f32 and f64 data only");
}

}  // namespace ropewalk::bench
