#include "base/text_file.h"

#include <algorithm>
#include <fstream>
#include <system_error>

namespace ropewalk {

std::string read_text_file(const std::filesystem::path& file, std::size_t mib_max) {
  const std::size_t bytes_max = mib_max << 20;
  const std::string name = shown_path(file);
  std::error_code error;
  const auto status = std::filesystem::status(file, error);
  if (!std::filesystem::exists(status)) throw BadFile(name + ": no such file");
  if (!std::filesystem::is_regular_file(status)) throw BadFile(name + ": not a regular file");
  std::ifstream in(file, std::ios::binary);
  std::string text(bytes_max + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!in.is_open() || in.bad()) throw BadFile(name + ": cannot be read");
  text.resize(static_cast<std::size_t>(in.gcount()));
  if (text.size() > bytes_max)
    throw BadFile(name + ": larger than " + std::to_string(mib_max) + " MiB, with " +
                  std::to_string(std::filesystem::file_size(file, error)) + " bytes");
  return text;
}

void for_each_line(std::string_view text,
                   const std::function<void(std::string_view line, std::int64_t number)>& visit) {
  for (std::int64_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    visit(line, number);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

std::string shown_path(const std::filesystem::path& path) {
  return shown(path.string(), 4096);
}

std::string shown(std::string_view text, std::size_t length_max) {
  std::string out;
  for (const char c : text.substr(0, length_max)) out += c >= ' ' && c <= '~' ? c : '?';
  return text.size() > length_max ? out + "..." : out;
}

}  // namespace ropewalk
