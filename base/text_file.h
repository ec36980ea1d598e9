// Small text files that users give us: read whole, refused in one line that names the culprit.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "base/bad_file.h"

namespace ropewalk {

/// The whole text. Throws BadFile unless it is a readable regular file of at most 1 MiB.
std::string read_text_file(const std::filesystem::path& file);

/// Calls visit(line, number) for each line, numbered from 1. A carriage return before the newline
/// is dropped, and so is a last line that is empty.
void for_each_line(std::string_view text,
                   const std::function<void(std::string_view line, std::int64_t number)>& visit);

/// Foreign text inside a message: printable ASCII, one line, short.
std::string shown(std::string_view text, std::size_t length_max = 60);
/// The same for the name of a file, which is shown whole.
std::string shown_path(const std::filesystem::path& path);

}  // namespace ropewalk
