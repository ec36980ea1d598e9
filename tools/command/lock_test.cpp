// Only one run at a time writes to a folder, and a run that was killed leaves it free.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <map>
#include <string>

#include "tools/tests/shell.h"

namespace {

namespace fs = std::filesystem;

const std::string quick = "verify --kernel plain --property norm --cases 2 --out ";
const std::string piece = "verify --exhaustive --kernel phase --positions 0:4095 --rotary-dim 2 ";

std::map<std::string, std::string> files_of(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::directory_iterator(folder))
    files[entry.path().filename().string()] = slurp(entry.path());
  return files;
}

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

TEST(Folder, TakesOneRunAtATime) {
  const fs::path out = fresh();
  ASSERT_EQ(ropewalk(piece + "--out " + out.string()).code, 0);
  const std::string results = (out / "results.jsonl").string();
  const auto before = files_of(out);
  const std::string to = "--out " + out.string();
  const std::string verbs[] = {quick + out.string(),
                               piece + to,
                               "bench --profile smoke --kernel plain " + to,
                               "run --profile smoke --kernel plain " + to,
                               "merge " + results + " " + to,
                               "report " + results,
                               "report " + results + " " + to};
  {
    const FolderHeld held(out);
    ASSERT_TRUE(held.was_free());
    for (const std::string& verb : verbs) {
      const Result r = ropewalk(verb);
      expect_one_line(r, {out.string() + ": ", " writes there; wait until it ends"});
      EXPECT_TRUE(files_of(out) == before) << verb;
    }
    // A run that writes elsewhere may read there.
    EXPECT_EQ(ropewalk("report " + results + " --out " + fresh("elsewhere").string()).code, 0);
  }
  EXPECT_EQ(ropewalk("report " + results).code, 0);
}

TEST(Folder, IsNotLeftBehindByARefusedRun) {
  const fs::path out = fresh();
  for (const char* verb : {"merge no/where.jsonl", "report no/where.jsonl",
                           "bench --baseline nobody", "verify --exhaustive --kernel nobody"}) {
    EXPECT_EQ(ropewalk(std::string(verb) + " --out " + out.string()).code, 2) << verb;
    EXPECT_FALSE(fs::exists(out)) << verb;
  }
}

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

TEST(Recorder, TakesBackTheRowOfARunThatIsRefused) {
  const fs::path out = fresh();
  ASSERT_EQ(ropewalk(quick + out.string()).code, 0);
  const std::string before = slurp(out / "results.jsonl");
  EXPECT_EQ(ropewalk("bench --baseline nobody --out " + out.string()).code, 2);
  EXPECT_EQ(ropewalk("verify --property nothing --out " + out.string()).code, 2);
  EXPECT_EQ(slurp(out / "results.jsonl"), before);
}

}  // namespace
