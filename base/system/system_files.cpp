#include "base/system/system_files.h"

#include <charconv>
#include <fstream>

namespace ropewalk {
namespace {

constexpr std::size_t text_max = 4096;  // longer text is cut, as no record needs it

std::string trimmed(std::string_view text) {
  const auto from = text.find_first_not_of(" \t");
  if (from == std::string_view::npos) return {};
  return std::string(text.substr(from, text.find_last_not_of(" \t") - from + 1))
      .substr(0, text_max);
}

std::ifstream open(const std::filesystem::path& root, std::string_view file) {
  while (file.starts_with('/')) file.remove_prefix(1);
  return std::ifstream(root / file);
}

}  // namespace

std::string SystemFiles::first_line(std::string_view file) const {
  std::ifstream in = open(root_, file);
  std::string line;
  std::getline(in, line);
  return trimmed(line);
}

std::int64_t SystemFiles::number(std::string_view file) const {
  return leading_number(first_line(file));
}

std::string SystemFiles::line_value(std::string_view file, std::string_view key,
                                    char separator) const {
  std::ifstream in = open(root_, file);
  for (std::string line; std::getline(in, line);) {
    const auto at = line.find(separator);
    if (at != std::string::npos && trimmed(std::string_view(line).substr(0, at)) == key)
      return trimmed(std::string_view(line).substr(at + 1));
  }
  return {};
}

std::int64_t leading_number(std::string_view text) {
  std::int64_t value = -1;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::string chosen_word(const std::string& line) {
  const auto from = line.find('['), to = line.find(']');
  if (from == std::string::npos || to == std::string::npos || to < from) return line;
  return line.substr(from + 1, to - from - 1);
}

}  // namespace ropewalk
