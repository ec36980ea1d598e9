#include "base/text_file.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <system_error>

#include "base/system/descriptor.h"

namespace ropewalk {
namespace {

[[noreturn]] void fail(const std::filesystem::path& file, int error) {
  throw std::runtime_error(file.string() +
                           ": cannot be written: " + std::generic_category().message(error));
}

std::filesystem::path part_of(const std::filesystem::path& path) {
  return path.string() + ".part-" + std::to_string(::getpid());
}

int open_part(const std::filesystem::path& path) {
  const int descriptor =
      ::open(part_of(path).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (descriptor < 0) fail(path, errno);
  return descriptor;
}

}  // namespace

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

void require_writable(const std::filesystem::path& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) fail(path, EISDIR);
  ::close(open_part(path));
  ::unlink(part_of(path).c_str());
}

void write_whole_file(const std::filesystem::path& path, std::string_view text) {
  const std::filesystem::path part = part_of(path);
  const int descriptor = open_part(path);
  int error = write_all(descriptor, text);
  if (::close(descriptor) != 0 && error == 0) error = errno;
  if (error == 0 && std::rename(part.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) return;
  ::unlink(part.c_str());
  fail(path, error);
}

}  // namespace ropewalk
