#include "benchmarks/workloads/workloads.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>

#include "base/testing/refusal.h"
#include "benchmarks/testing/toys.h"
#include "benchmarks/workloads/model_shape.h"
#include "benchmarks/workloads/traffic.h"
#include "benchmarks/workloads/workload_layout.h"

namespace ropewalk::bench {
namespace {

const std::string entry = R"([[workload]]
name = "toy/one"
model = "Toy"
source = "this test"
phase = "decode"
shape = "q=4,k=2,d=16,rd=8,pairing=interleaved,dtype=f64,in_place=no"
batch = 3
tokens = 5
positions = "consecutive"
profiles = ["smoke", "full"]
)";

/// The workload text with one line replaced: the line that begins with `key`.
std::string with(const std::string& key, const std::string& line) {
  std::string text = entry;
  const auto at = text.find("\n" + key + " =") + 1;
  text.replace(at, text.find('\n', at) - at, line);
  return text;
}

void expect_refused(const std::string& text, const std::string& start, const std::string& part) {
  const std::string message = refusal_by<BadFile>([&] { parse_workloads(text, "toy.toml"); });
  EXPECT_EQ(message.rfind(start, 0), 0u) << message;
  EXPECT_NE(message.find(part), std::string::npos) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
}

TEST(Workloads, ReadsEveryField) {
  const auto all = parse_workloads(entry, "toy.toml");
  ASSERT_EQ(all.size(), 1u);
  const Workload& w = all[0];
  EXPECT_EQ(std::tie(w.name, w.model, w.source), std::tuple("toy/one", "Toy", "this test"));
  EXPECT_EQ(w.phase, report::WorkloadPhase::decode);
  EXPECT_TRUE(w.pairing == Pairing::interleaved && w.dtype == Dtype::f64);
  EXPECT_TRUE(!is_in_place(w) && !w.scattered);
  EXPECT_TRUE(has_heads(w.tensors[0], 4, 16, 0) && has_heads(w.tensors[1], 2, 16, 0));
  EXPECT_EQ(std::tuple(w.rotary_dim, w.rope_theta, w.batch, w.tokens), std::tuple(8, 1e4, 3, 5));
  EXPECT_TRUE(in_profile(w, "smoke") && !in_profile(w, "standard"));
  EXPECT_EQ(board_of(w, "table"), "interleaved / f64 / out of place / table");
}

TEST(Workloads, WrongTypesAndWordsNameTheirLine) {
  expect_refused(with("tokens", "tokens = \"four\""), "toy.toml:8: ", "must be an integer");
  expect_refused(with("tokens", "tokens = 4.0"), "toy.toml:8: ", "must be an integer");
  expect_refused(with("model", "model = 7"), "toy.toml:3: ", "must be a string");
  expect_refused(with("source", "source = \"\""), "toy.toml:4: ", "must not be empty");
  expect_refused(with("phase", "phase = \"warp\""), "toy.toml:5: ", "'warp'; allowed: decode");
  expect_refused(with("positions", "positions = \"any\""), "toy.toml:9: ", "scattered");
  expect_refused(with("profiles", "profiles = \"smoke\""), "toy.toml:10: ", "must be a list");
  expect_refused(with("profiles", "profiles = []"), "toy.toml:10: ", "must be a list");
  expect_refused(with("profiles", "profiles = [\"fast\"]"), "toy.toml:10: ", "may hold only");
  expect_refused(with("profiles", "profiles = [\"full\", \"full\"]"), "toy.toml:10: ", "twice");
}

TEST(Workloads, ImpossibleShapesNameTheirLine) {
  const auto shape = [](const std::string& words) {
    return with("shape", "shape = \"" + words + "\"");
  };
  const std::string line = "toy.toml:6: workload 'toy/one': ";
  expect_refused(with("shape", "shape = 7"), "toy.toml:6: ", "must be a string");
  expect_refused(with("shape", ""), "toy.toml:1: ", "key 'shape' is missing");
  expect_refused(shape("q=4"), line, "'d=' is missing");
  expect_refused(shape("q=4,d=16,wings=2"), line, "'wings' is not known");
  expect_refused(shape("q=four,d=16"), line, "q.heads=four is not an integer");
  expect_refused(shape("q=4,d=16,rd=7"), line, "must be even");
  expect_refused(shape("q=4,d=16,theta=0.5"), line, "at least 1");
  for (const std::string word : {"tokens=5", "batch=3", "positions=scattered"})
    expect_refused(shape("q=4,d=16," + word), line,
                   word.substr(0, word.find('=') + 1) + " belongs to the phase");
  expect_refused(with("tokens", "tokens = 0"), "toy.toml:8: ", "at least 1");
  expect_refused(with("batch", "batch = 100000000"), "toy.toml:7: ", "64 GiB");
}

TEST(Workloads, AShapeHasTheWordsOfACommandLine) {
  const std::string words =
      "q=4,k=2,d=16,kd=8,rd=8,qo=8,theta=500,position_dtype=i64,scale=1.5,"
      "layout=padded,in_place=no,scaling=llama3,scaling_values=8,1,4,8192";
  Workload w = parse_workloads(with("shape", "shape = \"" + words + "\""), "toy.toml")[0];
  Workload typed = parse_shape(words + ",tokens=5,batch=3,positions=consecutive")[0];
  for (Workload* each : {&w, &typed}) {
    each->name = each->model = each->source = "";
    each->phase = report::WorkloadPhase::decode;
    each->profiles.clear();
  }
  EXPECT_EQ(w, typed);
  EXPECT_EQ(w.scaling_values, (std::vector<double>{8, 1, 4, 8192}));
}

const std::string phases = R"([[phase]]
name = "one"
phase = "decode"
batch = 1
tokens = 1
positions = "scattered"
[[phase]]
name = "many"
phase = "prefill"
batch = 2
tokens = 7
positions = "consecutive"
models = ["b"]
)";
const std::string shape = R"(model = "Toy"
source = "this test"
shape = "q=4,k=2,d=16,rd=8,pairing=interleaved,dtype=f64"
)";
const std::string model_a = "[[model]]\nname = \"a\"\n" + shape;
const std::string model_b = "[[model]]\nname = \"b\"\n" + shape;

TEST(Workloads, EachModelGoesThroughItsPhases) {
  const auto all = parse_workloads(phases + model_a + "smoke = [\"one\"]\n" + model_b +
                                       "standard = [\"many\", \"one\"]\n" + entry,
                                   "toy.toml");
  ASSERT_EQ(all.size(), 4u);
  const char* names[] = {"a/one", "b/one", "b/many", "toy/one"};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(all[i].name, names[i]);
  EXPECT_TRUE(all[0].scattered);
  EXPECT_TRUE(all[2].batch == 2 && all[2].tokens == 7 && all[2].tensors[1].heads == 2);
  EXPECT_EQ(all[0].profiles, (std::vector<std::string>{"smoke", "full"}));
  EXPECT_EQ(all[1].profiles, (std::vector<std::string>{"standard", "full"}));
}

TEST(Workloads, AModelAloneGoesThroughTheBuiltInPhases) {
  const auto all = parse_workloads(model_a + "smoke = [\"decode-8\"]\n", "toy.toml");
  std::set<std::string> names;
  for (const Workload& w : all) names.insert(w.name);
  EXPECT_EQ(names,
            (std::set<std::string>{"a/decode-1", "a/decode-8", "a/decode-64", "a/prefill-128",
                                   "a/prefill-512", "a/prefill-2048", "a/prefill-8192"}));
  EXPECT_TRUE(in_profile(all[1], "smoke"));
}

TEST(Workloads, ModelsAndPhasesNameTheirLine) {
  const std::string for_a = phases + model_b + model_a;
  expect_refused(for_a + "smoke = [\"many\"]\n", "toy.toml:24: model 'a'", "only: one");
  expect_refused(phases + model_a, "toy.toml:13: phase 'many'", "models may hold only: a");
  expect_refused(phases + model_b + "token = 1\n", "toy.toml:19: model 'b'", "unknown key 'token'");
  expect_refused(phases + model_b + "tokens = 1\n", "toy.toml:19: model 'b'", "unknown key");
  expect_refused(phases + "shape = 1\n" + model_b, "toy.toml:14: phase 'many'", "unknown key");
  expect_refused(phases + model_b + model_b, "toy.toml:20: model 'b'", "taken since line 14");
  expect_refused(phases, "toy.toml:1: ", "no [[workload]] and no [[model]]");
  const auto bad = [](std::string text, const std::string& from, const std::string& to) {
    return text.replace(text.find(from), from.size(), to);
  };
  const std::string for_b = phases + model_b;
  expect_refused(bad(for_b, "tokens = 7", "tokens = 0"), "toy.toml:11: workload 'b/many'",
                 "at least 1");
  expect_refused(bad(for_b, "rd=8", "rd=9"), "toy.toml:18: workload 'b/one'", "must be even");
  expect_refused(bad(for_b, "positions = \"consecutive\"\n", ""), "toy.toml:7: workload 'b/many'",
                 "'positions' is missing");
  expect_refused(bad(model_a, "q=4", "q=99999999999"), "workloads.toml:", "workload 'a/decode-1'");
}

TEST(Workloads, NamesKeysAndSyntax) {
  expect_refused(with("name", "name = \"Toy One\""), "toy.toml:2: ", "a name is");
  expect_refused(with("tokens", "token = 5"), "toy.toml:8: ", "unknown key 'token'");
  expect_refused(with("tokens", ""), "toy.toml:1: ", "'tokens' is missing");
  expect_refused(entry + entry, "toy.toml:12: workload 'toy/one'", "taken since line 1");
  expect_refused("speed = 1\n" + entry, "toy.toml:1: ", "'speed' is not known");
  expect_refused("workload = 3\n", "toy.toml:1: ", "only [[workload]]");
  expect_refused("", "toy.toml:1: ", "no [[workload]]");
  expect_refused(with("tokens", "tokens = = 5"), "toy.toml:8: ", "");
  expect_refused(std::string("a\0b = 1", 7), "toy.toml:1: ", "");
  expect_refused("a = \"\xff\xfe\"\n", "toy.toml:1: ", "utf-8");
  expect_refused(with("source", "source = \"a\\nb\""), "toy.toml:4: ", "control character");
  expect_refused(with("tokens", "\"to\\nken\" = 5"), "toy.toml:8: ", "unknown key 'to?ken'");
}

TEST(Workloads, UnreadableAndHugeFiles) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / ("ropewalk_" + std::to_string(getpid()));
  fs::create_directory(folder);
  EXPECT_THROW(load_workloads(folder / "absent.toml"), BadFile);
  EXPECT_THROW(load_workloads(folder), BadFile);
  EXPECT_THROW(load_workloads("/dev/zero"), BadFile);
  std::ofstream(folder / "good.toml") << entry;
  EXPECT_EQ(load_workloads(folder / "good.toml").size(), 1u);
  std::ofstream(folder / "huge.toml") << entry << '#' << std::string(1 << 20, 'x');
  EXPECT_THROW(load_workloads(folder / "huge.toml"), BadFile);
  std::ofstream(folder / "foreign.toml") << std::string("\177ELF\0\xff\xfe", 7);
  EXPECT_THROW(load_workloads(folder / "foreign.toml"), BadFile);
  fs::remove_all(folder);
}

TEST(Workloads, TheShippedOnesAreGoodAndBuiltIn) {
  const auto shipped = load_workloads(ROPEWALK_SOURCE_DIR "/benchmarks/workloads/workloads.toml");
  const auto built_in = load_default_workloads();
  ASSERT_EQ(shipped.size(), built_in.size());
  std::set<report::WorkloadPhase> kinds;
  std::set<std::string> models;
  std::map<std::string, std::set<std::string>> named;
  for (std::size_t i = 0; i < shipped.size(); ++i) {
    EXPECT_EQ(shipped[i].name, built_in[i].name);
    EXPECT_NE(shipped[i].source.find("config.json"), std::string::npos) << shipped[i].name;
    EXPECT_TRUE(in_profile(shipped[i], "full")) << shipped[i].name;
    kinds.insert(shipped[i].phase);
    models.insert(shipped[i].model);
    for (const char* profile : {"smoke", "standard"})
      if (in_profile(shipped[i], profile)) named[profile].insert(shipped[i].name);
  }
  EXPECT_EQ(kinds, (std::set{report::WorkloadPhase::decode, report::WorkloadPhase::prefill,
                             report::WorkloadPhase::working_set}));
  EXPECT_EQ(models.size(), 12u);
  EXPECT_EQ(shipped.size(), 18u * 7 + 6 + 3);
  EXPECT_EQ(named["smoke"],
            (std::set<std::string>{"llama-3-8b/decode-1", "llama-3-8b/prefill-512",
                                   "llama-3-8b-bf16/decode-1", "llama-3-8b-bf16/prefill-512"}));
  EXPECT_EQ(named["standard"].size(), 30u);  // two groups each, so at most 60
  const auto qwen =
      std::ranges::find(shipped, "qwen3-8b-norm-append-bf16/decode-64", &Workload::name);
  ASSERT_NE(qwen, shipped.end());
  EXPECT_TRUE(has_norm(*qwen) && has_append(*qwen) && qwen->tensors.size() == 3);
  const auto deepseek = std::ranges::find(shipped, "deepseek-v3/prefill-128", &Workload::name);
  ASSERT_NE(deepseek, shipped.end());
  EXPECT_TRUE(has_heads(deepseek->tensors[0], 128, 192, 128));
  EXPECT_TRUE(has_heads(deepseek->tensors[1], 1, 64, 0) && deepseek->rotary_dim == 64);
}

TEST(Workloads, TheSweepReachesMemory) {
  std::int64_t largest = 0;
  for (const Workload& w : load_default_workloads())
    if (w.phase == report::WorkloadPhase::working_set)
      largest = std::max(largest, working_set_bytes(w, false));
  EXPECT_GE(largest, std::int64_t{512} << 20);
}

TEST(Workloads, ProblemIsContiguousAndComplete) {
  const Workload w = parse_workloads(entry, "toy.toml")[0];
  const std::vector<double> inv_freq(4, 1.0);
  const rope_problem p = make_problem(w, inv_freq, ROPE_ANGLES_TABLE, Operation::transpose);
  EXPECT_EQ(std::tuple(p.struct_size, p.operation, p.tensor_count),
            std::tuple(sizeof(rope_problem), ROPE_TRANSPOSE, 2u));
  EXPECT_EQ(p.max_position, 4 + 4095);
  EXPECT_EQ(std::tuple(p.table_rows, p.table_row_stride, p.table_dtype),
            std::tuple(5 + 4095, 4, ROPE_F64));
  EXPECT_EQ(std::tuple(p.tensor[0].in_token_stride, p.tensor[0].out_batch_stride),
            std::tuple(64, 320));
  EXPECT_EQ(std::tuple(p.tensor[1].in_batch_stride, p.tensor[1].in_place), std::tuple(160, 0));
  EXPECT_EQ(make_problem(w, inv_freq, ROPE_ANGLES_INV_FREQ, Operation::forward).table_rows, 0);
  Workload scattered = w;
  scattered.scattered = true;
  EXPECT_EQ(make_problem(scattered, inv_freq, ROPE_ANGLES_TABLE, Operation::forward).table_rows,
            8192 + 4095);
}

}  // namespace
}  // namespace ropewalk::bench
