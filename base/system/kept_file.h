// A file of /proc that is opened once and read often.
#pragma once
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace ropewalk {

class KeptFile {
 public:
  explicit KeptFile(const std::string& path) : file_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~KeptFile() {
    if (file_ >= 0) close(file_);
  }
  KeptFile(const KeptFile&) = delete;
  KeptFile& operator=(const KeptFile&) = delete;

  /// Reads the file's content now, at most N bytes; empty if it cannot be read.
  template <std::size_t N>
  std::string_view text(char (&buffer)[N]) const {
    const ssize_t got = file_ >= 0 ? pread(file_, buffer, N, 0) : 0;
    return {buffer, static_cast<std::size_t>(std::max<ssize_t>(got, 0))};
  }

 private:
  int file_;
};

}  // namespace ropewalk
