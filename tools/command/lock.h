// One writer at a time. The locks are the operating system's (flock). They end with the process
// that holds them, even if it is killed. Neither workers nor judges inherit one.
#pragma once
#include <filesystem>

#include "tools/command/options.h"

namespace ropewalk::tools {

/// Holds a locked descriptor until it is destroyed.
class Lock {
 public:
  Lock() = default;
  /// Waits until the lock is free. The lock is on FILE.lock, which stays, because FILE itself is
  /// replaced when it is written. Throws UsageError if the file cannot be made or locked.
  explicit Lock(const std::filesystem::path& file);
  ~Lock();
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 protected:
  void hold(int descriptor);
  int descriptor_ = -1;
};

/// Gives one run the folder to which it writes. Makes the folder if it is missing, and removes it
/// again if the run leaves it empty. The lock is on the folder itself, so no lock file is needed.
class FolderLock : private Lock {
 public:
  /// Throws UsageError with one line that names the folder and the process that writes there. If
  /// folders cannot be locked (NFS), it prints that on standard error and goes on.
  explicit FolderLock(const VerbOptions& options);
  ~FolderLock();

 private:
  void lock();
  std::filesystem::path folder_;
  bool is_new_ = false;
};

}  // namespace ropewalk::tools
