// bench as its users meet it: which kernels are timed, which cheats are found, and what a kill
// loses.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>
#include <tuple>

#include "tools/tests/shell.h"
#include "tools/tests/timings.h"

namespace {

const std::string with_timed = std::string(" --plugin ") + ROPEWALK_TIMED_PLUGIN + " ";
const std::string small = " --profile smoke --workload llama-3-8b/decode-1 ";

std::filesystem::path fresh_folder() {
  const auto out = scratch() / "out";
  std::filesystem::remove_all(out);
  return out;
}

std::vector<Timing> rows_of(const std::filesystem::path& out) {
  return timings_of(out / "results.jsonl");
}

TEST(PairedBench, RowsOfEveryLaunchStandSideBySide) {
#ifdef ROPEWALK_SANITIZED
  GTEST_SKIP() << "sanitized ceilings are slower than kernels, which are then IMPLAUSIBLE";
#endif
  const auto out = fresh_folder();
  const Result r =
      ropewalk("bench --kernel plain --kernel complex --kernel elementwise --launches 2 " + small +
               "--rounds 8 --out " + out.string());
  EXPECT_TRUE(r.code == 0 || r.code == 3) << r.out << r.err;  // 3: too noisy here to be valid
  EXPECT_TRUE(contains(r.out, "at most 1 groups of 3 kernels; 2 launches of 8 rounds")) << r.out;
  EXPECT_TRUE(contains(r.out, "to plain, noise floor ")) << r.out;
  EXPECT_TRUE(contains(r.out, "% of ceiling")) << r.out;
  const auto rows = rows_of(out);
  std::multiset<std::string> roles;
  std::set<std::int64_t> launches;
  for (const Timing& row : rows) {
    roles.insert(row.role);
    launches.insert(row.launch);
    EXPECT_GE(row.rounds, 8u);
  }
  EXPECT_EQ(launches.size(), 2u);
  EXPECT_EQ(roles.count("baseline"), 2u);
  EXPECT_EQ(roles.count("null_twin"), 2u);
  EXPECT_EQ(roles.count("ceiling"), 2u);
  EXPECT_EQ(claim_groups_of(out / "results.jsonl"), 1u);
  EXPECT_FALSE(std::filesystem::exists(out / "measured.jsonl"));
}

struct TimedCheat {
  const char *name, *why;
};
void PrintTo(const TimedCheat& cheat, std::ostream* out) {
  *out << cheat.name;
}
class Cheating : public ::testing::TestWithParam<TimedCheat> {};

TEST_P(Cheating, EndsWithoutANumberAnywhereAndTheRestIsComplete) {
#ifdef ROPEWALK_SANITIZED
  const std::string_view why = GetParam().why;
  if (why != "FAIL" && why != "SIGABRT")  // found before it is timed
    GTEST_SKIP() << "cheats begin after 150,000 calls: no sanitized kernel is timed so often";
#endif
  const auto out = fresh_folder();
  const std::string name = GetParam().name;
  // A small shape is called often enough for every cheat, however slow the machine.
  const Result r = ropewalk("bench --kernel plain --kernel same_00 --kernel " + name + with_timed +
                            " --profile smoke --shape q=4,k=2,d=64,tokens=1 --launches 1 "
                            "--rounds 400 --out " +
                            out.string());
  EXPECT_EQ(r.code, 1) << r.out << r.err;
  EXPECT_TRUE(contains(r.out, "BROKEN " + name)) << r.out;
  EXPECT_TRUE(contains(r.out, GetParam().why)) << r.out;
  bool found = false;
  std::set<std::string> measured;
  for (const Timing& row : rows_of(out)) {
    if (row.outcome == "MEASURED") measured.insert(row.kernel);
    if (row.kernel != name) continue;
    found = true;
    EXPECT_EQ(row.outcome, "BROKEN");
    EXPECT_EQ(row.rounds, 0u);
    EXPECT_EQ(row.iterations, 0u);
    EXPECT_EQ(row.ns_per_token_median, 0);
    EXPECT_EQ(row.gb_per_s_median, 0);
  }
  EXPECT_TRUE(found);
  EXPECT_EQ(measured,
            (std::set<std::string>{"plain", "plain (twin)", "same_00", "ceiling_update"}));
  EXPECT_EQ(ropewalk("report " + (out / "results.jsonl").string()).code, 0);
  for (const char* page : {"report.md", "report.html", "results.csv"}) {
    const std::string text = slurp(out / page);
    EXPECT_TRUE(contains(text, "BROKEN")) << page;
  }
}
INSTANTIATE_TEST_SUITE_P(Cheats, Cheating,
                         ::testing::Values(TimedCheat{"cheat_lazy", "while timed: pair"},
                                           TimedCheat{"cheat_no_tail", "while timed: pair"},
                                           TimedCheat{"cheat_cached", "while timed: pair"},
                                           TimedCheat{"cheat_throws", "exception left the kernel"},
                                           TimedCheat{"cheat_helped", "ran another thread"},
                                           TimedCheat{"cheat_pairs", "while timed: pair"},
                                           TimedCheat{"cheat_far", "FAIL"},
                                           TimedCheat{"cheat_dies_when_asked", "SIGABRT"},
                                           TimedCheat{"cheat_crash", "SIGSEGV"}),
                         [](const auto& cheat) { return std::string(cheat.param.name); });

// Long shapes are verified with fewer tokens. A kernel that accepts only the long shape was not
// verified.
TEST(PairedBench, WhoWasNotVerifiedHasNoSpeed) {
  for (const auto& [kernel, tokens, outcome] :
       {std::tuple{"only_300_tokens", 300, "SKIPPED"}, {"tokens_by_sixteen", 320, "MEASURED"}}) {
    const auto out = fresh_folder();
    ropewalk("bench --kernel plain --kernel " + std::string(kernel) + with_timed +
             "--profile smoke --shape q=32,k=8,d=128,tokens=" + std::to_string(tokens) +
             " --launches 1 --rounds 8 --out " + out.string());
    int found = 0;
    for (const Timing& row : rows_of(out)) {
      if (row.kernel != kernel) continue;
      ++found;
      EXPECT_EQ(row.outcome, outcome) << kernel;
      EXPECT_EQ(row.rounds > 0, row.outcome == "MEASURED") << kernel;
    }
    EXPECT_EQ(found, 1) << kernel;
  }
}

TEST(PairedBench, SeveralThreadsAreRowsOfTheirOwn) {
  const auto out = fresh_folder();
  const std::string command = "bench --kernel plain --profile smoke --launches 1 --out " +
                              out.string() + " --shape q=4,k=1,d=64,tokens=4 --threads ";
  const Result many = ropewalk(command + "1024");
  EXPECT_EQ(many.code, 2);
  EXPECT_TRUE(contains(many.err, "--threads 1024: this process may use ")) << many.err;
  EXPECT_EQ(ropewalk("bench --threads 2 --engine gbench").code, 2);
  const Result two = ropewalk(command + "2");
  if (contains(two.err, "may use 1 processors")) GTEST_SKIP() << "one processor";
  EXPECT_TRUE(two.code == 0 || two.code == 3) << two.out << two.err;  // 3: its twin differed
  EXPECT_TRUE(contains(two.out, "with 1 thread and with 2, on processors ")) << two.out;
  EXPECT_TRUE(contains(two.out, ", 2 threads; to plain")) << two.out;
  const auto rows = rows_of(out);
  EXPECT_EQ(rows.size(), 6u);  // a baseline, a twin and a ceiling, twice
  EXPECT_EQ(ropewalk("report " + (out / "results.jsonl").string()).code, 0);
  EXPECT_TRUE(contains(slurp(out / "report.md"), ", 2 threads"));
}

TEST(PairedBench, AKillLosesNothingMeasured) {
  const auto out = fresh_folder();
  const std::string command =
      "bench --kernel plain --kernel complex --profile smoke --launches 40 --out " + out.string() +
      " --workload llama-3-8b/set-1 --workload llama-3-8b/set-16";
  // The run is killed as soon as some groups are in the journal.
  const Result killed =
      shell(std::string(ROPEWALK_EXECUTABLE) + " " + command +
            " & p=$!; for i in $(seq 3000); do n=$(grep -sc '\"role\":\"ceiling\"' " +
            (out / "measured.jsonl").string() +
            "); [ \"${n:-0}\" -ge 3 ] && break; sleep 0.1; done; "
            "kill -9 $p; wait $p");
  EXPECT_EQ(killed.code, 137) << killed.out << killed.err;
  const auto before = timings_of(out / "measured.jsonl");
  ASSERT_GE(before.size(), 3u);
  // Another command is refused. The same command keeps each row to the bit.
  const std::string other = command + " --seed 7 --resume";
  const Result refused = ropewalk(other);
  EXPECT_EQ(refused.code, 2) << refused.out << refused.err;
  EXPECT_TRUE(contains(refused.err, "another command, program or machine")) << refused.err;
  // The test shortens the run here: forty launches are only needed for the kill.
  std::string text = slurp(out / "measured.jsonl");
  const std::string many = "--launches 40";
  text.replace(text.find(many), many.size(), "--launches 2");
  // An earlier kill leaves this: a row of a group that was cut off and measured again.
  const std::size_t first = text.find('\n') + 1, end = text.find('\n', first) + 1;
  std::string cut_off = text.substr(first, end - first);
  cut_off.replace(cut_off.find("\"summary\":\""), 11, "\"summary\":\"cut off ");
  text.insert(first, cut_off);
  spill(out / "measured.jsonl", text);
  std::string shorter = command;
  shorter.replace(shorter.find(many), many.size(), "--launches 2");
  const Result resumed = ropewalk(shorter + " --resume");
  EXPECT_TRUE(resumed.code == 0 || resumed.code == 3) << resumed.out << resumed.err;
  EXPECT_TRUE(contains(resumed.err, "resumed: ")) << resumed.err;
  std::set<std::string> lines;
  for (const Timing& row : rows_of(out)) lines.insert(row.line);
  for (const std::string& line : lines) EXPECT_FALSE(contains(line, "cut off ")) << line;
  std::set<std::string> whole;
  for (const Timing& row : before)
    if (row.role == "ceiling") whole.insert(row.group());
  for (const Timing& row : before) {
    if (row.launch > 1 || !whole.contains(row.group())) continue;
    EXPECT_TRUE(lines.contains(row.line)) << row.kernel << " on " << row.workload;
  }
}

TEST(PairedBench, OptionsThatDoNotFitAreToldInOneLine) {
  for (const char* arguments :
       {"bench --engine warp", "bench --rounds 5", "bench --launches 0", "bench --resume",
        "bench --baseline nobody", "bench --engine paired -- --benchmark_filter=x",
        "bench --rounds 20 -- --benchmark_filter=x", "bench --engine gbench --launches 2"}) {
    const Result r = ropewalk(arguments);
    EXPECT_EQ(r.code, 2) << arguments << r.out << r.err;
    EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
  }
}

}  // namespace
