// Elements of the data types, as they lie in memory.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "kernels/api/half.h"
#include "kernels/api/rope_kernel.h"
#include "reference/bounds.h"

namespace ropewalk {

/// Element `index` of a buffer's bytes.
template <class Stored>
Stored load_as(const std::vector<std::byte>& bytes, std::int64_t index) {
  Stored v;
  std::memcpy(&v, bytes.data() + index * static_cast<std::int64_t>(sizeof(Stored)), sizeof v);
  return v;
}

/// u, range and mantissa of a floating-point data type.
inline const bounds::Format& format_of(std::int32_t dtype) {
  switch (dtype) {
    case ROPE_F64:
      return bounds::f64_format;
    case ROPE_F16:
      return bounds::f16_format;
    case ROPE_BF16:
      return bounds::bf16_format;
    default:
      return bounds::f32_format;
  }
}

/// Rounds to the data type (to 16 bits by way of f32).
inline void store(std::vector<std::byte>& bytes, std::int32_t dtype, std::int64_t index,
                  double value) {
  const auto put = [&](auto stored) {
    constexpr auto size = static_cast<std::int64_t>(sizeof stored);
    std::memcpy(bytes.data() + index * size, &stored, sizeof stored);
  };
  const auto narrow = static_cast<float>(value);
  switch (dtype) {
    case ROPE_F64:
      return put(value);
    case ROPE_F16:
      return put(F16(narrow));
    case ROPE_BF16:
      return put(Bf16(narrow));
    default:
      return put(narrow);
  }
}

/// The element of a data type known at run time, exact as a double.
inline double load(const std::vector<std::byte>& bytes, std::int32_t dtype, std::int64_t index) {
  switch (dtype) {
    case ROPE_F64:
      return load_as<double>(bytes, index);
    case ROPE_F16:
      return double{load_as<F16>(bytes, index)};
    case ROPE_BF16:
      return double{load_as<Bf16>(bytes, index)};
    default:
      return double{load_as<float>(bytes, index)};
  }
}

}  // namespace ropewalk
