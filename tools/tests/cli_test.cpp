// The command as its users meet it. Covers exit codes, the verdicts of kernels that crash, hang,
// exit or cheat, and replay lines that repeat a margin. Bad input has a file of its own.
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "tools/tests/shell.h"

namespace {

// The text after `word`, up to the end of its line.
std::string after(const std::string& text, const std::string& word) {
  const auto at = text.find(word);
  if (at == std::string::npos) return {};
  const auto begin = text.find_first_not_of(' ', at + word.size());
  return text.substr(begin, text.find('\n', begin) - begin);
}

const std::string plugin = std::string(" --plugin ") + ROPEWALK_MUTANTS + " ";

TEST(Verify, ACorrectKernelPassesAndCountsItsCases) {
  const Result r =
      ropewalk("verify --profile smoke --kernel plain --property norm --property decay --cases 5");
  expect(r, 0, {"16 of 16 claims hold", "planned 80, executed 80, compared 80", "seed 20210420"});
}

TEST(Verify, APassSaysWhatWasMetAndWhatIsRefused) {
  const Result r =
      ropewalk(std::string("verify --profile smoke -v --kernel control_refuses_long_prompts_table "
                           "--property agreement --property norm_head_alone --plugin ") +
               ROPEWALK_COMPOSED_MUTANTS);
  expect(r, 0, {"covered 100 % of 2-way interactions of what the kernel offers"});
  EXPECT_TRUE(contains(on_one_line(r.out),
                       "not asked of control_refuses_long_prompts_table, as not offered: "))
      << r.out;
  for (const char* item : {"more than 64 tokens; tensors of several data types; ", "; a norm"})
    EXPECT_TRUE(contains(on_one_line(r.out), item)) << item << r.out;
}

TEST(Verify, WritesVerdictsForACi) {
  const auto file = scratch() / "junit.xml";
  const std::string few = "verify --profile smoke --property norm --cases 3 --junit ";
  EXPECT_EQ(ropewalk(few + file.string() + " --kernel plain").code, 0);
  EXPECT_TRUE(contains(slurp(file), "classname=\"plain.half_split.f32.table\" name=\"norm\""));
  EXPECT_EQ(ropewalk(few + file.string() + " --kernel mutant_reads_past_table_table" + plugin).code,
            1);
  EXPECT_TRUE(contains(slurp(file), "<failure type=\"CRASH\"")) << slurp(file);
  EXPECT_EQ(ropewalk(few + "/nowhere/junit.xml --kernel plain").code, 2);
}

TEST(Verify, NothingThatCanRunIsThree) {
  const Result r =
      ropewalk("verify --kernel control_one_token_only_table --property decay" + plugin);
  expect(r, 3, {"UNSUPPORTED"});
}

// The verdict that each cheat must get. The other kernel must still be judged, and the replay line
// must repeat the verdict.
using VerifiedCheat = std::array<std::string, 4>;  // kernel, verdict, property and words

class Cheats : public testing::TestWithParam<VerifiedCheat> {};

TEST_P(Cheats, GetsItsVerdictAndReplays) {
  const auto& [kernel, verdict, property, words] = GetParam();
  Result r = ropewalk("verify --profile smoke --cases 8 --kernel plain --kernel " + kernel +
                      plugin + "--property " + property);
  r.out = unwrapped(r.out);
  expect(r, 1, {verdict + " ", words, "PASS  plain "});
  const std::string replay = after(r.out, "      replay ");
  ASSERT_TRUE(replay.starts_with("ropewalk replay '")) << r.out;
  const Result again = ropewalk(replay.substr(std::string("ropewalk ").size()));
  EXPECT_EQ(again.code, 1) << again.out << again.err;
  EXPECT_TRUE(again.out.starts_with(verdict)) << again.out;
  EXPECT_EQ(after(unwrapped(again.out), "      because "), after(r.out, "      because "))
      << r.out << again.out;
  EXPECT_EQ(after(again.out, "      error "), after(r.out, "      error "));
}

INSTANTIATE_TEST_SUITE_P(
    All, Cheats,
    testing::Values(VerifiedCheat{"mutant_one_position_off_table", "FAIL", "position_sweep"},
                    VerifiedCheat{"mutant_wrong_way_table", "FAIL", "decay"},
                    VerifiedCheat{"mutant_leaves_handler_table", "FAIL", "clean_call",
                                  "apply left SIGUSR1's handler changed"},
                    VerifiedCheat{"mutant_reads_past_table_table", "CRASH", "norm",
                                  "SIGSEGV in apply: read past the end of "},
                    VerifiedCheat{"mutant_hangs", "HANG", "norm"},
                    VerifiedCheat{"mutant_exits", "CRASH", "norm"}),
    [](const auto& cheat) { return cheat.param[0] + "_" + cheat.param[2]; });

TEST(Bench, OnlyWhatVerifiedIsTimed) {
  const auto out = fresh();
  const Result r =
      ropewalk("bench --kernel plain --kernel mutant_wrong_way_table --profile smoke --out " +
               out.string() + " --workload llama-3-8b/decode-1 --rounds 6 --launches 1" + plugin);
  expect(r, 1, {"BROKEN mutant_wrong_way_table: FAIL"});
  const std::string rows = slurp(out / "results.jsonl");
  const auto row = rows.find(R"("kernel":"mutant_wrong_way_table","summary")");
  EXPECT_NE(row, std::string::npos);
  EXPECT_TRUE(contains(rows, R"("outcome":"BROKEN")")) << rows;
  EXPECT_TRUE(contains(rows, R"("outcome":"MEASURED")")) << rows;
  EXPECT_EQ(ropewalk("report " + (out / "results.jsonl").string()).code, 0);
  EXPECT_TRUE(contains(slurp(out / "report.md"), "BROKEN"));
}

TEST(Bench, TheLibrarysOwnFlagsPassThrough) {
  const std::string start = "bench --kernel plain --profile smoke -- --benchmark_min_time=0.001 ";
  const Result one = ropewalk(start + "--v=2 --benchmark_filter='plain[|]llama-3-8b/decode-1/'");
  EXPECT_EQ(one.code, 0) << "what the library prints is no kernel's" << one.out << one.err;
  EXPECT_FALSE(contains(one.out, "decode-8")) << one.out;
  EXPECT_EQ(ropewalk(start + "--benchmark_colour=blue").code, 2);
}

const std::string llama31 =
    R"({"model_type": "llama", "num_attention_heads": 4, "num_key_value_heads": 2,)"
    R"( "hidden_size": 64, "rope_theta": 500000, "rope_scaling": {"rope_type": "llama3",)"
    R"( "factor": 8, "low_freq_factor": 1, "high_freq_factor": 4,)"
    R"( "original_max_position_embeddings": 8192}})";

TEST(Config, IsReadAndTimedInTheProcessOfTheKernels) {
  const auto file = scratch() / "toy.json", other = scratch() / "long.json", out = fresh();
  spill(file, llama31);
  std::string yarn = llama31;
  yarn.replace(yarn.find("llama3\""), 6, "yarn").insert(1, "\"dtype\": \"float8\", ");
  spill(other, yarn);
  const std::string choice = " --kernel plain --config " + file.string() + " ";
  const Result listed = ropewalk("config " + file.string());
  expect(listed, 0, {"read       rope_scaling.low_freq_factor = 1", "toy/prefill-512"});
  const Result timed = ropewalk(
      "bench --profile smoke --workload 'toy/decode-8' --workload 'long-2/decode-1' --shape "
      "q=2,d=8,tokens=3" +
      choice + "--config " + other.string() + " --config " + other.string() +
      " --workload 'shape-*' --rounds 6 --launches 1 --out " + out.string());
  EXPECT_NE(timed.code, 2) << timed.out << timed.err;  // too noisy a machine has a code of its own
  EXPECT_TRUE(contains(timed.err, "long: not timed: dtype 'float8'")) << timed.err;
  const std::string rows = slurp(out / "results.jsonl");
  for (const char* workload : {"toy/decode-8", "long-2/decode-1", "shape-q2-k2-d8/t3-b1"})
    EXPECT_TRUE(contains(rows, std::string(R"("workload":")") + workload + '"')) << rows;
  EXPECT_TRUE(contains(rows, "rope_scaling.factor = 8")) << rows;
}

TEST(Doctor, TellsAndReturnsZero) {
  const Result r = ropewalk("doctor --profile smoke"), json = ropewalk("doctor --json"),
               quiet = ropewalk("doctor --quiet");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(json.code, 0) << json.err;
  for (const char* check : {"build", "core", "load", "steal", "memory", "huge_pages"})
    EXPECT_TRUE(contains(r.out, check)) << check;
  EXPECT_TRUE(contains(r.out, "6 checks: ")) << r.out;
  EXPECT_EQ(lines_in(json.out), 6);
  EXPECT_TRUE(json.out.starts_with(R"({"check":"build","health":")")) << json.out;
  EXPECT_FALSE(contains(quiet.out, "\ngood")) << quiet.out;
  EXPECT_EQ(ropewalk("doctor --workload nothing").code, 2);
}

TEST(Replay, AttentionOfOneTokenAndOfGroupedQueries) {
  const std::string heads = "q.heads=6 q.head_dim=4 k.heads=2 k.head_dim=4";
  for (const char* property : {"attention", "linear_attention"})
    for (const std::string& words : {std::string("tokens=1"), "tokens=3 rotary_dim=4 " + heads}) {
      const Result r = ropewalk(std::string("replay 'kernel=plain position_shift=9 property=") +
                                property + " " + words + "'");
      EXPECT_EQ(r.code, 0) << r.out << r.err;
      EXPECT_FALSE(contains(r.out, " 0 values compared")) << r.out;
    }
}

TEST(List, ShowsKernelsPropertiesAndWorkloads) {
  const Result r = ropewalk("list");
  expect(r, 0, {"dense", "elementwise", "phase", "plain", "position_sweep", "llama-3-8b/decode-1"});
  EXPECT_FALSE(contains(r.out, "UNSUPPORTED: \n")) << "a refusal without a reason:\n" << r.out;
  const Result rows = ropewalk("list --json --kernel plain");
  EXPECT_TRUE(rows.out.starts_with(R"({"schema":1,"row":"kernel","kernel":"plain")")) << rows.out;
}

TEST(List, TheSchemaNamesEachRow) {
  const Result r = ropewalk("list --schema");
  EXPECT_EQ(r.code, 0) << r.err;
  for (const std::string row : {"run", "verdict", "timing", "curve", "kernel", "end"})
    EXPECT_TRUE(contains(r.out, R"("#/$defs/)" + row + '"')) << r.out;
}

TEST(List, WordsAreThePageOfReplayLines) {
  const Result r = ropewalk("list --words");
  EXPECT_EQ(r.code, 0) << r.err;
  const std::string page = slurp(ROPEWALK_SOURCE_DIR "/docs/replay.md");
  const auto between = r.out.find("\n\n");
  ASSERT_NE(between, std::string::npos) << r.out;
  for (const std::string& table : {r.out.substr(0, between), r.out.substr(between + 2)}) {
    EXPECT_TRUE(table.starts_with("| word | default | values | meaning |")) << table;
    EXPECT_TRUE(contains(page, table)) << "this belongs into docs/replay.md:\n" << table;
  }
}

}  // namespace
