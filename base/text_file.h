// Reads small text files of users whole, and writes files that no reader sees half-written. An
// error is one line that names the file.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace ropewalk {

/// A file from a user that cannot be used. what() is one line: the file, the line number if known,
/// and what is wrong. The command exits with 2.
class BadFile : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  BadFile(const std::string& file, std::int64_t line, const std::string& what)
      : std::runtime_error(file + ":" + std::to_string(line) + ": " + what) {}
};

/// Returns the whole text. Throws BadFile unless it is a readable regular file of at most `mib_max`
/// MiB.
std::string read_text_file(const std::filesystem::path& file, std::size_t mib_max = 1);

/// Calls visit(line, number) for each line, numbered from 1. A carriage return before the newline
/// is dropped, and so is an empty last line.
void for_each_line(std::string_view text,
                   const std::function<void(std::string_view line, std::int64_t number)>& visit);

/// Foreign text for a message: one short line of printable ASCII.
std::string shown(std::string_view text, std::size_t length_max = 60);
/// The name of a file for a message, in full length.
std::string shown_path(const std::filesystem::path& path);

/// Writes a file whole or not at all. It is written under another name first, so a reader finds the
/// old file or the new one, never a part. Throws std::runtime_error with one line that names the
/// file.
void write_whole_file(const std::filesystem::path& path, std::string_view text);

/// Throws what write_whole_file would throw, before there is a text. The file stays as it is.
void require_writable(const std::filesystem::path& path);

}  // namespace ropewalk
