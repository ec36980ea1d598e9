// A file that is never seen half-written.
#pragma once
#include <filesystem>
#include <string_view>

namespace ropewalk {

/// Writes a file whole or not at all: under another name first, so whoever looks sees the old file
/// or the new one, never a part. Throws std::runtime_error with one line that names the file.
void write_whole_file(const std::filesystem::path& path, std::string_view text);

}  // namespace ropewalk
