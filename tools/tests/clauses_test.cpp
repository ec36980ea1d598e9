// Kernels that compute right and break a clause. The finding names what they did, and their
// processes do not outlive the run. If the run itself is killed, no process is left either.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <sstream>
#include <string>

#include "tools/tests/shell.h"

namespace {

namespace fs = std::filesystem;

// A copy of the mutants under a name that no other process uses.
fs::path own_mutants() {
  const fs::path copy = fs::absolute(scratch() / ("mutants-" + std::to_string(getpid()) + ".so"));
  fs::copy_file(ROPEWALK_MUTANTS, copy, fs::copy_options::overwrite_existing);
  return copy;
}

TEST(Clauses, WhatKernelsPrintIsKeptApartAndACrashIsStillSeen) {
  const fs::path mutants = own_mutants();
  const std::string verify = "verify --profile smoke --property norm --cases 3 --plugin '" +
                             mutants.string() + "' --kernel ";
  const Result allowed = ropewalk(verify + "control_at_liberty_table");
  EXPECT_EQ(allowed.code, 0) << allowed.out << allowed.err;
  EXPECT_FALSE(contains(allowed.out, "ready")) << allowed.out;
  const Result aborted = ropewalk(verify + "mutant_frees_argument");
  EXPECT_TRUE(contains(aborted.err, "free(): invalid pointer") ||
              contains(aborted.err, "AddressSanitizer"))
      << aborted.err;
}

TEST(Clauses, NoProcessOfAKernelOutlivesTheRun) {
  if (!fs::exists("/proc/self/cmdline")) GTEST_SKIP() << "no /proc here";
  const fs::path mutants = own_mutants();
  const Result r = ropewalk(
      "verify --profile smoke --property clean_call --cases 2 --plugin '" + mutants.string() +
      "' --kernel mutant_leaves_child_table --kernel mutant_child_goes_on_table "
      "--kernel mutant_leaves_thread_table");
  EXPECT_EQ(r.code, 1) << r.out << r.err;
  EXPECT_TRUE(gone_in_time(mutants.string(), "cmdline"));
}

TEST(Killed, LeavesWholeRowsAndNoProcess) {
  if (!fs::exists("/proc/self/cmdline")) GTEST_SKIP() << "no /proc here";
  const fs::path mutants = own_mutants(), out = fresh();
  const pid_t run = fork();
  if (run == 0) {
    if (std::freopen("/dev/null", "w", stdout) == nullptr) _exit(1);
    execl(ROPEWALK_EXECUTABLE, "ropewalk", "verify", "--profile", "smoke", "--jobs", "2",
          "--plugin", mutants.c_str(), "--kernel", "control_scalar_*", "--out", out.c_str(),
          nullptr);
    _exit(127);
  }
  const fs::path rows = out / "results.jsonl";
  for (int wait = 0; wait < 6000 && lines_in(slurp(rows)) < 4; ++wait) usleep(10'000);
  EXPECT_GE(processes_with(mutants.string(), "cmdline"), 3)
      << "the control: the run and its processes are seen";
  kill(run, SIGKILL);
  waitpid(run, nullptr, 0);
  EXPECT_TRUE(gone_in_time(mutants.string(), "cmdline"));
  std::istringstream whole(slurp(rows).substr(0, slurp(rows).rfind('\n') + 1));
  for (std::string row; std::getline(whole, row);)
    EXPECT_TRUE(row.starts_with("{\"") && row.ends_with("}")) << row;
  const Result report =
      ropewalk("report '" + rows.string() + "' --out '" + (scratch() / "report").string() + "'");
  EXPECT_EQ(report.code, 0) << report.err;  // the report refuses a file with a broken row
}

}  // namespace
