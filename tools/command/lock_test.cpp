// A run that was killed leaves its folder free.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <string>

#include "tools/tests/shell.h"

namespace {

namespace fs = std::filesystem;

/// Locks a folder from this process, as a run does.
class FolderHeld {
 public:
  explicit FolderHeld(const fs::path& folder)
      : descriptor_(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
        free_(flock(descriptor_, LOCK_EX | LOCK_NB) == 0) {}
  ~FolderHeld() { close(descriptor_); }
  FolderHeld(const FolderHeld&) = delete;
  FolderHeld& operator=(const FolderHeld&) = delete;
  bool was_free() const { return free_; }

 private:
  int descriptor_;
  bool free_;
};

// The file is read while a kernel hangs, so it must hold the run row before any result. Then the
// run is killed, and no worker of its judges keeps the lock.
TEST(Folder, IsFreeOnceItsRunWasKilled) {
  const fs::path out = fresh();
  const std::string run =
      "FAR_FAULT=hang exec " ROPEWALK_EXECUTABLE
      " verify --exhaustive --positions 1226833920:1234570000 --rotary-dim 40 --kernel test_far "
      "--jobs 3 --plugin " ROPEWALK_FAR_PLUGIN " --out " +
      out.string() + " >/dev/null";
  const pid_t process = fork();
  if (process == 0) {
    execl("/bin/sh", "sh", "-c", run.c_str(), nullptr);
    _exit(127);
  }
  const auto is_empty = [&] { return slurp(out / "results.jsonl").empty(); };
  for (int wait = 0; wait < 500 && is_empty(); ++wait) usleep(20'000);
  const std::string rows = slurp(out / "results.jsonl");
  EXPECT_TRUE(rows.starts_with("{\"schema\":1,\"row\":\"run\"")) << rows;
  EXPECT_FALSE(FolderHeld(out).was_free());
  ASSERT_EQ(kill(process, SIGKILL), 0);
  waitpid(process, nullptr, 0);
  // A worker that was just being started has the descriptor until its own program begins.
  bool is_free = false;
  for (int wait = 0; wait < 100 && !is_free; ++wait, usleep(20'000))
    is_free = FolderHeld(out).was_free();
  EXPECT_TRUE(is_free);
}

}  // namespace
