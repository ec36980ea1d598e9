// Kernels that send messages in the worker's place while they are timed, or print or throw text
// that steers a terminal. Each is named, no other kernel is, and the rest of the board is complete.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>

#include "tools/tests/shell.h"
#include "tools/tests/timings.h"

namespace {

const std::string with_hostile = std::string(" --plugin ") + ROPEWALK_HOSTILE_PLUGIN + " ";
// A small shape is called often enough for every kernel to misbehave, however slow the machine.
const std::string small = " --profile smoke --shape q=4,k=2,d=64,tokens=1 ";

bool steers(const std::string& text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return c != '\n' && static_cast<unsigned char>(c) < ' '; });
}

struct Hostile {
  const char *name, *why;
};
void PrintTo(const Hostile& hostile, std::ostream* out) {
  *out << hostile.name;
}
class HostileBench : public ::testing::TestWithParam<Hostile> {};

TEST_P(HostileBench, IsNamedAndTheInnocentAreTimed) {
#ifdef ROPEWALK_SANITIZED
  GTEST_SKIP() << "they begin after 150,000 calls: no sanitized kernel is timed so often";
#endif
  const auto out = scratch() / "out";
  std::filesystem::remove_all(out);
  const std::string name = GetParam().name;
  const Result r =
      ropewalk("bench --kernel plain --kernel innocent --kernel " + name + with_hostile + small +
               "--launches 1 --rounds 400 --out " + out.string());
  EXPECT_EQ(r.code, 1) << r.out << r.err;
  EXPECT_TRUE(contains(r.out, "BROKEN " + name + ": ")) << r.out << r.err;
  EXPECT_TRUE(contains(r.out, GetParam().why)) << r.out << r.err;
  EXPECT_EQ(lines_in(r.out.substr(r.out.find("BROKEN " + name))), 1) << r.out;
  EXPECT_FALSE(steers(r.out + r.err)) << r.out << r.err;
  std::set<std::string> measured, broken;
  for (const Timing& row : timings_of(out / "results.jsonl"))
    (row.outcome == "MEASURED" ? measured : broken).insert(row.kernel);
  EXPECT_EQ(broken, std::set<std::string>{name});
  EXPECT_EQ(measured,
            (std::set<std::string>{"plain", "plain (twin)", "innocent", "ceiling_update"}));
}
INSTANTIATE_TEST_SUITE_P(
    Kernels, HostileBench,
    ::testing::Values(Hostile{"forge_garbage", "wrote to the worker's socket"},
                      Hostile{"forge_row", "wrote to the worker's socket"},
                      Hostile{"forge_reply", "wrote to the worker's socket"},
                      Hostile{"forge_short", "wrote to the worker's socket"},
                      Hostile{"forge_empty", "wrote to the worker's socket"},
                      Hostile{"blame_plain", "SIGABRT"},
                      Hostile{"print_to_stderr", "wrote to stderr: 'noise\\x1b[2J'"},
                      Hostile{"print_to_stdout", "wrote to stdout: 'noise'"},
                      Hostile{"throw_lines", "left the kernel: first\\nsecond\\x1b[2J"}),
    [](const auto& hostile) { return std::string(hostile.param.name); });

std::string google_benchmark_of(const std::string& name) {
  return "bench --kernel plain --kernel " + name + with_hostile + small +
         " -- --benchmark_min_time=0.1";
}

TEST(HostileBench, WithGoogleBenchmarkTheyAreNamedToo) {
#ifdef ROPEWALK_SANITIZED
  GTEST_SKIP() << "they begin after 150,000 calls: no sanitized kernel is timed so often";
#endif
  for (const auto& [name, why] : {std::pair{"forge_reply", "wrote to the worker's socket"},
                                  {"print_to_stderr", "wrote to stderr: 'noise"},
                                  {"throw_lines", "first\\nsecond"}}) {
    const Result r = ropewalk(google_benchmark_of(name));
    EXPECT_EQ(r.code, 1) << r.out << r.err;
    EXPECT_TRUE(contains(r.out, std::string("BROKEN ") + name)) << r.out << r.err;
    EXPECT_TRUE(contains(r.out, why)) << r.out << r.err;
    EXPECT_TRUE(contains(r.out, "plain|shape-")) << r.out << r.err;
    EXPECT_FALSE(steers(r.out + r.err)) << r.out << r.err;
  }
}

TEST(HostileBench, WhatPreparePrintsIsNoBreach) {
  const Result r =
      ropewalk("bench --kernel chatty_prepare" + with_hostile + small + "--launches 1 --rounds 6");
  EXPECT_TRUE(r.code == 0 || r.code == 3) << r.out << r.err;  // 3: too noisy here
  EXPECT_FALSE(contains(r.out, "BROKEN")) << r.out;
}

TEST(HostileBench, ListShowsNoRawBytes) {
  const Result r = ropewalk("list --kernel innocent" + with_hostile);
  EXPECT_TRUE(contains(r.out, "with \\x1b[31m colour\\nand a line")) << r.out;
  EXPECT_FALSE(steers(r.out + r.err)) << r.out;
}

// 5,000 repetitions make a row of about 50 KiB.
TEST(LongRows, TravelWhole) {
  const auto out = scratch() / "out";
  std::filesystem::remove_all(out);
  const Result r = ropewalk(
      "bench --kernel plain --profile smoke --shape q=1,k=1,d=2,tokens=1 "
      "--out " +
      out.string() + " -- --benchmark_repetitions=5000 --benchmark_min_time=0.0000001");
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  std::size_t rows = 0;
  for (const Timing& row : timings_of(out / "results.jsonl")) {
    EXPECT_EQ(row.rounds, 5000u) << row.kernel;
    EXPECT_GT(row.line.size(), std::size_t{1} << 15);
    ++rows;
  }
  EXPECT_EQ(rows, 2u);
}

TEST(BenchmarkFlags, AreRefusedBeforeAnythingRuns) {
  for (const char* flag :
       {"--benchmark_filter=[", "--benchmark_min_time=soon",
        "--benchmark_min_time=", "--benchmark_repetitions=many", "--benchmark_repetitions=0",
        "--benchmark_repetitions=300001", "--benchmark_format=xml", "--benchmark_nonsense=1",
        "--benchmark_out=/nowhere/at/all", "--benchmark_time_unit=h", "--frequency=7"}) {
    const Result r = ropewalk("bench --kernel plain -- '" + std::string(flag) + "'");
    EXPECT_EQ(r.code, 2) << flag << r.out << r.err;
    EXPECT_EQ(r.out, "") << flag;
    EXPECT_EQ(lines_in(r.err), 1) << r.err;
  }
}

}  // namespace
