// One writer at a time. The locks are the operating system's (flock). They end with the process
// that holds them, even if it is killed. Neither workers nor judges inherit one.
#pragma once
#include <filesystem>

#include "tools/command/options.h"

namespace ropewalk::tools {

/// Gives one run the folder to which it writes. Makes the folder if it is missing, and removes it
/// again if the run leaves it empty. The lock is on the folder itself, so no lock file is needed.
class FolderLock {
 public:
  /// Throws UsageError with one line that names the folder to which another run writes. If
  /// folders cannot be locked (NFS), it prints that on standard error and goes on.
  explicit FolderLock(const VerbOptions& options);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  void lock();
  std::filesystem::path folder_;
  bool is_new_ = false;
  int descriptor_ = -1;
};

}  // namespace ropewalk::tools
