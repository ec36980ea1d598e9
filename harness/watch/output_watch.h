// What a kernel prints. Descriptors 1 and 2 of a worker are memfds of fixed size, made by the
// parent, which shows what is left in 2 when the worker ends (docs/worker-protocol.md).
#pragma once
#include <fcntl.h>

#include <cstddef>
#include <string>

namespace ropewalk::harness {

inline constexpr std::size_t watched_output_bytes = std::size_t{1} << 20;
/// Nobody else's file has just these: they mark a descriptor as watched.
inline constexpr int watched_output_seals = F_SEAL_SHRINK | F_SEAL_GROW;

/// A memfd for the output of a worker. Throws std::runtime_error.
int make_watched_output();

/// Shows on standard error what was written into it, escaped, at most 64 KiB, and empties it.
void show_watched_output(int descriptor);

class OutputWatch {
 public:
  OutputWatch();
  /// What was written since, quoted, escaped and cut, with where it went; empty when nothing was.
  /// Forgets it then: a finding tells it.
  std::string written();
  /// Nothing was written that matters: stdout is forgotten, stderr is kept for the user.
  void accept();

 private:
  struct Stream {
    const char* name;
    int descriptor;
    bool watched = false;
    off_t at = 0;
  };
  Stream streams_[2] = {{"stdout", 1}, {"stderr", 2}};
};

}  // namespace ropewalk::harness
