// Words for the contract's enumerators. Replay lines, rows and messages use them.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

#include "kernels/api/types.h"

namespace ropewalk::harness {

/// The words of an enumeration with the values 0, 1, 2 ...
template <std::size_t N>
using Words = std::array<std::string_view, N>;

inline constexpr Words<2> operation_words{"forward", "transpose"};
inline constexpr Words<2> pairing_words{"interleaved", "half_split"};
inline constexpr auto dtype_words = [] {
  Words<data_type_rows.size()> words;
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = data_type(static_cast<Dtype>(i)).word;
  return words;
}();
inline constexpr Words<2> rows_by_words{"position", "token"};
inline constexpr Words<3> contract_words{"table", "exact", "f32_angle"};
inline constexpr Words<2> memory_words{"host", "cuda"};

/// The word of a value, or "?" for a value outside the list.
template <std::size_t N>
constexpr std::string_view word_of(const Words<N>& words, std::int64_t value) {
  return value >= 0 && value < static_cast<std::int64_t>(N) ? words[static_cast<std::size_t>(value)]
                                                            : "?";
}

constexpr std::string_view word_of(Dtype dtype) {
  return data_type(dtype).word;
}
constexpr std::string_view word_of(Pairing pairing) {
  return word_of(pairing_words, in_contract(pairing));
}

}  // namespace ropewalk::harness
