// What must hold of a text before toml++ may see it.
#pragma once
#include <string>
#include <string_view>

namespace ropewalk::bench {

/// Throws BadFile (`file` and line) for a line longer than 4096 bytes, and for a byte outside ASCII
/// that stands neither in a comment nor between the quotes of one line.
void check_toml_text(std::string_view text, const std::string& file);

}  // namespace ropewalk::bench
