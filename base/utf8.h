// Reads the characters of a text that may be no valid UTF-8.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ropewalk {

struct CodePoint {
  std::uint32_t value = 0;
  std::size_t bytes = 0;  ///< 0: not UTF-8
};

/// The first character of `text`, which must not be empty. Overlong forms and surrogates are not
/// UTF-8.
CodePoint first_code_point(std::string_view text);

}  // namespace ropewalk
