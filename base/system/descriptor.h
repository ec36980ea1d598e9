// File descriptors, and a function that writes a whole text to one.
#pragma once
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace ropewalk {

/// Closes its descriptor at the end; -1: it has none.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() { close(); }
  int number() const { return number_; }
  bool is_open() const { return number_ >= 0; }
  /// Gives up its descriptor, which the caller must close.
  int release() { return std::exchange(number_, -1); }
  void close() {
    if (number_ >= 0) ::close(release());
  }

 private:
  int number_;
};

/// A file of /proc that is opened once and read often.
class KeptFile {
 public:
  explicit KeptFile(const std::string& path) : file_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}

  /// Reads the file's content now, at most N bytes; empty if it cannot be read.
  template <std::size_t N>
  std::string_view text(char (&buffer)[N]) const {
    const ssize_t got = file_.is_open() ? pread(file_.number(), buffer, N, 0) : 0;
    return {buffer, static_cast<std::size_t>(std::max<ssize_t>(got, 0))};
  }

 private:
  Descriptor file_;
};

/// Returns 0, or the errno of the write that failed.
inline int write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = ::write(descriptor, text.data(), text.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return wrote < 0 ? errno : EIO;
    text.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return 0;
}

}  // namespace ropewalk
