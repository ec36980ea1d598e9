// Kernels of a device without a driver, and kernels that the host launcher runs, are not timed.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>

#include "tools/tests/shell.h"
#include "tools/tests/timings.h"

namespace {

namespace fs = std::filesystem;

const std::string beside =
    std::string(" --no-cuda --no-baselines --plugin ") + ROPEWALK_DEVICE_PLUGIN + " ";
const std::string quick =
    " --profile smoke --launches 1 --rounds 6 --workload llama-3-8b/decode-1 ";
const std::string words[] = {"SKIPPED beside_device: no CUDA driver: ",
                             "SKIPPED beside_launched: judged by the host launcher: not timed\n"};

std::set<std::string> timed_in(const fs::path& out) {
  std::set<std::string> names;
  for (const Timing& row : timings_of(out / "results.jsonl")) names.insert(row.kernel);
  return names;
}

// A driver that such a plugin brings would run beside the kernels that are timed, so the process
// that times does not load it.
TEST(NeverTimed, IsSaidByBenchAndChangesNoExitCode) {
  const fs::path out = fresh(), log = scratch() / "log";
  const auto bench = [&](const std::string& kernel, const std::string& setting) {
    fs::remove(log);
    const Result r =
        ropewalk("bench --kernel " + kernel + " --out " + out.string() + quick + beside,
                 setting + "DEVICE_PLUGIN_LOG='" + log.string() + "' ");
    EXPECT_TRUE(r.code == 0 || r.code == 3) << r.out << r.err;  // 3: its twin differed
    return r;
  };
  const Result r = bench("plain --kernel 'beside_*'", "");
  for (const std::string& line : words) EXPECT_TRUE(contains(r.out, line)) << r.out;
  EXPECT_TRUE(timed_in(out).contains("plain"));
  EXPECT_FALSE(contains(slurp(out / "results.jsonl"), "\"kernel\":\"beside_"));
  EXPECT_EQ(lines_in(slurp(log)), 1) << "it is listed once";
  bench("beside_timed", "DEVICE_PLUGIN_TIMED=1 ");
  EXPECT_GT(lines_in(slurp(log)), 1);
}

TEST(NeverTimed, AloneIsNothingToTime) {
  const Result alone = ropewalk("bench --kernel 'beside_*'" + quick + beside);
  EXPECT_EQ(alone.code, 3) << alone.out << alone.err;
  for (const std::string& line : words) EXPECT_TRUE(contains(alone.out, line)) << alone.out;
  const Result r = ropewalk(
      "bench --kernel plain --kernel beside_launched --baseline "
      "beside_launched" +
      quick + beside);
  expect(r, 2, {}, {"--baseline: no kernel 'beside_launched' is timed here"});
}

TEST(NeverTimed, IsJudgedByRun) {
  const fs::path out = fresh();
  const Result r =
      ropewalk("run --cases 2 --property norm --kernel plain --kernel 'beside_*' --out " +
               out.string() + quick + beside);
  EXPECT_TRUE(r.code == 0 || r.code == 3) << r.out << r.err;
  EXPECT_TRUE(contains(r.out, "PASS  beside_launched")) << r.out;
  for (const std::string& line : words) EXPECT_TRUE(contains(r.out, line)) << r.out;
  EXPECT_FALSE(timed_in(out).contains("beside_launched"));
}

}  // namespace
