// What the system tells of itself in /proc and /sys, below a root that a test may put elsewhere.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace ropewalk {

class SystemFiles {
 public:
  explicit SystemFiles(std::filesystem::path root = "/") : root_(std::move(root)) {}

  /// The first line of a file, without blanks at its ends; empty where it cannot be read.
  std::string first_line(std::string_view file) const;
  /// All lines of a file; none where it cannot be read.
  std::vector<std::string> lines(std::string_view file) const;
  /// The number a file begins with, or -1.
  std::int64_t number(std::string_view file) const;
  /// The value behind `key` and a separator in a file of such lines; empty where there is none.
  std::string line_value(std::string_view file, std::string_view key, char separator) const;

 private:
  std::filesystem::path root_;
};

/// The number a text begins with, or -1.
std::int64_t leading_number(std::string_view text);

/// "always [madvise] never" as "madvise".
std::string chosen_word(const std::string& line);

}  // namespace ropewalk
