// Words for the contract's enumerators. Replay lines, rows and messages use them.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

#include "kernels/api/rope_kernel.h"

namespace ropewalk::harness {

/// The words of an enumeration with the values 0, 1, 2 ...
template <std::size_t N>
using Words = std::array<std::string_view, N>;

inline constexpr Words<2> operation_words{"forward", "transpose"};
inline constexpr Words<2> pairing_words{"interleaved", "half_split"};
inline constexpr Words<6> dtype_words{"f64", "f32", "f16", "bf16", "i32", "i64"};
inline constexpr Words<2> rows_by_words{"position", "token"};
inline constexpr Words<3> contract_words{"table", "exact", "f32_angle"};
inline constexpr Words<4> tensor_words{"q", "k", "t2", "t3"};

/// The word of a value, or "?" for a value outside the list.
template <std::size_t N>
constexpr std::string_view word_of(const Words<N>& words, std::int64_t value) {
  return value >= 0 && value < static_cast<std::int64_t>(N) ? words[static_cast<std::size_t>(value)]
                                                            : "?";
}

/// The data type of the tables that belong to data of this type.
constexpr std::int32_t table_dtype_of(std::int32_t dtype) {
  return dtype == ROPE_F64 ? ROPE_F64 : ROPE_F32;
}

/// The size of one element of a data type, in bytes.
constexpr std::int64_t element_bytes(std::int32_t dtype) {
  switch (dtype) {
    case ROPE_F64:
    case ROPE_I64:
      return 8;
    case ROPE_F32:
    case ROPE_I32:
      return 4;
    default:
      return 2;
  }
}

}  // namespace ropewalk::harness
