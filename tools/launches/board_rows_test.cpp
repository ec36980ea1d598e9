// What the parent takes from the process that times kernels, and whom it names if that hangs.
#include "tools/launches/board.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>

#include "base/text_file.h"
#include "benchmarks/testing/toys.h"
#include "harness/testing/own_worker.h"

namespace ropewalk::tools {
using namespace harness;
using namespace report;
namespace {

BoardRequest toy_board(const std::string& kernel, std::int64_t tokens) {
  bench::Workload w;
  w.name = "toy";
  set_heads(w, {4, 64}, {2, 64});
  w.rotary_dim = 64;
  w.tokens = tokens;
  BoardRequest request;
  request.workloads = {w};
  request.kernels[kernel] = "";
  return request;
}

TimingRow measured() {
  TimingRow row;
  row.kernel = "mine" + std::string(twin_suffix);
  row.role = Role::null_twin;
  row.workload = "toy";
  row.outcome = Outcome::measured;
  row.ns_per_token = {100, 101};
  row.iterations = {11, 11};
  row.ns_per_token_median = 100.5;
  return row;
}

TEST(BoardRows, ARowIsTakenAsItCame) {
  TimingRow row = measured();
  row.steal_ms = -10;
  row.summary = "a\x1b[2J";
  const TimingRow taken = board_row_from(to_json_line(row), toy_board("mine", 4));
  EXPECT_EQ(taken.ns_per_token, row.ns_per_token);
  EXPECT_EQ(taken.steal_ms, 0);
  EXPECT_EQ(taken.summary, "a\\x1b[2J");
  row.role = Role::floor;
  row.kernel = floor_name;
  row.device = row.throttled = "a\x1b[2J";
  const TimingRow floor = board_row_from(to_json_line(row), toy_board("mine", 4));
  EXPECT_EQ(floor.device, "a\\x1b[2J");
  EXPECT_EQ(floor.throttled, "a\\x1b[2J");
}

TEST(BoardRows, NamesAndNumbersThatCannotBeAreRefused) {
  const double inf = std::numeric_limits<double>::infinity();
  const std::function<void(TimingRow&)> faults[] = {
      [](TimingRow& r) { r.workload = "other"; },
      [](TimingRow& r) { r.kernel = "other"; },
      [](TimingRow& r) { r.ns_per_token[1] = 0; },
      [](TimingRow& r) { r.iterations[1] = 0; },
      [](TimingRow& r) { r.ns_per_token.clear(), r.iterations.clear(); },
      [](TimingRow& r) { r.outcome = Outcome::skipped; },
      [=](TimingRow& r) { r.device = "a", r.host_ns_per_token = inf; },
  };
  for (std::size_t i = 0; i < std::size(faults); ++i) {
    TimingRow row = measured();
    faults[i](row);
    EXPECT_THROW(board_row_from(to_json_line(row), toy_board("mine", 4)), BadFile) << i;
  }
  for (const std::string& text : {std::string(40, '['), std::string("{}"), std::string()})
    EXPECT_THROW(board_row_from(text, toy_board("mine", 4)), BadFile) << text;
}

TEST(Board, AKernelThatHangsWhileTimedIsNamed) {
  Worker worker(options({ROPEWALK_BENCH_PLUGIN}));
  const Worker::TimeResult timed =
      worker.time(to_text(toy_board("hangs", 1009)), 1,
                  {[](const std::string&) { return std::string(); }, [](const std::string&) {},
                   [](const std::string&, bool) {}});
  EXPECT_EQ(timed.result.kind, CallResult::Kind::hang) << timed.result.text;
  EXPECT_EQ(timed.now_running, "hangs|toy");
}

}  // namespace
}  // namespace ropewalk::tools
