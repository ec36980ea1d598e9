#include "benchmarks/workloads.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "benchmarks/traffic.h"

namespace ropewalk {
namespace {

const std::string entry = R"([[workload]]
name = "toy/one"
model = "Toy"
source = "this test"
phase = "decode"
pairing = "interleaved"
dtype = "f64"
placement = "out_of_place"
q_heads = 4
k_heads = 2
head_dim = 16
rotary_dim = 8
rope_theta = 10000
batch = 3
tokens = 5
positions = "consecutive"
profiles = ["smoke", "full"]
)";

/// The entry with the line that begins with `key` replaced.
std::string with(const std::string& key, const std::string& line) {
  std::string text = entry;
  const auto at = text.find("\n" + key + " =") + 1;
  text.replace(at, text.find('\n', at) - at, line);
  return text;
}

std::string message_of(const std::string& text) {
  try {
    parse_workloads(text, "toy.toml");
  } catch (const WorkloadError& error) {
    return error.what();
  }
  return "accepted";
}

void expect_refused(const std::string& text, const std::string& start, const std::string& part) {
  const std::string message = message_of(text);
  EXPECT_EQ(message.rfind(start, 0), 0u) << message;
  EXPECT_NE(message.find(part), std::string::npos) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
}

TEST(Workloads, ReadsEveryField) {
  const auto all = parse_workloads(entry, "toy.toml");
  ASSERT_EQ(all.size(), 1u);
  const Workload& w = all[0];
  EXPECT_EQ(w.name, "toy/one");
  EXPECT_EQ(w.model, "Toy");
  EXPECT_EQ(w.source, "this test");
  EXPECT_EQ(w.phase, "decode");
  EXPECT_EQ(w.pairing, ROPE_INTERLEAVED);
  EXPECT_EQ(w.dtype, ROPE_F64);
  EXPECT_FALSE(w.in_place);
  EXPECT_FALSE(w.scattered);
  EXPECT_EQ(w.q_heads, 4);
  EXPECT_EQ(w.k_heads, 2);
  EXPECT_EQ(w.head_dim, 16);
  EXPECT_EQ(w.rotary_dim, 8);
  EXPECT_EQ(w.rope_theta, 10000.0);
  EXPECT_EQ(w.batch, 3);
  EXPECT_EQ(w.tokens, 5);
  EXPECT_TRUE(in_profile(w, "smoke"));
  EXPECT_FALSE(in_profile(w, "standard"));
  EXPECT_EQ(board_of(w, "table"), "interleaved / f64 / out of place / table");
}

TEST(Workloads, WrongTypesAndWordsNameTheirLine) {
  expect_refused(with("q_heads", "q_heads = \"four\""), "toy.toml:9: ", "must be an integer");
  expect_refused(with("q_heads", "q_heads = 4.0"), "toy.toml:9: ", "must be an integer");
  expect_refused(with("model", "model = 7"), "toy.toml:3: ", "must be a string");
  expect_refused(with("source", "source = \"\""), "toy.toml:4: ", "must not be empty");
  expect_refused(with("rope_theta", "rope_theta = true"), "toy.toml:13: ", "must be a number");
  expect_refused(with("phase", "phase = \"warp\""), "toy.toml:5: ", "'warp'; allowed: decode");
  expect_refused(with("pairing", "pairing = \"neox\""), "toy.toml:6: ", "half_split");
  expect_refused(with("dtype", "dtype = \"bf16\""), "toy.toml:7: ", "f32, f64");
  expect_refused(with("placement", "placement = \"here\""), "toy.toml:8: ", "in_place");
  expect_refused(with("positions", "positions = \"any\""), "toy.toml:16: ", "scattered");
  expect_refused(with("profiles", "profiles = \"smoke\""), "toy.toml:17: ", "must be a list");
  expect_refused(with("profiles", "profiles = []"), "toy.toml:17: ", "must be a list");
  expect_refused(with("profiles", "profiles = [\"fast\"]"), "toy.toml:17: ", "may hold only");
  expect_refused(with("profiles", "profiles = [\"full\", \"full\"]"), "toy.toml:17: ", "twice");
}

TEST(Workloads, ImpossibleShapesNameTheirLine) {
  expect_refused(with("rotary_dim", "rotary_dim = 7"), "toy.toml:12: ", "must be even");
  expect_refused(with("rotary_dim", "rotary_dim = 32"), "toy.toml:12: ", "exceeds head_dim 16");
  expect_refused(with("tokens", "tokens = 0"), "toy.toml:15: ", "at least 1");
  expect_refused(with("k_heads", "k_heads = -2"), "toy.toml:10: ", "at least 1");
  expect_refused(with("rope_theta", "rope_theta = 0.5"), "toy.toml:13: ", "at least 1");
  expect_refused(with("rope_theta", "rope_theta = nan"), "toy.toml:13: ", "finite");
  expect_refused(with("tokens", "tokens = 4294967296"), "toy.toml:15: ", "2^31");
  expect_refused(with("batch", "batch = 9223372036854775807"), "toy.toml:14: ", "overflows");
  expect_refused(with("batch", "batch = 100000000"), "toy.toml:14: ", "64 GiB");
}

TEST(Workloads, NamesKeysAndSyntax) {
  expect_refused(with("name", "name = \"Toy One\""), "toy.toml:2: ", "a name is");
  expect_refused(with("tokens", "token = 5"), "toy.toml:15: ", "unknown key 'token'");
  expect_refused(with("tokens", ""), "toy.toml:1: ", "'tokens' is missing");
  expect_refused(entry + entry, "toy.toml:19: workload 'toy/one'", "taken since line 1");
  expect_refused("speed = 1\n" + entry, "toy.toml:1: ", "'speed' is not known");
  expect_refused("workload = 3\n", "toy.toml:1: ", "only [[workload]]");
  expect_refused("", "toy.toml:1: ", "no [[workload]]");
  expect_refused(with("tokens", "tokens = = 5"), "toy.toml:15: ", "");
  expect_refused(with("source", "source = \"a\\nb\""), "toy.toml:4: ", "control character");
  expect_refused(with("tokens", "\"to\\nken\" = 5"), "toy.toml:15: ", "unknown key 'to?ken'");
}

TEST(Workloads, UnreadableAndHugeFiles) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / ("ropewalk_" + std::to_string(getpid()));
  fs::create_directory(folder);
  EXPECT_THROW(load_workloads(folder / "absent.toml"), WorkloadError);
  EXPECT_THROW(load_workloads(folder), WorkloadError);
  EXPECT_THROW(load_workloads("/dev/zero"), WorkloadError);
  std::ofstream(folder / "good.toml") << entry;
  EXPECT_EQ(load_workloads(folder / "good.toml").size(), 1u);
  std::ofstream(folder / "huge.toml") << entry << '#' << std::string(1 << 20, 'x');
  EXPECT_THROW(load_workloads(folder / "huge.toml"), WorkloadError);
  std::ofstream(folder / "foreign.toml") << std::string(
      "\x7f"
      "ELF\0\xff\xfe",
      7);
  EXPECT_THROW(load_workloads(folder / "foreign.toml"), WorkloadError);
  fs::remove_all(folder);
}

TEST(Workloads, TheShippedOnesAreGoodAndBuiltIn) {
  const auto shipped = load_workloads(WORKLOADS_TOML);
  const auto built_in = load_default_workloads();
  ASSERT_EQ(shipped.size(), built_in.size());
  std::set<std::string> phases;
  for (std::size_t i = 0; i < shipped.size(); ++i) {
    EXPECT_EQ(shipped[i].name, built_in[i].name);
    EXPECT_NE(shipped[i].source.find("config.json"), std::string::npos) << shipped[i].name;
    EXPECT_TRUE(in_profile(shipped[i], "full")) << shipped[i].name;
    phases.insert(shipped[i].phase);
  }
  EXPECT_EQ(phases, (std::set<std::string>{"decode", "prefill", "working_set"}));
}

TEST(Workloads, ProblemIsContiguousAndComplete) {
  const Workload w = parse_workloads(entry, "toy.toml")[0];
  const std::vector<double> inv_freq(4, 1.0);
  const rope_problem p = make_problem(w, inv_freq, ROPE_ANGLES_TABLE, ROPE_TRANSPOSE);
  EXPECT_EQ(p.struct_size, sizeof(rope_problem));
  EXPECT_EQ(p.operation, ROPE_TRANSPOSE);
  EXPECT_EQ(p.tensor_count, 2u);
  EXPECT_EQ(p.max_position, 4);
  EXPECT_EQ(p.table_rows, 5);
  EXPECT_EQ(p.table_row_stride, 4);
  EXPECT_EQ(p.table_dtype, ROPE_F64);
  EXPECT_EQ(p.tensor[0].in_token_stride, 64);
  EXPECT_EQ(p.tensor[0].out_batch_stride, 320);
  EXPECT_EQ(p.tensor[1].in_batch_stride, 160);
  EXPECT_EQ(p.tensor[1].in_place, 0);
  EXPECT_EQ(make_problem(w, inv_freq, ROPE_ANGLES_INV_FREQ, ROPE_FORWARD).table_rows, 0);
  Workload scattered = w;
  scattered.scattered = true;
  EXPECT_EQ(make_problem(scattered, inv_freq, ROPE_ANGLES_TABLE, ROPE_FORWARD).table_rows, 8192);
}

}  // namespace
}  // namespace ropewalk
