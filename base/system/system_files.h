// Reads what the system shows in /proc and /sys, below a root that a test may choose.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace ropewalk {

class SystemFiles {
 public:
  explicit SystemFiles(std::filesystem::path root = "/") : root_(std::move(root)) {}

  /// The first line of a file, without blanks at its ends; empty if the file cannot be read.
  std::string first_line(std::string_view file) const;
  /// The number at the beginning of a file, or -1.
  std::int64_t number(std::string_view file) const;
  /// The value behind `key` and a separator in a file of such lines; empty if there is none.
  std::string line_value(std::string_view file, std::string_view key, char separator) const;

 private:
  std::filesystem::path root_;
};

/// The number at the beginning of a text, or -1.
std::int64_t leading_number(std::string_view text);

/// Returns "madvise" for "always [madvise] never".
std::string chosen_word(const std::string& line);

}  // namespace ropewalk
