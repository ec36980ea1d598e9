// Kernels that compute right and break a clause. The finding names what they did, and their
// processes do not outlive the run. If the run itself is killed, no process is left either.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>

#include "tools/tests/shell.h"

namespace {

namespace fs = std::filesystem;

struct ClauseBreach {
  const char *kernel, *words;
};
// Names without the prefix "mutant_".
const ClauseBreach breaches[] = {
    {"allocates_table", "apply called the allocator 2 times, first malloc for 100 bytes"},
    {"reads_past_state_table", "SIGSEGV in apply: read past the end of a malloc of "},
    {"writes_freed_state_table", "after it was freed in prepare"},
    {"maps_memory_table", "apply mapped 1 pages of memory"},
    {"joins_thread_table", "apply ran another thread"},
    {"waits_for_child_table", "apply ran a child process"},
    {"prints_table", "wrote to stdout: 'rotated\\\\n'"},
    {"lowers_priority_table", "left the nice value changed"},
    {"changes_other_table", "left the rope_kernel of mutant_"},
    {"marks_problem_when_asked_table", "supports wrote into rope_problem"},
    {"marks_problem_in_release_table", "release wrote into the rope_problem that prepare was"},
    {"leaves_thread_table", "prepare left 1 more thread running"},
    {"leaves_child_table", "apply left a child process"},
    {"child_goes_on_table", "apply left a child process"},
    {"leaves_handler_table", "apply left SIGUSR1's handler changed"},
    {"leaves_handler_late_table", " left SIGUSR1's handler changed"},
    {"blocks_signal_table", "apply left SIGTERM blocked"},
    {"leaves_alarm_table", "apply left ITIMER_REAL (alarm) changed"},
    {"leaves_timer_table", "apply left the POSIX timers changed"},
    {"leaves_descriptor_table", "apply left descriptor "},
    {"leaves_high_descriptor_table", "apply left descriptor 300 open"},
    {"closes_memory_table", "apply closed descriptor 4"},
    {"silences_stdout_table", "apply put another file under descriptor 1"},
    {"leaves_locale_table", "prepare left the locale changed: 'C' became 'C.UTF-8'"},
    {"leaves_cpp_locale_table", "apply left std::locale() changed"},
    {"runs_process_beside_table", " ran a process beside the worker's"},
    {"changes_directory_table", "prepare left the working directory changed: "},
    {"changes_umask_table", "prepare left the umask changed: "},
    {"sets_variable_table", "prepare left the environment changed: OMP_NUM_THREADS"},
    {"takes_r12_table", "apply left r12 changed, which belongs to the caller"},
    {"counts_down_table", "apply left the direction flag set"},
    {"changes_its_mind_table", "supports answered "},
    {"two_reasons_table", "supports gave two reasons for one problem: "},
    {"needs_reason_table", "SIGSEGV in supports with reason == NULL"},
    {"workspace_grows_table", "workspace_bytes answered "},
    {"release_leaves_rounding_table", "release left the floating-point environment changed"},
    {"leaves_mmx", "with registers in use (no emms after MMX?)"},
    {"ends_thread", "a kernel ended the thread it was called on (pthread_exit)"},
    {"frees_argument", "SIGABRT in apply"},
    {"scribbles", "SIGABRT in "},
};

// A copy of the mutants under a name that no other process uses.
fs::path own_mutants() {
  const fs::path copy = fs::absolute(scratch() / ("mutants-" + std::to_string(getpid()) + ".so"));
  fs::copy_file(ROPEWALK_MUTANTS, copy, fs::copy_options::overwrite_existing);
  return copy;
}

TEST(Clauses, EachBreachIsToldInWords) {
#if defined(ROPEWALK_SANITIZED)
  GTEST_SKIP() << "sanitizers change some of the words";
#endif
  std::string kernels;
  for (const ClauseBreach& b : breaches) kernels += std::string(" --kernel mutant_") + b.kernel;
  const Result r =
      ropewalk("mutants --first-kill --json --property clean_call --property norm" + kernels);
  EXPECT_EQ(r.code, 0) << r.err;
  std::map<std::string, std::string> told;  // one row of each kernel that is not PASS
  std::istringstream lines(r.out);
  for (std::string line; std::getline(lines, line);) {
    const std::string verdict = field(line, "verdict");
    if (verdict == "FAIL" || verdict == "CRASH") told.emplace(field(line, "kernel"), line);
  }
  for (const ClauseBreach& b : breaches) {
    const std::string& row = told[std::string("mutant_") + b.kernel];
    EXPECT_TRUE(contains(field(row, "reason"), b.words)) << b.kernel << ": " << row;
    EXPECT_NE(field(row, "replay"), "") << b.kernel;
  }
}

// The calls that one caller repeats, and the calls that several callers make at once.
TEST(Clauses, WhatTheHundredthCallDoesIsToldToo) {
#if defined(ROPEWALK_SANITIZED)
  GTEST_SKIP() << "sanitizers change some of the words";
#endif
  const Result r = ropewalk(
      "mutants --profile smoke --json --property clean_call --property history --property threads "
      "--kernel 'mutant_*_on_100th_call*'");
  expect(r, 0,
         {"apply called the allocator ", "apply left the floating-point environment changed",
          " at once: apply left the floating-point "});
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
