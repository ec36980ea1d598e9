// Text of a kernel on a terminal: names, reasons, exceptions, what a plugin prints.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace ropewalk {

/// The text as one line that steers no terminal: a line break becomes \n; other control characters,
/// those that turn the direction of writing, and bytes that are not UTF-8 become \xNN.
std::string printable(std::string_view text);

/// The same for text of several lines: line breaks and tabs stay.
std::string printable_lines(std::string_view text);

/// At most `bytes_max` bytes of it, as printable(), with '...' where some were cut off.
std::string printable_start(std::string_view text, std::size_t bytes_max);

}  // namespace ropewalk
