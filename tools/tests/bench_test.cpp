// bench as its users meet it: the rows of its launches, and what a kill loses.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tools/tests/shell.h"
#include "tools/tests/timings.h"

namespace {

const std::string with_plugin = std::string(" --plugin ") + ROPEWALK_BENCH_PLUGIN + " ";

std::vector<Timing> rows_of(const std::filesystem::path& out) {
  return timings_of(out / "results.jsonl");
}

// Long shapes are verified with fewer tokens. A kernel that accepts only the long shape was not
// verified, so it has no speed.
TEST(PairedBench, RowsOfEveryLaunchStandSideBySide) {
#ifdef ROPEWALK_SANITIZED
  GTEST_SKIP() << "sanitized ceilings are slower than kernels, which are then IMPLAUSIBLE";
#endif
  const auto out = fresh();
  const std::string shape = "--shape q=32,k=8,d=128,tokens=";
  const Result r = ropewalk(
      "bench --kernel plain --kernel complex --kernel only_300_tokens --kernel tokens_by_sixteen" +
      with_plugin + "--profile smoke --launches 2 --rounds 8 " + shape + "300 " + shape +
      "320 --out " + out.string());
  EXPECT_TRUE(r.code == 0 || r.code == 3) << r.out << r.err;  // 3: too noisy here to be valid
  EXPECT_TRUE(contains(r.out, "at most 2 groups of 4 kernels; 2 launches of 8 rounds")) << r.out;
  EXPECT_TRUE(contains(r.out, "baseline plain, noise floor ")) << r.out;
  EXPECT_TRUE(contains(r.out, "  of ceiling  ratio\n")) << r.out;
  std::multiset<std::string> roles, outcomes;
  std::set<std::int64_t> launches;
  for (const Timing& row : rows_of(out)) {
    roles.insert(row.role);
    launches.insert(row.launch);
    outcomes.insert(row.kernel + " " + row.outcome);
    EXPECT_EQ(row.rounds >= 8, row.outcome == "MEASURED") << row.kernel;
  }
  EXPECT_EQ(launches.size(), 2u);
  for (const char* role : {"baseline", "null_twin", "ceiling"}) EXPECT_EQ(roles.count(role), 4u);
  EXPECT_EQ(outcomes.count("only_300_tokens SKIPPED"), 2u);
  EXPECT_EQ(outcomes.count("only_300_tokens MEASURED"), 0u);
  EXPECT_EQ(outcomes.count("tokens_by_sixteen MEASURED"), 2u);
  EXPECT_EQ(claim_groups_of(out / "results.jsonl"), 2u);
  EXPECT_FALSE(std::filesystem::exists(out / "measured.jsonl"));
}

TEST(PairedBench, AKillLosesNothingMeasured) {
  const auto out = fresh();
  const std::string command =
      "bench --kernel plain --kernel complex --profile smoke --launches 40 --out " + out.string() +
      " --workload llama-3-8b/set-1 --workload llama-3-8b/set-16";
  // The run is killed as soon as some groups were timed.
  const Result killed =
      shell(std::string(ROPEWALK_EXECUTABLE) + " " + command +
            " & p=$!; for i in $(seq 3000); do n=$(grep -sc '\"role\":\"ceiling\"' " +
            (out / "measured.jsonl").string() +
            "); [ \"${n:-0}\" -ge 3 ] && break; sleep 0.1; done; "
            "kill -9 $p; wait $p");
  EXPECT_EQ(killed.code, 137) << killed.out << killed.err;
  const auto before = timings_of(out / "measured.jsonl");
  ASSERT_GE(before.size(), 3u);
  EXPECT_EQ(ropewalk("report " + (out / "measured.jsonl").string()).code, 0);
  EXPECT_TRUE(contains(slurp(out / "report.md"), "cut off"));
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

// Kills like a system that ran out of memory, while no kernel runs. One kill is repaired, and the
// next one is told.
TEST(PairedBench, ABoardThatEndsWithoutAKernelIsTriedOnceMore) {
  const std::string self = std::to_string(getpid());
  if (!std::filesystem::exists("/proc/" + self + "/task/" + self + "/children"))
    GTEST_SKIP() << "/proc has no children here";
  const auto told = scratch() / "told";
  for (const bool once : {true, false}) {
    const pid_t run = fork();
    if (run == 0) {
      if (std::freopen("/dev/null", "w", stdout) == nullptr) _exit(1);
      if (std::freopen(told.c_str(), "w", stderr) == nullptr) _exit(1);
      execl(ROPEWALK_EXECUTABLE, "ropewalk", "bench", "--profile", "smoke", "--rounds", "8",
            "--launches", "1", "--shape", "q=4,k=1,d=64,tokens=4", "--kernel", "same_00",
            "--no-cuda", "--no-baselines", "--plugin", ROPEWALK_BENCH_PLUGIN, nullptr);
      _exit(127);
    }
    int killed = 0, status = 0;
    while (waitpid(run, &status, WNOHANG) == 0) {
      const pid_t worker = killed == 1 && once ? 0 : picking_worker(run);
      if (worker != 0 && kill(worker, SIGKILL) == 0) {
        ++killed;
        for (int wait = 0; wait < 1000 && picking_worker(run) == worker; ++wait) usleep(1000);
      }
      usleep(1000);
    }
    EXPECT_GE(killed, once ? 1 : 2);
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (once)
      EXPECT_TRUE(code == 0 || code == 3) << code;
    else
      EXPECT_EQ(code, 1) << slurp(told);
    EXPECT_EQ(contains(slurp(told), "ended twice while no kernel ran"), !once) << slurp(told);
  }
}

TEST(PairedBench, ABudgetIsSpentInLaunchesUntilAllIsSettled) {
#ifdef ROPEWALK_SANITIZED
  GTEST_SKIP() << "sanitized ceilings are slower than kernels, which are then IMPLAUSIBLE";
#endif
  const std::filesystem::path out = fresh();
  const Result r = ropewalk(
      "bench --no-cuda --no-baselines --profile smoke --kernel plain --kernel dense "
      "--shape "
      "q=4,k=2,d=64,tokens=16 --out " +
      out.string());
  expect(r, 0, {"; 20 s, at most 10 launches", "dense", "SLOWER"});
  std::set<std::int64_t> launches;
  std::map<std::int64_t, std::set<std::size_t>> rounds;
  for (const Timing& row : rows_of(out)) {
    launches.insert(row.launch);
    rounds[row.launch].insert(row.rounds);
    EXPECT_TRUE(contains(row.line, "\"epoch_us\":")) << row.line;
    EXPECT_FALSE(contains(row.line, "\"epoch_us\":0,")) << row.line;
  }
  EXPECT_GE(launches.size(), 3u);
  EXPECT_LE(launches.size(), 10u);
  for (const auto& [launch, counts] : rounds) EXPECT_EQ(counts.size(), 1u) << launch;
}

}  // namespace
