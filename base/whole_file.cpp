#include "base/whole_file.h"

#include <cstdio>
#include <stdexcept>
#include <string>
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
