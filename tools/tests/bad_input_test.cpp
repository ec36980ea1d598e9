// Bad input as a table. Each input gives one line on standard error that names the culprit, the
// documented exit code, and nothing on standard output. It leaves nothing half-written behind. What
// each reader refuses is tested beside it; here are a few faults of each.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tools/tests/shell.h"

namespace {

struct BadInput {
  const char* what;
  std::string arguments;  ///< FILE is the file that holds `content`, OUT a folder not yet there
  std::string content;    ///< empty: no file
  std::vector<std::string> words;  ///< each occurs in the one line
  int code = 2;
};

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

void check(const std::vector<BadInput>& table) {
  const auto file = scratch() / "FILE", out = scratch() / "new";
  for (const BadInput& bad : table) {
    SCOPED_TRACE(bad.what);
    std::filesystem::remove_all(out);
    std::filesystem::remove(file);
    if (!bad.content.empty()) spill(file, bad.content);
    std::string arguments = bad.arguments;
    replace_all(arguments, "FILE", file.string());
    replace_all(arguments, "OUT", out.string());
    const Result r = ropewalk(arguments);
    EXPECT_EQ(r.code, bad.code) << r.out << r.err;
    EXPECT_EQ(lines_in(r.err), 1) << r.err;
    EXPECT_LT(r.err.size(), 1100u);
    EXPECT_TRUE(r.err.starts_with("ropewalk: ")) << r.err;
    for (std::string word : bad.words) {
      replace_all(word, "FILE", file.string());
      EXPECT_TRUE(contains(r.err, word)) << "no '" << word << "' in: " << r.err;
    }
    EXPECT_EQ(r.out, "");
    EXPECT_FALSE(std::filesystem::exists(out)) << "left behind: " << out;
  }
}

std::string replay(const std::string& words) {
  return "replay 'kernel=plain property=norm " + words + "'";
}

TEST(BadInput, CommandLine) {
  check({
      {"no verb", "", "", {"subcommand"}},
      {"unknown verb", "dance", "", {"dance"}},
      {"a verb of two lines", "\"$(printf 'da\\nnce')\"", "", {"da\\nnce"}},
      {"unknown option", "verify --colour", "", {"--colour"}},
      {"unknown encoding", "encodings rope nothing", "", {"'nothing'", "sinusoidal"}},
      {"curves and names", "encodings rope --curves OUT", "", {"--curves"}},
      {"curves into no folder", "encodings --curves /proc/curves", "", {"k: cannot c", "/curves]"}},
      {"an option of another verb", "replay x --profile smoke", "", {"--profile"}},
      {"an argument too many", "list plain", "", {"plain"}},
      {"an option without its value", "verify --known-failures", "", {"--known-failures"}},
      {"no results file", "report", "", {"results"}},
      {"unknown profile", "verify --profile huge", "", {"huge"}},
      {"a seed that overflows", "verify --seed 18446744073709551616", "", {"18446744073709551616"}},
      {"no cases", "verify --cases 0", "", {"--cases", "0"}},
      {"cases that overflow", "verify --cases 99999999999999999999", "", {"--cases"}},
      {"unknown kernel", "verify --out OUT --kernel nobody", "", {"nobody"}},
      {"controls", "verify --kernel \"$(printf 'a\\033[31m\\nb')\"", "", {"'a\\x1b[31m\\nb'"}},
      {"an argument of 100,000 bytes", "verify --kernel \"$(printf '%100000s' x)\"", "", {"..."}},
      {"unknown property", "verify --out OUT --property nothing", "", {"nothing"}},
      {"unknown workload", "bench --out OUT --workload 'no/such*'", "", {"no/such*"}},
      {"unknown workload of run", "run --out OUT --workload 'no/such*'", "", {"no/such*"}},
      {"unknown processor feature", "verify --cpu-features mmx9", "", {"mmx9"}},
      {"flags that are not for this verb", "verify -- --benchmark_filter=x", "", {"bench"}},
      {"both ledger options", "verify --ledger a --write-ledger b", "", {"--ledger"}},
  });
}

TEST(BadInput, ReplayLines) {
  check({
      {"unknown kernel", "replay 'kernel=nobody property=norm'", "", {"kernel=nobody"}},
      {"unknown property", "replay 'kernel=plain property=charm'", "", {"property=charm"}},
      {"no word", replay("wings"), "", {"wings", "name=value"}},
      {"binary garbage", "replay \"$(printf '\\001\\377=\\177')\"", "", {"unknown word"}},
      {"a table too large", replay("positions=2147483647"), "", {"2 GiB"}},
      {"far rows that overflow",
       "replay 'kernel=plain property=far_strides tokens=3 table_row_stride=4611686018427387904'",
       "",
       {"overflow 64 bits"}},
      {"far positions in one place",
       "replay 'kernel=plain property=far_strides tokens=2 batch=2 positions=1,2,3,4 "
       "position_token_stride=4294967296 position_batch_stride=4294967296'",
       "",
       {"same place"}},
      {"a state that is not there",
       "replay 'kernel=plain property=history call.3.state=32'",
       "",
       {"state must be 0 to 31", "0 to 31"}},
      {"another problem of one state",
       "replay 'kernel=plain property=history call.3.tokens=2'",
       "",
       {"call 3", "another state"}},
      {"calls of a property without sequences", replay("calls=2"), "", {"no sequences"}},
      {"a plugin that is not there", replay("plugin=no/where.so"), "", {"no/where.so"}},
  });
}

const std::string garbage("\177ELF\x02\0\xff\n", 8);

TEST(BadInput, WorkloadFiles) {
  const std::string list = "list --workload-file FILE";
  check({
      {"no file", "bench --out OUT --workload-file no/where.toml", "", {"no/where.toml"}},
      {"binary garbage", list, garbage, {"FILE:1: "}},
      {"an unknown key", list, "speed = 1\n", {"FILE:1: ", "'speed' is not known"}},
  });
}

TEST(BadInput, ConfigsAndShapes) {
  const std::string list = "config FILE", held = "verify --out OUT --shape q=4,d=64";
  const std::string llama =
      R"({"model_type": "llama", "num_attention_heads": 4, "hidden_size": 64)";
  check({
      {"no config", "bench --out OUT --config no/where.json", "", {"no/where.json"}},
      {"no config of run", "run --out OUT --config no/where.json", "", {"no/where.json"}},
      {"a folder", "config /", "", {"/: not a regular file"}},
      {"too large", list, llama + R"(, "head_dim": 1048576})", {"FILE: ", "/prefill", "64 GiB"}},
      {"numbers for no config", "config --inv-freq FILE", "", {"files is required"}},
      {"a config for numbers", list + " --inv-freq FILE", llama + "}", {"FILE: '{\"model"}},
      {"a bad shape of verify", "verify --out OUT --shape q=4", "", {"--shape: 'd='"}},
      {"two shapes", held + " --shape q=4,d=32", "", {"one shape at a", "-d64/", "-d32/"}},
      {"a shape of every position", held + " --exhaustive", "", {"--exhaustive", "--shape"}},
      {"a shape and a ledger", held + " --ledger FILE", "", {"--ledger", "--shape"}},
      {"no workload of verify", "verify --out OUT --workload no", "", {"no workload matches 'no'"}},
  });
}

const std::string run_row =
    R"({"schema":1,"row":"run","version":"1","command":"x","started_at":"","margin":0.01,)"
    R"("profile":"smoke","seed":1,"environment":{}})"
    "\n";

const std::string end_row = R"({"schema":1,"row":"end","exit_code":0,"seconds":0,"finished_at":""})"
                            "\n";

TEST(BadInput, ResultsFiles) {
  const std::string report = "report FILE --out OUT";
  check({
      {"no file", "report no/where.jsonl --out OUT", "", {"no/where.jsonl"}},
      {"a folder", "report / --out OUT", "", {"/: cannot be read"}},
      {"a foreign file", report, "GIF89a\n", {"FILE:1: ", "not JSON"}},
      {"no runs", "compare", "", {"runs"}},
      {"one run, cut off", "compare FILE", run_row, {"FILE was cut off before its end"}},
      {"one run without builds", "compare FILE", run_row + end_row, {"has timed no kernel"}},
      {"a third word", "compare FILE FILE --unresolved maybe", run_row, {"--unresolved"}},
      {"no run", "compare FILE no/where.jsonl", run_row, {"no/where.jsonl"}},
      {"runs that do not say their machine", "compare FILE FILE", run_row, {"cpu_model"}},
      {"a share of words", "compare FILE FILE --max-regression some", run_row, {"some"}},
  });
}

// Memory that ends is said in one line.
TEST(BadInput, AResultsFileThatAsksForTooMuch) {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they take all addresses
  std::string lists = "{\"a\":[[]";
  while (lists.size() < 12'000'000) lists += ",[]";
  spill(scratch() / "FILE", lists + "]}\n");
  const Result r = ropewalk("report " + (scratch() / "FILE").string(), "ulimit -v 300000; ");
  EXPECT_EQ(r.code, 2);
  EXPECT_TRUE(r.err.starts_with("ropewalk: out of memory; ")) << r.err;
  EXPECT_EQ(lines_in(r.err), 1) << r.err;
#endif
}

TEST(BadInput, WhatLooksBrokenInAResultsFileAndIsRead) {
  const std::string end =
      R"({"schema":1,"row":"end","exit_code":1,"exit_code":0,"seconds":0,"finished_at":""})";
  const auto file = scratch() / "FILE", out = scratch() / "out";
  const std::string row = run_row.substr(0, run_row.size() - 1);
  const std::string contents[] = {
      run_row + end + "\n",                   // a key given twice
      row + "\r\n" + end + "\r\n",            // line ends of another system
      "\xEF\xBB\xBF" + run_row + end + "\n",  // a byte order mark
  };
  for (const std::string& content : contents) {
    std::filesystem::remove_all(out);
    spill(file, content);
    const Result r = ropewalk("report " + file.string() + " --out " + out.string());
    EXPECT_EQ(r.code, 0) << content << r.err;
    EXPECT_EQ(r.err, "");
    EXPECT_FALSE(contains(slurp(out / "report.md"), "cut off")) << content;
  }
}

TEST(BadInput, PluginsLedgersAndKnownFailures) {
  const std::string verify = "verify --out OUT --kernel plain --property norm ";
  check({
      {"no plugin", verify + "--plugin no/where.so", "", {"no/where.so"}},
      {"a plugin of text", verify + "--plugin FILE", "not an ELF file\n", {"FILE"}},
      {"a folder as plugin", verify + "--plugin /", "", {"plugin /"}},
      {"no ledger", verify + "--ledger no/where.csv", "", {"no/where.csv"}},
      {"a ledger nowhere", verify + "--write-ledger no/where/l.csv", "", {"no/where/l.csv"}},
      {"a ledger on a device", verify + "--write-ledger /dev/full", "", {"/dev/full"}},
      {"no known failures", verify + "--known-failures no/where.txt", "", {"no/where.txt"}},
      {"foreign known failures", verify + "--known-failures FILE", garbage, {"FILE:1: "}},
  });
}

TEST(BadInput, FoldersThatCannotBeWritten) {
  const std::string verify = "verify --kernel plain --property norm --cases 2 --out ";
  check({
      {"a file in the way", verify + "FILE/below", "in the way", {"FILE/below"}},
      {"a file in the way of run", "run --out FILE/below", "in the way", {"FILE/below"}},
      {"a file in its place", verify + "FILE", "in the way", {"FILE"}},
      {"a device", verify + "/dev/full", "", {"/dev/full"}},
      {"a folder of the kernel", verify + "/proc/ropewalk", "", {"/proc/ropewalk"}},
  });
}

TEST(BadInput, ExhaustiveAndMerge) {
  const std::string run = "verify --exhaustive --kernel phase --out OUT ",
                    range = run + "--positions 0:65535 ";
  for (const std::string some :
       {"5", "9:3", "0:2147483648", "a:b", "0:1x", ":7", "0:99999999999999999999"})
    check({{"positions", run + "--positions " + some, "", {"--positions", some}}});
  for (const std::string shard : {"0/4", "5/4", "x/y", "1", "1/0", "1/65537", "1/40"})
    check({{"shard", range + "--shard " + shard, "", {"--shard " + shard}}});
  check({
      {"positions alone", "verify --positions 0:9", "", {"--positions"}},
      {"a shard alone", "verify --shard 1/2", "", {"--shard"}},
      {"a property", range + "--property norm", "", {"--property", "--exhaustive"}},
      {"f64", range + "--dtype f64", "", {"--dtype f64 cannot be combined with --exhaustive"}},
      {"a replay of f64",
       "replay 'kernel=phase property=exhaustive contract=exact dtype=f64'",
       "",
       {"property=exhaustive takes no dtype=f64"}},
      {"cases", range + "--cases 5", "", {"--cases"}},
      {"an odd rotary_dim", range + "--rotary-dim 7", "", {"--rotary-dim"}},
      {"a base below 1", range + "--rope-theta 0.5", "", {"--rope-theta"}},
      {"a base of nan", range + "--rope-theta nan", "", {"--rope-theta"}},
      {"no kernel", "verify --exhaustive --out OUT --kernel nobody", "", {"nobody"}},
      {"a replay of something else",
       "replay 'kernel=phase contract=exact property=exhaustive positions=7'",
       "",
       {"exhaustive"}},
      {"merge of nothing", "merge --out OUT", "", {"files", "--missing"}},
      {"merge of two", "merge FILE --missing OUT --out OUT", "x", {"--missing"}},
      {"missing from nowhere", "merge --missing no/where --out OUT", "", {"no/where"}},
      {"merge to nowhere", "merge FILE", "x", {"--out"}},
      {"merge of no file", "merge no/where.jsonl --out OUT", "", {"no/where.jsonl"}},
      {"merge of a foreign file", "merge FILE --out OUT", "<html>\n", {"FILE:1: "}},
      {"merge without certificates", "merge FILE --out OUT", run_row, {"FILE", "no certificate"}},
  });
}

}  // namespace
