// A file of /proc that is opened once and read often.
#pragma once
#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/system/descriptor.h"

namespace ropewalk {

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

}  // namespace ropewalk
