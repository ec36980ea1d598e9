// Elements of the data types, in their memory format.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "kernels/api/kernel.h"

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

/// Rounds to the data type. A 16-bit type is reached by way of f32.
template <class Stored>
void store_as(std::vector<std::byte>& bytes, std::int64_t index, double value) {
  const Stored stored{static_cast<TableOf<Stored>>(value)};
  std::memcpy(bytes.data() + index * static_cast<std::int64_t>(sizeof stored), &stored,
              sizeof stored);
}
inline void store(std::vector<std::byte>& bytes, Dtype dtype, std::int64_t index, double value) {
  with_floating_type(dtype, [&]<class Stored>(std::type_identity<Stored>) {
    store_as<Stored>(bytes, index, value);
  });
}

/// The value, rounded to a data type.
inline double stored_value(Dtype dtype, double value) {
  return with_floating_type(dtype, [&]<class Stored>(std::type_identity<Stored>) {
    return double{Stored{static_cast<TableOf<Stored>>(value)}};
  });
}

/// Reads an element of a data type that is known only at run time. The double is exact.
inline double load(const std::byte* bytes, Dtype dtype, std::int64_t index) {
  return with_floating_type(dtype, [&]<class Stored>(std::type_identity<Stored>) {
    return double{load_as<Stored>(bytes, index)};
  });
}
inline double load(const std::vector<std::byte>& bytes, Dtype dtype, std::int64_t index) {
  return load(bytes.data(), dtype, index);
}

}  // namespace ropewalk::harness
