// What a plugin does or leaves when it is loaded: other kernels than before, another directory,
// threads, processes (harness/testing/harmful_plugin.cpp and pool_plugin.cpp).
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <sstream>
#include <string>

#include "tools/tests/shell.h"
#include "tools/tests/timings.h"

namespace {

namespace fs = std::filesystem;

const std::string plugin = ROPEWALK_HARMFUL_PLUGIN;

std::string doing(const std::string& what, const std::string& where) {
  return "export HOSTILE_DO=" + what + " HOSTILE_IN=" + where + "; ";
}

// The plugin has two kernels when it is first loaded, and one from then on. The missing one cannot
// be judged, and the command reports that.
TEST(Plugin, ThatListsOtherKernelsLaterIsRefusedByName) {
  const auto mark = scratch() / "mark";
  const std::string kernels = "--kernel 'hostile*' --kernel plain --plugin " + plugin;
  for (const std::string what :
       {"verify --property norm --cases 3 --jobs 2 ",
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
  const auto folder = fresh("plugins");
  fs::create_directories(folder);
  fs::copy(plugin, folder / "first.so");
  fs::copy(ROPEWALK_POOL_PLUGIN, folder / "second.so");
  const Result r = ropewalk("list --plugin ./first.so --plugin second.so --kernel 'hostile*'",
                            "cd " + folder.string() + "; " + doing("change_directory", "load"));
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(lines_in(r.err), 1) << "what loading changed is told once: " << r.err;
  EXPECT_TRUE(
      r.err.starts_with("ropewalk: plugin ./first.so: loading it left the working directory"))
      << r.err;
}

// ---- threads and processes that loading left. Only the kernels of the plugin answer for what
// those do while apply runs.

const std::string with_pool = std::string(" --plugin ") + ROPEWALK_POOL_PLUGIN + " ";
const std::string verify =
    "verify --profile smoke --property clean_call --cases 3 --json --kernel ";

// If other threads ran before any kernel was loaded, threads that apply begins and ends are not
// watched.
bool watched(const std::string& rows) {
  return !contains(rows, "not watched here: threads");
}

std::string leaves(const std::string& mode) {
  return "TEST_POOL=" + mode + " ";
}

// The reason of a kernel's first FAIL row; empty if there is none.
std::map<std::string, std::string> failures(const std::string& rows) {
  std::map<std::string, std::string> out;
  std::istringstream lines(rows);
  for (std::string row; std::getline(lines, row);)
    if (field(row, "verdict") == "FAIL") out.emplace(field(row, "kernel"), field(row, "reason"));
  return out;
}

class LeftByLoading : public testing::TestWithParam<const char*> {};

TEST_P(LeftByLoading, MayRestAndServePrepareAndMayNotDoTheWorkOfApply) {
  const std::string mode = GetParam();
  const Result r = ropewalk(verify + "'pool_*'" + with_pool, leaves(mode));
  EXPECT_EQ(r.code, 1) << r.out << r.err;
  const std::string task = mode == "child" ? "child process" : "thread";
  auto failed = failures(r.out);
  EXPECT_EQ(failed.size(), 1u) << r.out;
  EXPECT_EQ(failed["pool_works"], "apply ran a " + task + " that its plugin began");
}
INSTANTIATE_TEST_SUITE_P(Each, LeftByLoading, testing::Values("thread", "settles", "child"),
                         [](const auto& test) { return std::string(test.param); });

TEST(LeftByLoading, AThreadThatNeverRestsIsItsOwnKernelsFaultAlone) {
  const Result r = ropewalk(verify + "plain --kernel pool_idle" + with_pool, "TEST_POOL=spins ");
  EXPECT_EQ(r.code, 1) << r.out << r.err;
  const auto failed = failures(r.out);
  EXPECT_EQ(failed.size(), 1u) << r.out;
  EXPECT_TRUE(failed.contains("pool_idle")) << r.out;
}

TEST(LeftByLoading, SwitchesNoCheckOfAnotherPluginOff) {
  const std::string command = verify +
                              "mutant_maps_memory_table --kernel mutant_joins_thread_table "
                              "--kernel mutant_leaves_child_table" +
                              with_pool + "--plugin " ROPEWALK_MUTANTS;
  for (const std::string mode : {"thread", "child"}) {
    const Result r = ropewalk(command, leaves(mode));
    EXPECT_EQ(r.code, 1) << r.out << r.err;
    const auto failed = failures(r.out);
    EXPECT_TRUE(failed.contains("mutant_leaves_child_table")) << mode << r.out;
    if (!watched(r.out)) continue;
    EXPECT_TRUE(failed.contains("mutant_maps_memory_table")) << mode << r.out;
    EXPECT_TRUE(failed.contains("mutant_joins_thread_table")) << mode << r.out;
  }
}

// Both plugins are in the process in which all are timed. The thread's plugin tells which kernel is
// at fault.
TEST(LeftByLoading, IsCaughtWhileTimedAndBlamesNoOther) {
  const auto out = fresh();
  const Result r = ropewalk("bench" + with_pool +
                                "--profile smoke --shape q=4,k=2,d=64,tokens=1 --launches 1 "
                                "--rounds 8 --kernel plain --kernel 'pool_*' --out " +
                                out.string(),
                            leaves("thread"));
  EXPECT_EQ(r.code, 1) << r.out << r.err;
  for (const Timing& row : timings_of(out / "results.jsonl"))
    EXPECT_EQ(row.outcome == "BROKEN", row.kernel == "pool_works") << row.line << r.out;
}

TEST(WorkersOfPlugins, GiveTheRowsInTheOrderOfTheOptions) {
  const auto kernels_of = [](const std::string& jobs) {
    const Result r = ropewalk(verify + "plain --kernel pool_idle --kernel control_scalar_table" +
                              with_pool + "--plugin " ROPEWALK_MUTANTS + " --jobs " + jobs);
    EXPECT_EQ(r.code, 0) << r.out << r.err;
    std::string names;
    std::istringstream lines(r.out);
    for (std::string row; std::getline(lines, row);)
      if (names.find(field(row, "kernel")) == std::string::npos)
        names += field(row, "kernel") + " ";
    return names;
  };
  EXPECT_EQ(kernels_of("1"), "plain pool_idle control_scalar_table ");
  EXPECT_EQ(kernels_of("2"), "plain pool_idle control_scalar_table ");
}

}  // namespace
