// Plugins that harm what the command shares with its workers. The command goes on, the verdict
// names the kernel at fault, and no process is left. harness/testing/harmful_plugin.cpp does the
// harm.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "tools/tests/shell.h"

namespace {

namespace fs = std::filesystem;

const std::string plugin = HOSTILE_PLUGIN;

std::string doing(const std::string& what, const std::string& where) {
  return "export HOSTILE_DO=" + what + " HOSTILE_IN=" + where + "; ";
}

// Processes with this word in their environment, whatever session and parent they have.
int processes_told(const std::string& word) {
  int count = 0;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error))
    if (contains(slurp(entry.path() / "environ"), word)) ++count;
  return count;
}

bool gone_in_time(const std::string& word) {
  for (int wait = 0; wait < 1000 && processes_told(word) > 0; ++wait) usleep(10'000);
  return processes_told(word) == 0;
}

struct VerifiedHarm {
  const char *what, *where, *verdict, *words;
};
void PrintTo(const VerifiedHarm& harm, std::ostream* out) {
  *out << harm.what;
}

class Verify : public testing::TestWithParam<VerifiedHarm> {};

TEST_P(Verify, GoesOnAndNamesTheKernel) {
  const VerifiedHarm& harm = GetParam();
  for (const char* jobs : {"1", "2"}) {
    const Result r = ropewalk("verify --property norm --property sizes --cases 3 --jobs " +
                                  std::string(jobs) + " --kernel 'hostile*' --plugin " + plugin,
                              doing(harm.what, harm.where));
    EXPECT_EQ(r.code, 1) << r.out << r.err;
    EXPECT_EQ(r.err, "");
    EXPECT_TRUE(contains(r.out, std::string(harm.verdict) + " hostile (")) << r.out;
    EXPECT_TRUE(contains(r.out, harm.words)) << r.out;
    EXPECT_TRUE(contains(r.out, "PASS  hostile_neighbour")) << r.out;
    EXPECT_TRUE(contains(r.out, " claims hold")) << "the run came to its end: " << r.out;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, Verify,
    testing::Values(
        VerifiedHarm{"grow", "apply", "FAIL ", "grew the worker's shared memory (descriptor 4)"},
        VerifiedHarm{"grow", "supports", "FAIL ", "grew the worker's shared memory"},
        VerifiedHarm{"packet_of_5", "apply", "CRASH", "a packet of 5 bytes, where an answer"},
        VerifiedHarm{"forged_reply", "apply", "CRASH", "that answers nothing that was asked"}),
    [](const auto& test) { return std::string(test.param.what) + "_in_" + test.param.where; });

TEST(Bench, TakesTheSpeedOfTheHostileKernelAlone) {
  for (const char* what : {"grow", "forged_reply"}) {
    const Result r = ropewalk(
        "bench --profile smoke --rounds 8 --launches 1 --workload llama-3-8b/decode-1 --kernel "
        "'hostile*' "
        "--plugin " +
            plugin,
        doing(what, "apply"));
    EXPECT_EQ(r.code, 1) << r.out << r.err;
    EXPECT_TRUE(contains(r.out, "BROKEN hostile: ")) << r.out << r.err;
    EXPECT_FALSE(contains(r.out, "BROKEN hostile_neighbour")) << r.out;
  }
}

// The plugin has two kernels when it is first loaded, and one from then on. The missing one cannot
// be judged, and the command reports that.
TEST(Plugin, ThatListsOtherKernelsLaterIsRefusedByName) {
  const auto mark = scratch() / "mark";
  const std::string kernels = "--kernel 'hostile*' --kernel plain --plugin " + plugin;
  for (const std::string what :
       {"verify --property norm --cases 3 ", "verify --property norm --cases 3 --jobs 2 ",
        "bench --profile smoke --rounds 8 --launches 1 --workload llama-3-8b/decode-1 "}) {
    fs::remove(mark);
    const Result r = ropewalk(
        what + kernels, doing("vanish", "load") + "export HOSTILE_MARK=" + mark.string() + "; ");
    EXPECT_EQ(r.code, 2) << r.out << r.err;
    EXPECT_EQ(lines_in(r.err), 1) << r.err;
    EXPECT_TRUE(contains(r.err, "plugin " + plugin + ": lists other kernels than when it was "))
        << r.err;
    EXPECT_FALSE(contains(r.out, "claims hold")) << r.out;
  }
}

// Paths of plugins are relative to the folder in which the command was started.
TEST(Plugin, ThatChangesTheDirectoryHidesNoOther) {
  const auto folder = scratch() / "plugins";
  fs::remove_all(folder);
  fs::create_directories(folder);
  fs::copy(plugin, folder / "first.so");
  fs::copy(OTHER_PLUGIN, folder / "second.so");
  const Result r = ropewalk("list --plugin ./first.so --plugin second.so --kernel 'hostile*'",
                            "cd " + folder.string() + "; " + doing("change_directory", "load"));
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.err, "");
}

std::vector<pid_t> children_of(pid_t process) {
  const std::string number = std::to_string(process);
  std::istringstream text(slurp("/proc/" + number + "/task/" + number + "/children"));
  return {std::istream_iterator<pid_t>(text), {}};
}

// The worker that picks ceilings: the only one that is started with neither the plugin nor a
// device. 0: there is none.
pid_t picking_worker(pid_t run) {
  for (const pid_t keeper : children_of(run))
    for (const pid_t worker : children_of(keeper)) {
      const std::string line = slurp("/proc/" + std::to_string(worker) + "/cmdline");
      if (contains(line, "worker") && !contains(line, "--plugin") && !contains(line, "--device"))
        return worker;
    }
  return 0;
}

// Kills like a system that ran out of memory. One kill is repaired, the third one is reported.
TEST(Bench, PicksItsCeilingsAgainWhereThatWasKilled) {
  const std::string self = std::to_string(getpid());
  if (!fs::exists("/proc/" + self + "/task/" + self + "/children"))
    GTEST_SKIP() << "/proc has no children here";
  for (const bool once : {true, false}) {
    const pid_t run = fork();
    if (run == 0) {
      if (std::freopen("/dev/null", "w", stdout) == nullptr) _exit(1);
      execl(ROPEWALK_EXECUTABLE, "ropewalk", "bench", "--profile", "smoke", "--rounds", "8",
            "--launches", "1", "--workload", "llama-3-8b/decode-1", "--kernel", "hostile*",
            "--no-cuda", "--plugin", plugin.c_str(), nullptr);
      _exit(127);
    }
    int killed = 0, status = -1;
    for (int look = 0; look < 60'000 && waitpid(run, &status, WNOHANG) == 0; ++look) {
      const pid_t worker = killed == 1 && once ? 0 : picking_worker(run);
      if (worker != 0 && kill(worker, SIGKILL) == 0) {
        ++killed;
        for (int wait = 0; wait < 1000 && picking_worker(run) == worker; ++wait) usleep(1000);
      }
      usleep(1000);
    }
    if (status == -1) kill(run, SIGKILL);
    EXPECT_GE(killed, once ? 1 : 2) << "a start that is killed has one more try, picking two more";
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (once)
      EXPECT_TRUE(code == 0 || code == 3) << code;
    else
      EXPECT_EQ(code, 2);
  }
}

TEST(Descriptors, TooFewAreSaidInOneLine) {
  const Result r = ropewalk("list", "ulimit -n 8; ");
  EXPECT_EQ(r.code, 2) << r.out;
  EXPECT_EQ(lines_in(r.err), 1) << r.err;
  EXPECT_TRUE(contains(r.err, "may open 8 files here (ulimit -n), and 64 are needed")) << r.err;
}

// These processes have sessions of their own, so the group of a worker does not hold them.
TEST(Processes, AKernelLeavesNone) {
  if (!fs::exists("/proc/self/environ")) GTEST_SKIP() << "no /proc here";
  const std::string mark = "HOSTILE_IN=prepare_" + std::to_string(getpid());
  const Result r =
      ropewalk("verify --property norm --cases 2 --kernel 'hostile*' --plugin " + plugin,
               doing("leave_process", "prepare") + "export TEST_" + mark + "; ");
  EXPECT_EQ(r.code, 1) << r.out << r.err;
  EXPECT_TRUE(gone_in_time("TEST_" + mark));
}

TEST(Processes, AKilledCommandLeavesNone) {
  if (!fs::exists("/proc/self/environ")) GTEST_SKIP() << "no /proc here";
  const std::string mark = "TEST_KILLED=" + std::to_string(getpid());
  const pid_t run = fork();
  if (run == 0) {
    setenv("TEST_KILLED", std::to_string(getppid()).c_str(), 1);
    setenv("HOSTILE_DO", "leave_process", 1);
    setenv("HOSTILE_IN", "load", 1);
    if (std::freopen("/dev/null", "w", stdout) == nullptr) _exit(1);
    execl(ROPEWALK_EXECUTABLE, "ropewalk", "verify", "--jobs", "2", "--kernel", "hostile*",
          "--plugin", plugin.c_str(), nullptr);
    _exit(127);
  }
  // The command, a keeper, a worker and the process it left; more if judges run side by side.
  int seen = 0;
  for (int wait = 0; wait < 3000 && seen < 4; ++wait, usleep(10'000)) seen = processes_told(mark);
  EXPECT_GE(seen, 4) << "the control: they are seen";
  kill(run, SIGKILL);
  waitpid(run, nullptr, 0);
  EXPECT_TRUE(gone_in_time(mark));
}

}  // namespace
