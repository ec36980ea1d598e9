// A board's request reads as it was written.
#include "tools/launches/board.h"

#include <gtest/gtest.h>

#include "benchmarks/workloads/workload_layout.h"

namespace ropewalk::tools {
using namespace bench;
namespace {

std::vector<Workload> sent(const std::vector<Workload>& workloads) {
  BoardRequest request;
  request.workloads = workloads;
  return board_request_from(to_text(request)).workloads;
}

// Finds a new field of Workload that the JSON forgets.
TEST(BoardRequest, WorkloadsReadAsTheyWereWritten) {
  auto all = load_default_workloads();
  Workload odd = all.front();
  odd.name = "odd/one";
  odd.model = R"(a "quoted" \ name)";
  odd.source = "with = signs, # and ' and \xC3\xA9" + std::string(1000, '"');
  odd.phase = report::WorkloadPhase::prefill;
  odd.rope_theta = 1.0 / 3 + 10000;
  odd.scaling = "llama3";
  odd.scaling_values = {8, 1, 4, 8192};
  odd.dtype = Dtype::f64;
  odd.pairing = Pairing::interleaved;
  set_in_place(odd, false);
  odd.layout = WorkloadLayout::fused;
  bench::lay_out(odd);
  odd.position_dtype = Dtype::i64;
  odd.attention_scale = 1.0 / 3;
  odd.profiles = {"full"};
  all.push_back(odd);
  odd.name = "odd/two";
  odd.scaling = "linear";
  odd.scaling_values = {1e9};
  odd.rope_theta = 1e300;
  all.push_back(odd);
  EXPECT_EQ(sent(all), all);
  all.back().rope_theta = 1e301;
  EXPECT_NE(sent({odd}).front(), all.back());
}

BoardRequest full_request() {
  BoardRequest r;
  r.google_benchmark = r.ceilings_only = true;
  r.seed = UINT64_MAX;
  r.workloads = load_default_workloads();
  r.kernels = {{"mine", "it ended\nby SIGSEGV \x1b"}, {"plain", ""}};
  r.unverified = {{"mine", "a b"}, {"mine", "c"}};
  r.benchmark_args = {"--a=b c", ""};
  r.launch_s = 7;
  r.epochs_s = {{"a|half_split / f32|1", 0.5}};
  r.rounds = 2, r.launch = 3, r.epoch_s = 4.5, r.group_s = 5, r.threads = 6;
  r.baseline = "plain";
  r.ceilings = {{"a", {"4 streams", "2 streams past the caches"}}};
  r.done = {"a|half_split / f32|1"};
  return r;
}

TEST(BoardRequest, EveryFieldReadsAsItWasWritten) {
  const BoardRequest there = full_request(), here = board_request_from(to_text(there));
  EXPECT_EQ(to_text(here), to_text(there));
  EXPECT_EQ(here.workloads, there.workloads);
  EXPECT_EQ(here.seed, UINT64_MAX);
}

}  // namespace
}  // namespace ropewalk::tools
