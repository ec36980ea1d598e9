// Makes text from a kernel safe for a terminal: names, reasons, exceptions, and what a plugin
// prints.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ropewalk {

/// Returns the text as one line without terminal controls. A line break becomes \n. Other control
/// characters, marks of writing direction, and bytes that are not UTF-8 become \xNN.
std::string printable(std::string_view text);

/// The same for text of several lines. Line breaks and tabs stay.
std::string printable_lines(std::string_view text);

/// At most `bytes_max` bytes of the text, as printable() writes them, with '...' if some were cut
/// off.
std::string printable_start(std::string_view text, std::size_t bytes_max);

struct CodePoint {
  std::uint32_t value = 0;
  std::size_t bytes = 0;  ///< 0: not UTF-8
};

/// The first character of `text`, which must not be empty. Overlong forms and surrogates are not
/// UTF-8.
CodePoint first_code_point(std::string_view text);

}  // namespace ropewalk
