// The error for a file from a user that cannot be used.
#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>

namespace ropewalk {

/// A file that cannot be used. what() is one line: the file, the line number if known, and what is
/// wrong. The command exits with 2.
class BadFile : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  BadFile(const std::string& file, std::int64_t line, const std::string& what)
      : std::runtime_error(file + ":" + std::to_string(line) + ": " + what) {}
};

}  // namespace ropewalk
