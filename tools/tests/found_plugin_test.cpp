// The plugin ropewalk_cuda.so is taken without --plugin where it lies beside the command, and so
// are the compiler baselines where kernels are timed. Each test runs a copy of the command in a
// folder of its own, with a plugin made for it under that name, or with the baselines of this
// build.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tools/tests/shell.h"

namespace {

namespace fs = std::filesystem;

class Beside : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(scratch());
    fs::create_directories(bin);
    fs::copy_file(ROPEWALK_EXECUTABLE, bin / "ropewalk");
  }
  void TearDown() override { fs::remove_all(scratch()); }

  Result run(const std::string& arguments, const std::string& before = "") const {
    return shell("cd '" + scratch().string() + "' && " + before + " bin/ropewalk " + arguments);
  }
  /// The one line that says why the plugin is left out. The command goes on as without it.
  std::string why_skipped(const std::string& options = "", const std::string& before = "") const {
    const Result r = run("list --quiet " + options, before);
    expect(r, 0, {"\n  plain "});
    EXPECT_EQ(lines_in(r.err), 1) << r.err;
    EXPECT_TRUE(r.err.starts_with("ropewalk: SKIPPED: plugin " + found.string() + ": ")) << r.err;
    EXPECT_TRUE(r.err.ends_with(" (--no-cuda leaves it out)\n")) << r.err;
    return r.err;
  }

  const fs::path bin = scratch() / "bin", found = bin / "ropewalk_cuda.so";
};

TEST_F(Beside, IsFoundByEachVerbUnlessNoCuda) {
  fs::copy_file(ROPEWALK_DEVICE_PLUGIN, found);
  const std::string few = " --profile smoke --cases 2 --property norm --kernel beside_launched ";
  const std::string bench = "--launches 1 --rounds 6 --workload llama-3-8b/decode-1 ";
  struct {
    std::string arguments;
    int code;
  } lines[] = {{"list --quiet --kernel beside_launched ", 0},
               {"verify" + few, 0},
               {"verify --exhaustive --positions 0:9 --kernel beside_launched ", 3},
               {"bench --profile smoke --kernel beside_launched " + bench, 3},
               {"run" + few + bench, 3}};
  for (const auto& [arguments, code] : lines) {
    const Result with = run(arguments), without = run(arguments + " --no-cuda");
    EXPECT_EQ(with.code, code) << arguments << with.out << with.err;
    EXPECT_TRUE(contains(with.out, "beside_launched")) << arguments << with.out;
    EXPECT_FALSE(contains(with.err, "ropewalk: ")) << arguments << with.err;
    EXPECT_EQ(without.code, 2) << arguments << without.out;
    EXPECT_TRUE(contains(without.err, "no kernel matches 'beside_launched'")) << without.err;
  }
  const Result listed = run("list --features --kernel beside_device");
  EXPECT_TRUE(contains(on_one_line(listed.out), "memory cuda; judged on cuda")) << listed.out;
  EXPECT_TRUE(contains(on_one_line(listed.out), "; plugin " + found.string() + " ")) << listed.out;
}

TEST_F(Beside, IsFoundWhereItIsInstalled) {
  const fs::path folder = scratch() / ROPEWALK_INSTALLED_PLUGINS;
  fs::create_directories(folder);
  fs::copy_file(ROPEWALK_DEVICE_PLUGIN, folder / "ropewalk_cuda.so");
  Result r = run("list --quiet --kernel beside_launched");
  r.out = on_one_line(r.out) + "\n";
  expect(r, 0, {"plugin " + (folder / "ropewalk_cuda.so").string() + "\n"});
}

TEST_F(Beside, IsSkippedInOneLineWhereItCannotBeLoaded) {
  spill(found, "no library at all");
  EXPECT_TRUE(contains(why_skipped(), "cannot be loaded as a shared library: "));
  const std::string one = " --profile smoke --cases 2 --property norm --kernel plain";
  const Result verify = run("verify" + one);
  EXPECT_EQ(verify.code, 0) << verify.out;
  EXPECT_EQ(lines_in(verify.err), 1) << verify.err;
  // Given by hand it is as any other plugin.
  const Result given = run("verify --plugin bin/ropewalk_cuda.so" + one);
  EXPECT_EQ(given.code, 2);
  EXPECT_EQ(lines_in(given.err), 1) << given.err;
  EXPECT_TRUE(given.err.starts_with("ropewalk: plugin bin/ropewalk_cuda.so: cannot be loaded"))
      << given.err;
}

TEST_F(Beside, IsSkippedInOneLineIfItEndsItsWorkerOrTakesANameOfTheTree) {
  fs::copy_file(ROPEWALK_TEST_PLUGIN, found);
  EXPECT_TRUE(contains(why_skipped("", "TEST_PLUGIN_FAULT=abort_in_constructor"), "SIGABRT in"));
  EXPECT_TRUE(contains(why_skipped("", "TEST_PLUGIN_FAULT=name_of_the_tree"),
                       "a kernel named plain is there already, from the command itself"));
}

TEST_F(Beside, GivesWayToAnotherFileWithItsKernels) {
  fs::copy_file(ROPEWALK_DEVICE_PLUGIN, found);
  fs::copy_file(found, scratch() / "newer.so");
  EXPECT_TRUE(contains(why_skipped("--plugin newer.so"),
                       "a kernel named beside_device is in newer.so too"));
  // A given plugin that cannot be loaded is told of, and nothing else is.
  expect_one_line(run("list --plugin /dev/null"), {"/dev/null"});
}

TEST_F(Beside, BaselinesAreTimedByRunAndBenchWithCompilerAndFlags) {
  std::vector<std::string> compilers;
  for (const std::string compiler : {"gcc", "clang"}) {
    const std::string file = "ropewalk_baselines_" + compiler + ".so";
    std::error_code none_here;
    if (fs::copy_file(fs::path(ROPEWALK_EXECUTABLE).parent_path() / file, bin / file, none_here))
      compilers.push_back(compiler);
  }
  if (compilers.empty()) GTEST_SKIP() << "this build has no baselines";
  const std::string few =
      " --profile smoke --rounds 6 --launches 1 --shape q=1,k=1,d=8,tokens=2 --kernel '*_plain' ";
  const Result timed = run("run -v --out out" + few);
  const std::string rows = slurp(scratch() / "out/results.jsonl");
  const std::string report = slurp(scratch() / "out/report.md");
  for (const char* page : {"report.md", "report.html", "results.csv", "junit.xml"})
    EXPECT_FALSE(contains(slurp(scratch() / "out" / page), bin.string())) << page;
  EXPECT_TRUE(timed.code == 0 || timed.code == 3) << timed.out << timed.err;  // 3: too noisy here
  const Result old = run("bench --cpu-features sse4_2" + few);
  for (const std::string& compiler : compilers) {
    const std::string name = compiler + "_plain", command = compiler == "gcc" ? "g++" : "clang++";
    EXPECT_TRUE(contains(timed.out, " " + name + " ")) << timed.out << timed.err;
    const std::string row = R"("row":"timing","kernel":")" + name + R"(","summary":"the five-line)";
    EXPECT_TRUE(contains(rows, row + " loop, built by " + command)) << rows;
    EXPECT_TRUE(contains(report, "| " + name + " (ropewalk_baselines_")) << report;
    EXPECT_TRUE(contains(report, " -O3 -march=native) |")) << report;
    if (contains(run("list --json --kernel " + name).out, "sse4_2,avx,")) {
      const std::regex line("SKIPPED [^\n]*" + name + "[^\n]*: this machine has no avx\n");
      EXPECT_TRUE(std::regex_search(old.out, line)) << old.out;
    }
  }
  EXPECT_EQ(run("bench --no-baselines" + few).code, 2);
  const Result verify = run("verify --kernel '*_plain'");
  EXPECT_EQ(verify.code, 2) << "the gate of bench judges them";
  EXPECT_TRUE(contains(verify.err, "compiler baselines: list, bench and run take them"));
}

}  // namespace
