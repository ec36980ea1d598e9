// Detects what a kernel prints. Descriptors 1 and 2 of a worker are memfds of fixed size, made by
// the parent. The parent shows what is left in descriptor 2 when the worker ends
// (harness/protocol.h).
#pragma once
#include <fcntl.h>

#include <cstddef>
#include <string>

namespace ropewalk::harness {

inline constexpr std::size_t watched_output_bytes = std::size_t{1} << 20;
/// These seals mark a descriptor as watched. No other file has exactly these seals.
inline constexpr int watched_output_seals = F_SEAL_SHRINK | F_SEAL_GROW;

/// Makes a memfd for the output of a worker. Throws std::runtime_error.
int make_watched_output();

/// Shows the file's content on standard error, escaped, at most 64 KiB. Then empties the file.
void show_watched_output(int descriptor);

class OutputWatch {
 public:
  OutputWatch();
  /// Returns what was written since the last call, quoted, escaped and cut, and to which
  /// descriptor; empty: nothing. Then it forgets this text, as a finding reports it.
  std::string written();
  /// Accepts what was written since the last call: drops stdout, keeps stderr for the user.
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
