// Rows that this program's boards never send. Each is refused in words, and nothing of it is taken.
#include "tools/launches/board_rows.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "benchmarks/engine/cells.h"

namespace ropewalk::tools {
using namespace bench;
using namespace harness;
using namespace report;
namespace {

constexpr double long_s = 1000;  // seconds that the board has run

struct AskedBoard {
  BoardRequest request;
  std::vector<Workload> workloads;
  std::vector<KernelFacts> kernels;
  std::vector<TimingRow> taken;

  AskedBoard() {
    for (const char* name : {"toy/a", "toy/b"}) {
      Workload w;
      w.name = name;
      w.source = "this test";
      w.phase = WorkloadPhase::decode;
      w.tensors = {{{2, 16}, {1, 16}}};
      w.rotary_dim = 16;
      w.tokens = 4;
      workloads.push_back(w);
    }
    for (const char* name : {"plain", "mine"}) {
      KernelFacts facts;
      facts.name = name;
      facts.summary = "of the list";
      facts.angle_contract = ROPE_CONTRACT_TABLE;
      kernels.push_back(facts);
      request.contestants[name] = "";
    }
    request.rounds = 6;
    request.launch = 2;
  }
  BoardRows rows() {
    return {{request, workloads, kernels}, [&](TimingRow row) { taken.push_back(std::move(row)); }};
  }
};

void fill(TimingRow& row) {
  row.outcome = Outcome::measured;
  row.launch = 2;
  row.ns_per_token.assign(6, 100);
  row.iterations.assign(6, 11);
}

TimingRow kernel_row(const AskedBoard& board, const std::string& kernel, Role role) {
  TimingRow row = known_row(board.workloads[0], true);
  row.kernel = kernel;
  row.role = role;
  fill(row);
  return row;
}

/// A valid group, which each test spoils in one way.
std::vector<TimingRow> group(const AskedBoard& board) {
  TimingRow ceiling = known_ceiling_row(board.workloads[0], "plain loop", false);
  ceiling.board = board_of(board.workloads[0], "table");
  fill(ceiling);
  return {kernel_row(board, "plain", Role::baseline),
          kernel_row(board, "plain" + std::string(twin_suffix), Role::null_twin),
          kernel_row(board, "mine", Role::kernel), ceiling};
}

std::string take_all(AskedBoard& board, const std::vector<TimingRow>& sent,
                     double wall_s = long_s) {
  BoardRows rows = board.rows();
  for (const TimingRow& row : sent)
    if (std::string wrong = rows.take(to_json_line(row), wall_s); !wrong.empty()) return wrong;
  return rows.finish();
}

TEST(BoardRows, ARightGroupIsTakenWithWhatTheParentKnows) {
  AskedBoard board;
  auto sent = group(board);
  for (TimingRow& row : sent) {
    row.summary = "a lie";
    row.source = "a lie";
    row.bytes = row.tokens = row.working_set_bytes = row.table_bytes = 1;
    row.ns_per_token_median = row.gb_per_s_median = 1e9;
    row.processors = "a lie";
    row.reason = "a lie";
  }
  EXPECT_EQ(take_all(board, sent), "");
  ASSERT_EQ(board.taken.size(), 4u);
  for (const TimingRow& row : board.taken) {
    EXPECT_EQ(row.source, "this test");
    EXPECT_EQ(row.tokens, 4);
    EXPECT_EQ(row.ns_per_token_median, 100);
    EXPECT_EQ(row.gb_per_s_median, static_cast<double>(row.bytes) / 400);
    EXPECT_NE(row.summary, "a lie");
    EXPECT_EQ(row.processors + row.reason, "");
  }
  EXPECT_EQ(board.taken[2].summary, "of the list");
}

struct Spoilt {
  const char* name;
  std::function<void(std::vector<TimingRow>&)> spoil;
};

TEST(BoardRows, EveryLieIsRefused) {
  const double inf = std::numeric_limits<double>::infinity();
  using Rows = std::vector<TimingRow>;
  const Spoilt lies[] = {
      {"workload", [](Rows& r) { r[2].workload = "invented"; }},
      {"kernel", [](Rows& r) { r[2].kernel = "invented"; }},
      {"a twin's name", [](Rows& r) { r[2].kernel += twin_suffix; }},
      {"board", [](Rows& r) { r[2].board = "half_split / f32 / in place / computed"; }},
      {"engine", [](Rows& r) { r[2].engine = Engine::gbench; }},
      {"launch", [](Rows& r) { r[2].launch = 1; }},
      {"threads", [](Rows& r) { r[2].threads = 2; }},
      {"no threads", [](Rows& r) { r[2].threads = 0; }},
      {"outcome", [](Rows& r) { r[2].outcome = Outcome::faster; }},
      {"a second baseline", [](Rows& r) { r[2].role = Role::baseline; }},
      {"another baseline", [](Rows& r) { std::swap(r[0].kernel, r[2].kernel); }},
      {"no twin", [](Rows& r) { r.erase(r.begin() + 1); }},
      {"no ceiling", [](Rows& r) { r.pop_back(); }},
      {"twice", [](Rows& r) { r.insert(r.begin() + 2, r[2]); }},
      {"after its group", [](Rows& r) { r.push_back(r[2]); }},
      {"the group again", [](Rows& r) { r.insert(r.end(), r.begin(), r.begin() + 4); }},
      {"a false ceiling", [](Rows& r) { r[3].variant = "warp drive"; }},
      {"a ceiling of copies", [](Rows& r) { r[3].kernel = "ceiling_copy"; }},
      {"broken with numbers", [](Rows& r) { r[2].outcome = Outcome::broken; }},
      {"no rounds", [](Rows& r) { r[2].ns_per_token.clear(), r[2].iterations.clear(); }},
      {"few rounds", [](Rows& r) { r[2].ns_per_token.pop_back(), r[2].iterations.pop_back(); }},
      {"other rounds",
       [](Rows& r) { r[2].ns_per_token.push_back(9), r[2].iterations.push_back(11); }},
      {"many rounds",
       [](Rows& r) { r[2].ns_per_token.resize(999, 9), r[2].iterations.resize(999, 11); }},
      {"counts missing", [](Rows& r) { r[2].iterations.pop_back(); }},
      {"other counts", [](Rows& r) { r[2].iterations[3] = 12; }},
      {"no calls", [](Rows& r) { r[2].iterations.assign(6, 0); }},
      {"negative calls", [](Rows& r) { r[2].iterations.assign(6, -11); }},
      {"no time", [](Rows& r) { r[2].ns_per_token[1] = 0; }},
      {"negative time", [](Rows& r) { r[2].ns_per_token[1] = -100; }},
      {"infinite time", [=](Rows& r) { r[2].ns_per_token[1] = inf; }},
      {"time that is none", [=](Rows& r) { r[2].ns_per_token[1] = inf - inf; }},
      {"faster than light", [](Rows& r) { r[2].ns_per_token[1] = 0.01; }},
      {"longer than the board ran", [](Rows& r) { r[2].ns_per_token[1] = 1e12; }},
      {"workspace", [](Rows& r) { r[2].workspace_bytes = -1; }},
      {"large workspace", [](Rows& r) { r[2].workspace_bytes = std::int64_t{1} << 40; }},
      {"switches", [](Rows& r) { r[2].involuntary_switches = -1; }},
      {"faults", [](Rows& r) { r[2].page_faults = -1; }},
      {"judged", [](Rows& r) { r[2].reverified = 7; }},
      {"stolen", [=](Rows& r) { r[2].steal_ms = inf; }},
      {"spin", [=](Rows& r) { r[2].spin_ns_after = -1; }},
      {"off CPU", [](Rows& r) { r[2].off_cpu_share = 1.5; }},
  };
  for (const Spoilt& lie : lies) {
    AskedBoard board;
    auto sent = group(board);
    lie.spoil(sent);
    EXPECT_NE(take_all(board, sent), "") << lie.name;
    EXPECT_TRUE(board.taken.empty() || board.taken.size() == 4) << lie.name;
  }
}

TEST(BoardRows, TheTimesOfAllRowsTogetherAreNoLongerThanTheBoardRan) {
  AskedBoard board;
  // Four rows of 6 x 11 calls of 4 tokens, 100 ns each.
  const double all_s = 4 * 6 * 11 * 4 * 100e-9;
  EXPECT_EQ(take_all(board, group(board), all_s * 1.0001), "");
  EXPECT_EQ(take_all(board, group(board), all_s * 0.999),
            "sent a row of calls that took longer than its process ran");
}

TEST(BoardRows, WhatIsNoRowIsTold) {
  AskedBoard board;
  BoardRows rows = board.rows();
  for (const std::string& text : {std::string(40, '['), std::string("{}"), std::string(),
                                  std::string("\x1b[2J"), to_json_line(EndRow{})}) {
    const std::string wrong = rows.take(text, long_s);
    EXPECT_TRUE(wrong.starts_with("sent a row that cannot be read: ")) << wrong;
    EXPECT_EQ(wrong.find('\x1b'), std::string::npos);
  }
}

TEST(BoardRows, AReasonIsNeverEmptyAndNeverSteers) {
  for (const auto& [told, shown] :
       {std::pair{"", "no reason was given"}, {"a\nb\x1b[2J", "a\\nb\\x1b[2J"}}) {
    AskedBoard board;
    auto sent = group(board);
    sent[2].outcome = Outcome::broken;
    sent[2].reason = told;
    sent[2].ns_per_token.clear();
    sent[2].iterations.clear();
    EXPECT_EQ(take_all(board, sent), "");
    ASSERT_EQ(board.taken.size(), 4u);
    EXPECT_EQ(board.taken[2].reason, shown);
  }
}

TEST(BoardRows, WhoIsBrokenOrUnverifiedHasNoSpeed) {
  AskedBoard broken;
  broken.request.contestants["mine"] = "it failed norm";
  EXPECT_NE(take_all(broken, group(broken)), "");
  AskedBoard unverified;
  unverified.request.unverified.insert({"mine", "toy/a"});
  EXPECT_NE(take_all(unverified, group(unverified)), "");
  AskedBoard done;
  done.request.done.insert("toy/a|half_split / f32 / in place / table|1");
  EXPECT_NE(take_all(done, group(done)), "");
}

TEST(BoardRows, CeilingsAreOfTheProcessThatPicksThem) {
  AskedBoard board;
  board.request.ceilings_only = true;
  TimingRow row = known_ceiling_row(board.workloads[0], "4 streams", false);
  fill(row);
  EXPECT_EQ(take_all(board, {row}), "");
  EXPECT_NE(take_all(board, {row, row}), "");
  EXPECT_NE(take_all(board, {group(board)[2]}), "");
}

TEST(BoardRows, OfGoogleBenchmarkARowIsACell) {
  AskedBoard board;
  board.request.engine = Engine::gbench;
  board.request.benchmark_args = {"--benchmark_repetitions=6"};
  TimingRow row = group(board)[2];
  row.engine = Engine::gbench;
  row.launch = 0;
  EXPECT_EQ(take_all(board, {row}), "");
  EXPECT_NE(take_all(board, {row, row}), "");
  row.iterations[2] = 500;  // the library's own choice
  EXPECT_EQ(take_all(board, {row}), "");
  row.ns_per_token.push_back(100);
  row.iterations.push_back(1);
  EXPECT_NE(take_all(board, {row}), "");
}

}  // namespace
}  // namespace ropewalk::tools
