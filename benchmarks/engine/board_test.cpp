// Toy kernels on the board. The tests check which kernels get a number, not how fast they are.
#include "benchmarks/engine/board.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "benchmarks/testing/toys.h"

namespace ropewalk::bench {
using namespace report;
namespace {

int live_states = 0, applied = 0, applied_transposed = 0;

std::int32_t supports_f32(const rope_problem* p, const char**) {
  return p->tensor[0].in_dtype == ROPE_F32 ? ROPE_OK : ROPE_UNSUPPORTED;
}
std::int32_t supports_forward(const rope_problem* p, const char** reason) {
  return p->operation == ROPE_FORWARD ? supports_f32(p, reason) : ROPE_UNSUPPORTED;
}
std::int32_t supports_nothing(const rope_problem*, const char** reason) {
  *reason = "a toy";
  return ROPE_UNSUPPORTED;
}
std::int32_t prepare(const rope_problem*, void** state) {
  *state = &live_states;
  ++live_states;
  return ROPE_OK;
}
std::int32_t prepare_failing(const rope_problem*, void**) {
  return ROPE_FAILED;
}
void release(void*) {
  --live_states;
}
std::size_t workspace_bytes(const rope_problem*) {
  return 100;
}
std::size_t workspace_bytes_huge(const rope_problem*) {
  return std::size_t{1} << 40;
}

std::int32_t apply(const rope_problem* p, const rope_operands* o, void* state) {
  ++applied;
  if (p->operation == ROPE_TRANSPOSE) ++applied_transposed;
  if (state != &live_states || o->workspace == nullptr) return ROPE_FAILED;
  return rotate_toy(p, o, p->tokens);
}

// Answers well for a dozen calls, then fails. A repetition has at least three calls.
std::int32_t apply_tiring(const rope_problem* p, const rope_operands* o, void*) {
  static int calls = 0;
  return ++calls < 12 ? rotate_toy(p, o, p->tokens) : ROPE_FAILED;
}
// Is right for seven calls, then does nothing.
std::int32_t apply_lazy(const rope_problem* p, const rope_operands* o, void*) {
  static int calls = 0;
  return ++calls < 8 ? rotate_toy(p, o, p->tokens) : ROPE_OK;
}

rope_kernel toy(const char* name) {
  rope_kernel kernel = toy_kernel(name);
  kernel.supports = supports_f32;
  kernel.workspace_bytes = workspace_bytes;
  kernel.prepare = prepare;
  kernel.apply = apply;
  kernel.release = release;
  return kernel;
}

Workload toy_workload(const std::string& name) {
  Workload w = small_workload(name);
  set_heads(w, {2, 16}, {1, 16});
  return w;
}

struct BoardOutcome {
  int status = -1;
  std::map<std::string, TimingRow> rows;
  std::multiset<std::string> ran;
};

/// Runs a board with tiny repetitions. The flags are passed every time, because the library keeps
/// them.
BoardOutcome run(std::vector<Contestant> contestants, std::vector<std::string> more_args = {},
                 std::vector<Workload> workloads = {toy_workload("toy/a")}) {
  BoardOutcome outcome;
  BoardPlan plan;
  plan.workloads = std::move(workloads);
  plan.contestants = std::move(contestants);
  plan.quick = true;
  plan.benchmark_args = {"--benchmark_min_time=0.0001", "--benchmark_repetitions=3",
                         "--benchmark_filter=all"};
  plan.benchmark_args.insert(plan.benchmark_args.end(), more_args.begin(), more_args.end());
  plan.on_row = [&](const TimingRow& row) {
    EXPECT_TRUE(outcome.rows.emplace(row.kernel + "|" + row.workload, row).second);
  };
  plan.now_running = [&](const std::string& label) { outcome.ran.insert(label); };
  outcome.status = run_board(plan);
  return outcome;
}

void expect_no_numbers(const TimingRow& row) {
  EXPECT_TRUE(row.ns_per_token.empty());
  EXPECT_TRUE(row.iterations.empty());
  EXPECT_EQ(row.ns_per_token_median, 0);
  EXPECT_EQ(row.gb_per_s_median, 0);
}

TEST(Board, AVerifiedKernelAndItsCeilingAreMeasured) {
  const rope_kernel good = toy("good");
  applied = applied_transposed = 0;
  const BoardOutcome outcome = run({{&good, "good", "a toy", ""}});
  EXPECT_EQ(outcome.status, 0);
  ASSERT_EQ(outcome.rows.size(), 2u);
  const TimingRow& row = outcome.rows.at("good|toy/a");
  EXPECT_EQ(row.outcome, Outcome::measured);
  EXPECT_EQ(row.summary, "a toy");
  EXPECT_EQ(row.source, "this test");
  EXPECT_EQ(row.board, "half_split / f32 / in place / table");
  EXPECT_EQ(row.tokens, 6);
  EXPECT_EQ(row.bytes, 6 * (2 * 3 * 8 * 4 + 8 * 4 + 4));
  EXPECT_EQ(row.ns_per_token.size(), 3u);
  EXPECT_EQ(row.iterations.size(), 3u);
  EXPECT_GT(row.ns_per_token_median, 0);
  EXPECT_GT(row.gb_per_s_median, 0);
  EXPECT_FALSE(row.is_ceiling());
  const TimingRow& ceiling = outcome.rows.at("ceiling_update|toy/a");
  EXPECT_TRUE(ceiling.is_ceiling());
  EXPECT_EQ(ceiling.board, "half_split / f32 / in place");
  EXPECT_EQ(ceiling.bytes, 6 * 2 * 3 * 8 * 4);
  EXPECT_NE(ceiling.summary.find("the best of"), std::string::npos) << ceiling.summary;
  EXPECT_EQ(ceiling.ns_per_token.size(), 3u);
  const auto repetitions = static_cast<int>(outcome.ran.count("good|toy/a"));
  EXPECT_GE(repetitions, 3);
  EXPECT_GE(outcome.ran.count(""), 1u);
  EXPECT_EQ(live_states, 0);
  // Forward and back alternate, forward first. Their counts differ by at most one in the timed
  // calls of a repetition, and by at most one in the calls that judge it afterwards.
  EXPECT_GT(applied, 3);
  EXPECT_GT(applied_transposed, 0);
  EXPECT_GE(applied, 2 * applied_transposed);
  EXPECT_LE(applied - 2 * applied_transposed, 2 * repetitions);
}

TEST(Board, OutOfPlaceAndForwardOnlyNeverTurnBack) {
  rope_kernel forward = toy("forward");
  forward.supports = supports_forward;
  Workload out_of_place = toy_workload("toy/out");
  set_in_place(out_of_place, false);
  applied_transposed = 0;
  const BoardOutcome outcome =
      run({{&forward, "forward", "", ""}}, {}, {toy_workload("toy/a"), out_of_place});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.rows.at("forward|toy/a").outcome, Outcome::measured);
  EXPECT_EQ(outcome.rows.at("forward|toy/out").board, "half_split / f32 / out of place / table");
  EXPECT_EQ(outcome.rows.count("ceiling_copy|toy/out"), 1u);
  EXPECT_EQ(outcome.rows.count("ceiling_update|toy/out"), 0u);
  EXPECT_EQ(applied_transposed, 0);
  EXPECT_EQ(live_states, 0);
}

TEST(Board, ABrokenContestantHasNoNumbersAndIsNotCalled) {
  const rope_kernel bad = toy("bad");
  applied = 0;
  const BoardOutcome outcome = run({{&bad, "bad", "", "oracle: margin 3.1"}});
  EXPECT_EQ(outcome.status, 0);
  const TimingRow& row = outcome.rows.at("bad|toy/a");
  EXPECT_EQ(row.outcome, Outcome::broken);
  EXPECT_EQ(row.reason, "oracle: margin 3.1");
  expect_no_numbers(row);
  EXPECT_EQ(applied, 0);
}

TEST(Board, FailuresWhileTimedHaveNoNumbersEither) {
  rope_kernel tiring = toy("tiring"), unprepared = toy("unprepared"), greedy = toy("greedy"),
              lazy = toy("lazy");
  tiring.apply = apply_tiring;
  lazy.apply = apply_lazy;
  unprepared.prepare = prepare_failing;
  greedy.workspace_bytes = workspace_bytes_huge;
  const BoardOutcome outcome = run({{&tiring, "tiring", "", ""},
                                    {&unprepared, "unprepared", "", ""},
                                    {&greedy, "greedy", "", ""},
                                    {&lazy, "lazy", "", ""}});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.rows.at("tiring|toy/a").outcome, Outcome::broken);
  EXPECT_EQ(outcome.rows.at("tiring|toy/a").reason, "apply returned 2 while timed");
  EXPECT_EQ(outcome.rows.at("lazy|toy/a").outcome, Outcome::broken);
  EXPECT_NE(outcome.rows.at("lazy|toy/a").reason.find("is not rotated"), std::string::npos);
  EXPECT_EQ(outcome.rows.at("unprepared|toy/a").outcome, Outcome::broken);
  EXPECT_EQ(outcome.rows.at("greedy|toy/a").outcome, Outcome::skipped);
  for (const char* label : {"tiring|toy/a", "unprepared|toy/a", "greedy|toy/a", "lazy|toy/a"})
    expect_no_numbers(outcome.rows.at(label));
  EXPECT_EQ(live_states, 0);
}

TEST(Board, TooMuchMemoryIsSkippedWithTheReason) {
  const rope_kernel good = toy("good");
  Workload huge = toy_workload("toy/huge");
  huge.batch = std::int64_t{1} << 40;
  const BoardOutcome outcome = run({{&good, "good", "", ""}}, {}, {huge});
  EXPECT_EQ(outcome.status, 0);
  const TimingRow& row = outcome.rows.at("good|toy/huge");
  EXPECT_EQ(row.outcome, Outcome::skipped);
  EXPECT_NE(row.reason.find("MiB of memory"), std::string::npos) << row.reason;
  expect_no_numbers(row);
}

TEST(Board, WhatIsUnsupportedIsAbsent) {
  const rope_kernel good = toy("good");
  rope_kernel other = toy("other"), alien = toy("alien");
  other.supports = supports_nothing;
  alien.cpu_features = "avx9000";
  rope_kernel launched = toy("launched"), device = toy("device");
  launched.flags |= ROPE_HOST_LAUNCHER;
  device.memory = ROPE_CUDA;
  const BoardOutcome outcome = run({{&good, "good", "", ""},
                                    {&other, "other", "", ""},
                                    {&alien, "alien", "", ""},
                                    {&launched, "launched", "", ""},
                                    {&device, "device", "", ""}});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.rows.count("good|toy/a"), 1u);
  for (const char* name : {"other", "alien", "launched", "device"})
    EXPECT_EQ(outcome.rows.count(std::string(name) + "|toy/a"), 0u) << name;
  EXPECT_EQ(run({{&other, "other", "", ""}}).status, 3);
}

TEST(Board, TheUsersFlagsWin) {
  const rope_kernel good = toy("good");
  const BoardOutcome outcome =
      run({{&good, "good", "", ""}}, {"--benchmark_repetitions=2", "--benchmark_filter=^good",
                                      "--benchmark_report_aggregates_only=true"});
  EXPECT_EQ(outcome.status, 0);
  ASSERT_EQ(outcome.rows.size(), 1u);
  EXPECT_EQ(outcome.rows.at("good|toy/a").ns_per_token.size(), 2u);
  // The library keeps flags between calls.
  run({{&good, "good", "", ""}}, {"--benchmark_report_aggregates_only=false"});
}

TEST(Board, BadFlagsAndEmptySelectionsHaveTheirStatus) {
  const rope_kernel good = toy("good");
  const std::vector<Contestant> one = {{&good, "good", "", ""}};
  EXPECT_EQ(run(one, {"--benchmark_nonsense=1"}).status, 2);
  EXPECT_EQ(run(one, {"--help"}).status, 2);
  EXPECT_EQ(run(one, {"--benchmark_min_time=soon"}).status, 2);
  EXPECT_EQ(run(one, {"--benchmark_repetitions=many"}).status, 2);
  EXPECT_EQ(run(one, {"--benchmark_filter=["}).status, 2);
  EXPECT_EQ(run(one, {"--benchmark_filter=nobody"}).status, 3);
  EXPECT_EQ(run({}).status, 3);
  EXPECT_EQ(run({{&good, "good", "", ""}, {&good, "good", "", ""}}).status, 2);
}

}  // namespace
}  // namespace ropewalk::bench
