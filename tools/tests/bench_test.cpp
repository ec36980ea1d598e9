// bench as its users meet it: which kernels are timed, which bad kernels are found, and what a kill
// loses.
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

bool steers(const std::string& text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return c != '\n' && static_cast<unsigned char>(c) < ' '; });
}

// Each bad kernel, and what is said about it.
const std::map<std::string, std::string> bad_kernels = {
    {"bad_1_asked", "SIGABRT"},
    {"bad_1_crashes", "SIGSEGV"},
    {"bad_1_prints", "wrote to stdout: 'noise\\x1b[2J"},
    {"bad_1_signal", "left SIGUSR2's handler changed"},
    {"bad_1_thread", "prepare left "},
    {"bad_2_allocates", "called the allocator "},
    {"bad_2_later", "called the allocator "},  // for the thread
    {"bad_3_release", "release left the floating-point environment changed"},
    {"bad_4_cache", "while timed: a pair is too far from the exact rotation"},
    {"bad_4_less", "while timed: a pair is too far from the exact rotation"},
    {"bad_4_operands", "apply wrote into rope_operands while timed"},
    {"bad_4_output", "apply wrote past the end of an output while timed"},
    {"bad_4_problem", "apply wrote into rope_problem while timed"},
    {"bad_4_throws", "left the kernel: first\\nsecond\\x1b[2J"},
    {"bad_4_turns", "while timed: a pair is too far from the exact rotation"},
    {"bad_4_workspace", "apply wrote outside its workspace while timed"},
};

// One run has all of them, so that each is named and takes nothing from the others.
TEST(PairedBench, BadKernelsHaveNoNumberAnywhereAndTheOthersAreTimed) {
#ifdef ROPEWALK_SANITIZED
  GTEST_SKIP() << "a sanitizer has threads, an allocator and a speed of its own";
#endif
  const auto out = fresh();
  const Result r = ropewalk("bench --kernel 'fine_*' --kernel 'bad_*'" + with_plugin +
                            "--profile smoke --shape q=4,k=2,d=64,tokens=1009 --launches 1 "
                            "--rounds 8 --out " +
                            out.string());
  EXPECT_EQ(r.code, 1) << r.out << r.err;
  EXPECT_FALSE(steers(r.out + r.err)) << r.out << r.err;
  for (const auto& [name, why] : bad_kernels) {
    const std::size_t at = r.out.find("\nBROKEN " + name + ": ") + 1;
    ASSERT_NE(at, 0u) << name << r.out << r.err;
    EXPECT_TRUE(contains(r.out.substr(at, r.out.find('\n', at) - at), why)) << r.out.substr(at);
  }
  std::set<std::string> measured, broken, bad;
  for (const auto& [name, why] : bad_kernels) bad.insert(name);
  for (const Timing& row : rows_of(out)) {
    (row.outcome == "MEASURED" ? measured : broken).insert(row.kernel);
    if (!bad.contains(row.kernel)) continue;
    EXPECT_EQ(row.outcome, "BROKEN") << row.kernel;
    EXPECT_EQ(row.rounds + row.iterations, 0u) << row.kernel;
    EXPECT_EQ(row.ns_per_token_median, 0) << row.kernel;
    EXPECT_EQ(row.gb_per_s_median, 0) << row.kernel;
  }
  EXPECT_EQ(broken, bad);
  EXPECT_EQ(measured, (std::set<std::string>{"fine_in_all", "fine_in_all (twin)", "fine_in_prepare",
                                             "ceiling_update"}));
  EXPECT_EQ(ropewalk("report " + (out / "results.jsonl").string()).code, 0);
  for (const char* page : {"report.md", "report.html", "results.csv"})
    EXPECT_TRUE(contains(slurp(out / page), "BROKEN")) << page;
  const Result listed = ropewalk("list --kernel fine_in_all" + with_plugin);
  EXPECT_TRUE(contains(on_one_line(listed.out), "with \\x1b[31m colour\\nand a line"))
      << listed.out;
  EXPECT_FALSE(steers(listed.out + listed.err)) << listed.out;
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

TEST(PairedBench, SeveralThreadsAreRowsOfTheirOwn) {
  const auto out = fresh();
  const std::string command = "bench --kernel plain --profile smoke --launches 1 --out " +
                              out.string() + " --shape q=4,k=1,d=64,tokens=4 --threads ";
  const Result many = ropewalk(command + "1024");
  expect(many, 2, {}, {"--threads 1024: this process may use "});
  const Result two = ropewalk(command + "2");
  if (contains(two.err, "may use 1 processors")) GTEST_SKIP() << "one processor";
  EXPECT_TRUE(two.code == 0 || two.code == 3) << two.out << two.err;  // 3: its twin differed
  EXPECT_TRUE(contains(two.out, "with 1 thread and with 2, on processors ")) << two.out;
  EXPECT_TRUE(contains(two.out, "/t4-b1, 2 threads\n")) << two.out;
  const auto rows = rows_of(out);
  EXPECT_EQ(rows.size(), 6u);  // a baseline, a twin and a ceiling, twice
  EXPECT_EQ(ropewalk("report " + (out / "results.jsonl").string()).code, 0);
  EXPECT_TRUE(contains(slurp(out / "report.md"), ", 2 threads"));
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

// Its table is for people; the rows of the run hold the gate's verdicts alone.
TEST(GoogleBenchmark, PrintsItsTableAndKeepsNoSpeed) {
  const auto out = fresh();
  const std::string command =
      "bench --profile smoke --shape q=4,k=2,d=64,tokens=1009 --kernel plain";
  const Result r = ropewalk(command + " --out " + out.string() + " -- --benchmark_min_time=0.001");
  expect(r, 0, {"\nplain|", "bytes_per_second="});
  EXPECT_EQ(rows_of(out).size(), 0u);
  const Result bad = ropewalk(command + " --kernel bad_4_less" + with_plugin +
                              "-- --benchmark_min_time=0.001 --benchmark_filter=bad");
  expect(bad, 1, {"ERROR OCCURRED: 'while timed: a pair "});
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

TEST(PairedBench, ABudgetThatIsTooSmallIsSaid) {
  const Result r = ropewalk(
      "bench --no-cuda --no-baselines --kernel plain --kernel dense --budget 1 --shape "
      "q=32,k=8,d=128,tokens=8192");
  expect(r, 3, {}, {"error: a budget of 1 s is too small: "});
}

TEST(PairedBench, OptionsThatDoNotFitAreToldInOneLine) {
  for (const char* arguments : {"bench --engine warp",
                                "bench --rounds 5",
                                "bench --launches 0",
                                "bench --baseline nobody",
                                "bench --engine paired -- --benchmark_filter=x",
                                "bench --rounds 20 -- --benchmark_filter=x",
                                "bench --engine gbench --launches 2",
                                "bench --engine gbench --threads 2",
                                "run --engine gbench",
                                "run -- --benchmark_filter=x",
                                "bench -- --benchmark_filter=[",
                                "bench -- --benchmark_min_time=soon",
                                "bench -- --benchmark_min_time=",
                                "bench -- --benchmark_repetitions=many",
                                "bench -- --benchmark_repetitions=0",
                                "bench -- --benchmark_format=xml",
                                "bench -- --benchmark_nonsense=1",
                                "bench -- --benchmark_out=/nowhere/at/all",
                                "bench -- --benchmark_time_unit=h",
                                "bench -- --frequency=7",
                                "bench --budget 0",
                                "bench --budget -1",
                                "bench --budget soon",
                                "bench --margin 0",
                                "bench --margin 50.1",
                                "bench --budget 20 --rounds 24",
                                "bench --budget 20 --launches 3",
                                "bench --engine gbench --budget 20"}) {
    SCOPED_TRACE(arguments);
    expect_one_line(ropewalk(arguments), {});
  }
}

}  // namespace
