// Elements of the data types, in their memory format.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "kernels/api/half.h"
#include "kernels/api/rope_kernel.h"
#include "reference/bounds.h"

namespace ropewalk::harness {

/// Element `index` of a buffer's bytes.
template <class Stored>
Stored load_as(const std::byte* bytes, std::int64_t index) {
  Stored v;
  std::memcpy(&v, bytes + index * static_cast<std::int64_t>(sizeof(Stored)), sizeof v);
  return v;
}
template <class Stored>
Stored load_as(const std::vector<std::byte>& bytes, std::int64_t index) {
  return load_as<Stored>(bytes.data(), index);
}

/// Unit roundoff, range and mantissa of a floating-point data type.
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

/// Calls use(std::type_identity<T>), where T is the C++ type that stores the data type.
template <class Use>
auto with_stored_type(std::int32_t dtype, Use&& use) {
  switch (dtype) {
    case ROPE_F64:
      return use(std::type_identity<double>{});
    case ROPE_F16:
      return use(std::type_identity<F16>{});
    case ROPE_BF16:
      return use(std::type_identity<Bf16>{});
    default:
      return use(std::type_identity<float>{});
  }
}

/// Rounds to the data type. A 16-bit type is reached by way of f32.
template <class Stored>
void store_as(std::vector<std::byte>& bytes, std::int64_t index, double value) {
  using Narrow = std::conditional_t<std::is_same_v<Stored, double>, double, float>;
  const Stored stored{static_cast<Narrow>(value)};
  std::memcpy(bytes.data() + index * static_cast<std::int64_t>(sizeof stored), &stored,
              sizeof stored);
}
inline void store(std::vector<std::byte>& bytes, std::int32_t dtype, std::int64_t index,
                  double value) {
  with_stored_type(dtype, [&]<class Stored>(std::type_identity<Stored>) {
    store_as<Stored>(bytes, index, value);
  });
}

/// The element of a data type known at run time, exact as a double.
inline double load(const std::byte* bytes, std::int32_t dtype, std::int64_t index) {
  return with_stored_type(dtype, [&]<class Stored>(std::type_identity<Stored>) {
    return double{load_as<Stored>(bytes, index)};
  });
}
inline double load(const std::vector<std::byte>& bytes, std::int32_t dtype, std::int64_t index) {
  return load(bytes.data(), dtype, index);
}

}  // namespace ropewalk::harness
