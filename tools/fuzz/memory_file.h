// read_results() for text in memory.
#pragma once
#include <sys/mman.h>
#include <unistd.h>

#include "reports/record/record.h"
#include "tools/fuzz/target.h"

namespace ropewalk::fuzz {

/// A file that exists only in memory.
class MemoryFile {
 public:
  MemoryFile() : number_(::memfd_create("results", MFD_CLOEXEC)) {
    claim(number_ >= 0, "memory for a file");
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() { ::close(number_); }

  std::filesystem::path holding(std::string_view text) const {
    claim(::ftruncate(number_, 0) == 0, "an empty file");
    const auto wrote = ::pwrite(number_, text.data(), text.size(), 0);
    claim(wrote == static_cast<ssize_t>(text.size()), "a whole file");
    return "/proc/self/fd/" + std::to_string(number_);
  }

 private:
  int number_;
};

/// Throws BadFile.
inline report::Results results_of(std::string_view text) {
  static const MemoryFile file;
  return report::read_results(file.holding(text));
}

}  // namespace ropewalk::fuzz
