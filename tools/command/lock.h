// One writer at a time. The locks are the kernel's (flock): they end with the process that holds
// them, however it ends, so that a kill leaves none behind. Neither workers nor judges inherit one.
#pragma once
#include <filesystem>

#include "tools/command/options.h"

namespace ropewalk::tools {

/// A descriptor that is locked until this is destroyed.
class Lock {
 public:
  Lock() = default;
  /// Waits for its turn. The lock is on FILE.lock, which stays: FILE itself is replaced by another
  /// when it is written. Throws UsageError where the file cannot be made or locked.
  explicit Lock(const std::filesystem::path& file);
  ~Lock();
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 protected:
  void hold(int descriptor);
  int descriptor_ = -1;
};

/// The folder that a verb writes to, for this run alone. It is made if it is not there, and removed
/// again if the run leaves it empty. The lock is on the folder itself: no file stands for it.
class FolderLock : private Lock {
 public:
  /// Throws UsageError with one line that names the folder and the process that writes there. Where
  /// folders cannot be locked (NFS) it says so on standard error and goes on.
  explicit FolderLock(const Options& options);
  ~FolderLock();

 private:
  void lock();
  std::filesystem::path folder_;
  bool is_new_ = false;
};

}  // namespace ropewalk::tools
