// One run at a time writes to a folder. The lock is the kernel's (flock): it ends with the process
// that holds it, even if that is killed, and workers do not inherit it.
#pragma once
#include <filesystem>

#include "tools/command/options.h"

namespace ropewalk::tools {

/// Gives one run the folder to which it writes. Makes the folder if it is missing, and removes it
/// again if the run leaves it empty. The lock is on the folder itself, so there is no lock file.
class FolderLock {
 public:
  /// Throws UsageError with one line that names the folder to which another run writes. If
  /// folders cannot be locked (NFS), it prints that on standard error and goes on.
  explicit FolderLock(const VerbOptions& options);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  std::filesystem::path folder_;
  bool is_new_ = false;
  int descriptor_ = -1;
};

}  // namespace ropewalk::tools
