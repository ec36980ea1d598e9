// When a bench has measured enough, and when its time is too short.
#include "tools/launches/budget.h"

#include <gtest/gtest.h>

#include <tuple>

#include "reports/numbers/ratio_interval.h"
#include "tools/launches/board.h"
#include "tools/launches/kernels_to_time.h"

namespace ropewalk::tools {
namespace {

using namespace report;
using Clock = std::chrono::steady_clock;

/// Launches of a baseline, its twin and a kernel on two boards. On the second board the kernel
/// takes `ratio` times as long; `spread` is the noise of its rounds.
std::vector<TimingRow> rows_of(std::int64_t launches, double ratio, double spread) {
  std::vector<TimingRow> rows;
  for (const char* board : {"first", "second"})
    for (std::int64_t launch = 0; launch < launches; ++launch)
      for (const Role role : {Role::baseline, Role::null_twin, Role::kernel}) {
        TimingRow row;
        row.kernel = role == Role::kernel     ? "mine"
                     : role == Role::baseline ? "plain"
                                              : "plain (twin)";
        row.role = role;
        row.workload = "toy";
        row.board = board;
        row.launch = launch;
        row.outcome = Outcome::measured;
        row.tokens = 1;
        const bool is_noisy = role == Role::kernel && std::string_view(board) == "second";
        for (std::int64_t i = 0; i < 64; ++i) {
          const auto step = static_cast<double>((37 * i + 11 * launch) % 64) / 63 - 0.5;
          row.ns_per_token.push_back(100 * (is_noisy               ? ratio * (1 + spread * step)
                                            : role == Role::kernel ? 2 + 0.001 * step
                                                                   : 1 + 0.0001 * step));
          row.iterations.push_back(1000);
        }
        row.ns_per_token_median = 100;
        rows.push_back(row);
      }
  return rows;
}

TEST(Budget, EndsWhenAllIsSettled) {
  Budget budget(Effort{10, 0, 0, 0, 3600, false}, Clock::now(), 0.01);
  EXPECT_FALSE(budget.ends_before(0, {}));
  EXPECT_FALSE(budget.ends_before(2, rows_of(2, 1.5, 0.001))) << "no claim of two launches";
  for (std::int64_t launches = 3; launches < 10; ++launches) {
    const auto rows = rows_of(launches, 1.5, 0.001);
    EXPECT_EQ(budget.settled_groups(rows).size(), is_look(launches) ? 2u : 0u) << launches;
    EXPECT_EQ(budget.ends_before(launches, rows), is_look(launches)) << launches;
  }
  // A board whose claim is open keeps the run going, alone.
  const auto noisy = rows_of(6, 1.02, 0.3);
  EXPECT_EQ(budget.settled_groups(noisy), std::set<std::string>{"toy|first|1"});
  EXPECT_FALSE(budget.ends_before(6, noisy));
  EXPECT_TRUE(budget.too_small().empty());
}

TEST(Budget, EndsWhenThereIsNoTimeForAnotherLaunch) {
  const auto noisy = rows_of(3, 1.02, 0.3);
  Budget nearly_over(Effort{10, 0, 0, 0, 100, false}, Clock::now() - std::chrono::seconds(90),
                     0.01);
  nearly_over.spend(30, 25);
  EXPECT_TRUE(nearly_over.ends_before(3, noisy));
  EXPECT_TRUE(nearly_over.too_small().empty()) << "three launches make claims";
  EXPECT_TRUE(nearly_over.ends_before(2, rows_of(2, 1.02, 0.3)));
  EXPECT_TRUE(
      nearly_over.too_small().starts_with("a budget of 100 s is too small: 2 of 3 launches"))
      << nearly_over.too_small();
  Budget over(Effort{10, 0, 0, 0, 1, false}, Clock::now() - std::chrono::seconds(2), 0.01);
  EXPECT_TRUE(over.ends_before(0, {}));
  Budget usual(Effort{10, 0, 0, 0, 1, true}, Clock::now() - std::chrono::seconds(2), 0.01);
  EXPECT_FALSE(usual.ends_before(2, rows_of(2, 1.02, 0.3))) << "three launches whatever they take";
  EXPECT_TRUE(usual.ends_before(3, rows_of(3, 1.02, 0.3))) << "and no more";
  EXPECT_EQ(over.share_s(3), 1e-3);
}

// A group that fits the budget is answered: the costliest goes first, and not all do.
TEST(Budget, GroupsWithoutTimeLeaveItToTheOthers) {
  const auto now = Clock::now();
  Budget budget(Effort{10, 0, 0, 0, 1000, false}, now - std::chrono::seconds(400), 0.01);
  budget.begin_board(now);
  budget.end_group("cheap", now + std::chrono::seconds(100));
  budget.end_group("costly", now + std::chrono::seconds(300));
  budget.spend(350, 300);
  EXPECT_FALSE(budget.ends_before(1, {}));
  EXPECT_TRUE(budget.without_time().empty()) << "two launches of 350 s fit, with fewer rounds";
  budget.spend(50, 0);
  EXPECT_FALSE(budget.ends_before(1, {}));
  EXPECT_EQ(budget.without_time(), std::set<std::string>{"costly"})
      << "without it two launches fit";
  EXPECT_FALSE(budget.ends_before(1, {}));
  EXPECT_EQ(budget.without_time().size(), 1u) << "it is taken out once";
  budget.spend(1000, 0);
  EXPECT_TRUE(budget.ends_before(1, {})) << "none fits";
  EXPECT_NE(budget.too_small().find("s; try --budget 352"), std::string::npos)
      << budget.too_small();
  Budget usual(Effort{10, 0, 0, 0, 10, true}, Clock::now() - std::chrono::seconds(4), 0.01);
  usual.end_group("costly");
  usual.spend(30, 0);
  EXPECT_FALSE(usual.ends_before(1, {}));
  EXPECT_TRUE(usual.without_time().empty()) << "three launches whatever they take";
}

TEST(LeaveOut, GroupsOfTooFewLaunchesHaveNoNumber) {
  std::vector<TimingRow> rows = rows_of(2, 1.5, 0.001);
  skip_groups({group_of(rows.back())}, rows);
  ASSERT_EQ(rows.size(), 10u) << "the other board, and the kernel and its baseline";
  for (const TimingRow& row : rows)
    EXPECT_EQ(row.outcome, row.board == "first" ? Outcome::measured : Outcome::skipped);
  rows = rows_of(3, 1.5, 0.001);
  skip_groups({group_of(rows.back())}, rows);
  EXPECT_EQ(rows.size(), 18u) << "three launches make a claim";
}

TEST(LeaveOut, TheCostliestWorkloadsThatDoNotFit) {
  std::vector<harness::KernelFacts> kernels(2);
  bench::Workload small;
  small.name = "small";
  for (harness::TensorCase& tensor : small.tensors) tensor.heads = 4, tensor.head_dim = 64;
  small.rotary_dim = 64;
  bench::Workload large = small;
  large.name = "large";
  large.tokens = std::int64_t{1} << 30;
  const auto left_out = [&](std::vector<bench::Workload> workloads, double budget_s, bool usual) {
    Budget budget(Effort{10, 0, 0, 0, budget_s, usual}, Clock::now(), 0.01);
    const auto rows = leave_out(workloads, kernels, budget);
    for (const TimingRow& row : rows) {
      EXPECT_EQ(row.workload, "large");
      EXPECT_EQ(row.outcome, Outcome::skipped);
      EXPECT_TRUE(row.reason.starts_with("no time: large takes ")) << row.reason;
    }
    return std::tuple(rows.size(), workloads.size(), budget.too_small().substr(0, 42));
  };
  using Left = std::tuple<std::size_t, std::size_t, std::string>;
  EXPECT_EQ(left_out({large, small}, 10, false), Left(2, 1, ""));
  EXPECT_EQ(left_out({small}, 10, false), Left(0, 1, ""));
  EXPECT_EQ(left_out({large}, 10, false), Left(0, 1, "a budget of 10 s is too small: large takes"));
  EXPECT_EQ(left_out({large, small}, 10, true), Left(0, 2, "")) << "a usual budget is exceeded";
  EXPECT_EQ(left_out({}, 10, false), Left(0, 0, ""));
  for (harness::KernelFacts& k : kernels) k.memory = ROPE_CUDA;
  EXPECT_EQ(left_out({large, small}, 10, false), Left(0, 2, "")) << "a device's memory is another";
}

TEST(Budget, CostlyLaunchesAreFewer) {
  const auto planned = [](double overhead_s, std::int64_t done) {
    Budget budget(Effort{10, 0, 0, 0, 100, false}, Clock::now(), 0.01);
    budget.spend(5 + overhead_s, 5);
    return budget.launches_left(done);
  };
  EXPECT_EQ(Budget(Effort{10, 0, 0, 0, 100, false}, Clock::now(), 0.01).launches_left(0), 10);
  EXPECT_EQ(planned(1, 1), 9);
  EXPECT_EQ(planned(7.9, 1), 5);
  EXPECT_EQ(planned(50, 1), 2) << "three are needed";
  EXPECT_EQ(planned(50, 9), 1);
}

TEST(Budget, WithoutOneNothingCounts) {
  Budget none(Effort{10, 0, 0, 0, 0, false}, Clock::now() - std::chrono::hours(1), 0.01);
  EXPECT_FALSE(none.counts());
  EXPECT_FALSE(none.ends_before(3, rows_of(3, 1.5, 0.001)));
}

TEST(Budget, TheEffortOfOptions) {
  BenchOptions options;
  EXPECT_EQ(effort_of(options).budget_s, 300);
  options.shapes = {"q=1"};
  EXPECT_EQ(effort_of(options).budget_s, 30);
  options.profile = properties::Profile::smoke;
  EXPECT_EQ(effort_of(options).budget_s, 20);
  options.budget_s = 7;
  EXPECT_EQ(effort_of(options).budget_s, 7);
  options.budget_s = 0;
  options.rounds = 12;
  EXPECT_EQ(effort_of(options).budget_s, 0) << "a fixed effort";
  EXPECT_EQ(effort_of(options).rounds, 12);
}

TEST(KernelsToTime, ReadableKernelsAreLeftToStandardUnlessNamed) {
  BenchOptions options;
  options.profile = properties::Profile::smoke;
  harness::KernelFacts dense, plain;
  dense.name = "dense";
  plain.name = "plain";
  EXPECT_NE(why_not_timed(options, dense), "");
  EXPECT_EQ(why_not_timed(options, plain), "");
  options.kernels = {"dense"};
  EXPECT_EQ(why_not_timed(options, dense), "");
}

}  // namespace
}  // namespace ropewalk::tools
