// Writes a file that no reader sees half-written.
#pragma once
#include <filesystem>
#include <string_view>

namespace ropewalk {

/// Writes a file whole or not at all. It is written under another name first, so a reader finds the
/// old file or the new one, never a part. Throws std::runtime_error with one line that names the
/// file.
void write_whole_file(const std::filesystem::path& path, std::string_view text);

/// Throws what write_whole_file would throw, before there is a text. The file stays as it is.
void require_writable(const std::filesystem::path& path);

}  // namespace ropewalk
