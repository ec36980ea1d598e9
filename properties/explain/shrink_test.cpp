// Shrinking finds the smallest case of known errors. It never makes a case that a correct kernel
// fails.
#include "properties/explain/shrink.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "harness/cases/data.h"
#include "harness/testing/own_worker.h"
#include "properties/array/asking.h"
#include "properties/explain/shrink_steps.h"
#include "properties/search/judges.h"
#include "properties/search/run_property.h"
#include "properties/search/verify.h"

namespace ropewalk::properties {
using namespace harness;
using namespace report;
namespace {

// The row of a kernel's first failure.
VerdictRow failure(const std::string& kernel, const std::string& property) {
  VerifyPlan plan;
  plan.kernels = {kernel};
  plan.properties = {property};
  plan.profile = Profile::smoke;
  plan.dtypes = {Dtype::f32};
  VerdictRow first;
  verify_with_judges(
      options({ROPEWALK_MUTANTS}), plan, 1,
      [&](const VerdictRow& row) {
        if (first.kernel.empty() && is_failure(row.verdict)) first = row;
      },
      [](const std::string&) {});
  return first;
}

std::string words_of(Case c) {
  in_each_call(c, [](Case& call) { call.kernel = call.plugin = ""; });
  return to_text(c);
}

using Known = std::array<std::string, 3>;  // the kernel, the property and the smallest case
class Shrinks : public testing::TestWithParam<Known> {};

TEST_P(Shrinks, ToTheSmallest) {
  const auto& [kernel, property, words] = GetParam();
  const VerdictRow row = failure(kernel, property);
  ASSERT_FALSE(row.shrunk_case.empty()) << row.verdict;
  EXPECT_EQ(words_of(case_from_text(row.shrunk_case)), words);
}

INSTANTIATE_TEST_SUITE_P(
    All, Shrinks,
    testing::Values(
        Known{"mutant_wrong_way_table", "agreement",
              "property=agreement positions=1 q.heads=1 q.values=1,0"},
        Known{"mutant_one_position_off_exact", "position_sweep",
              "property=position_sweep contract=exact positions=70001 q.heads=1 q.values=1,0"},
        Known{"mutant_position_clamped_exact", "agreement",
              "property=agreement contract=exact positions=4096 q.heads=1 q.values=1,0"},
        Known{"mutant_position_of_call_6_table", "history",
              "property=history positions=from:0:1 q.heads=1 calls=7 call.7.position_from=1"},
        Known{"mutant_grown_once_table", "history",
              "property=history positions=from:0:1 q.heads=1 calls=4 call.4.position_from=4097"},
        Known{"mutant_row_kept_by_address_table", "history",
              "property=history positions=from:0:1 q.heads=1 calls=2 call.2.table_apart=1000"},
        Known{"mutant_room_for_128_pairs_table", "agreement",
              "property=agreement rotary_dim=258 positions=1 q.heads=1 q.head_dim=258"},
        Known{"mutant_row_zero_for_all_table", "agreement",
              "property=agreement batch=2 positions=0,1 q.heads=1 q.values=0,0,1,0"},
        Known{"mutant_heads_taken_as_dense_table", "agreement",
              "property=agreement positions=0 q.heads=2 q.out=-1,-1,3 q.values=1,0,0,0"},
        Known{"mutant_two_tensors_only_table", "agreement",
              "property=agreement positions=0 q.heads=1 k.heads=1 t2.heads=1"},
        Known{"mutant_zero_stride_is_dense_table", "shared_inputs",
              "property=shared_inputs positions=0 q.heads=2 q.in=-1,-1,0 q.values=1,0,0,0"},
        Known{"mutant_skipped_token_to_slot_0_exact", "agreement",
              "property=agreement contract=exact tokens=2 slots=-1,0 positions=0,0 q.heads=1 "
              "q.append=1 q.values=1,0,0,0"},
        Known{"mutant_segfault", "norm", "property=norm positions=0 q.heads=1 q.values=1,0"}),
    [](const auto& known) { return known.param[0]; });

// An error of no kernel. It counts the tries that take a real kernel long.
struct Error {
  bool (*is_wrong)(const Case&);
  std::string failing, smallest;
  int large_tries = 0;
} error;

Finding check_error(Subject&, const Case& c) {
  error.large_tries += c.batch * c.tensors[0].heads > 10'000;
  Finding f;
  f.compared = 1;
  f.margin = error.is_wrong(c) ? 2 : 0;
  return f;
}

constexpr auto has_many_rows = [](const Case& c) { return c.batch * c.tensors[0].heads > 65'535; };

// Eight tokens are taken for consecutive if the last is 7 past the first.
bool has_false_block(const Case& c) {
  const std::vector<std::int64_t> at = positions_of(c);
  for (std::size_t i = 0, first = 0; first + 8 <= at.size(); first = ++i / 8 * 8)
    if (at[first + 7] == at[first] + 7 && at[i] != at[first] + std::int64_t(i % 8)) return true;
  return false;
}

TEST(Shrink, GoesOnToWhereAnErrorBegins) {
  Worker worker(options({ROPEWALK_MUTANTS}));
  Oracle oracle;
  Subject subject = subject_of(worker, oracle, "control_scalar_table");
  const Property property{.name = "none", .claim = "", .check = check_error};
  for (const Error& each :
       {Error{has_many_rows, "batch=70000", "batch=65536 positions=from:0:1 q.heads=1"},
        {has_many_rows, "batch=3 tokens=2 positions=from:5:1 q.heads=30000",
         "positions=0 q.heads=65536"},
        {[](const Case& c) { return c.tokens > 1 && c.tensors[0].in.token >= 0; },
         "tokens=3 q.in=-1,7,-1", "tokens=2 positions=0,0 q.heads=1 q.in=-1,2,-1 q.values=1,0,0,0"},
        {has_false_block,
         "tokens=24 positions=0,0,0,0,9,4,2,8,3,3,3,3,3,3,3,3,127,149,142,125,135,131,95,134",
         "tokens=8 positions=0,0,0,0,0,0,0,7 q.heads=1"}}) {
    error = each;
    const Case failing = case_from_text("kernel=none property=agreement " + error.failing);
    const Shrunk shrunk = shrink(subject, property, {}, failing, check_error(subject, failing));
    EXPECT_EQ(words_of(shrunk.smallest), "property=agreement " + error.smallest);
    EXPECT_LE(error.large_tries, 30);
  }
}

TEST(Shrink, KeepsTheKindOfFailure) {
  EXPECT_EQ(failure("mutant_segfault", "agreement").verdict, Verdict::crash);
  EXPECT_EQ(failure("mutant_hangs", "agreement").verdict, Verdict::hang);
}

// A case of agreement may have a call of another state before it, and then fails alone.
TEST(Shrink, SaysWhatFailsOnlyAfterOtherCases) {
  const VerdictRow row = failure("mutant_cached_by_rotary_dim_exact", "frequencies");
  ASSERT_EQ(row.verdict, Verdict::fail) << row.reason;
  EXPECT_NE(row.reason.find("it held when it was made again, alone"), std::string::npos)
      << row.reason << row.replay;
  EXPECT_TRUE(row.replay.starts_with("ropewalk verify --plugin ")) << row.replay;
  EXPECT_NE(row.replay.find("--property frequencies"), std::string::npos) << row.replay;
}

// All lines of a failure's block are about the shrunk case. Only the worst margin has a case of its
// own.
class Blocks : public testing::TestWithParam<Known> {};

TEST_P(Blocks, SpeakOfOneCase) {
  const auto& [kernel, property, words] = GetParam();
  const VerdictRow row = failure(kernel, property);
  ASSERT_EQ(row.verdict, Verdict::fail);
  const Case c = case_from_text(row.shrunk_case);
  const auto replayed = [](const Case& of) {
    Worker worker(options({ROPEWALK_MUTANTS}));
    Oracle oracle;
    return replay(worker, oracle, of).finding;
  };
  const Finding again = replayed(c);
  EXPECT_EQ(again.margin, row.margin);
  EXPECT_EQ(again.where, row.where);
  EXPECT_NE((row.cause + row.diagnosis).find(words), std::string::npos)
      << row.cause << "; " << row.diagnosis;
  if (row.worst_margin == 0) return;
  EXPECT_GT(row.worst_margin, row.margin);
  const std::string start = "ropewalk replay '";
  ASSERT_TRUE(row.worst_replay.starts_with(start)) << row.worst_replay;
  const std::string worst = row.worst_replay.substr(start.size());
  EXPECT_EQ(replayed(case_from_text(worst.substr(0, worst.size() - 1))).margin, row.worst_margin);
}

INSTANTIATE_TEST_SUITE_P(
    All, Blocks,
    testing::Values(Known{"mutant_room_for_128_pairs_table", "agreement", "only in pair 128"},
                    Known{"mutant_last_pair_of_wide_head_table", "agreement", "only in pair 31"},
                    Known{"mutant_wrong_way_table", "agreement",
                          "rotates the other way (2 wrong pairs fit, and "},
                    Known{"mutant_position_clamped_exact", "agreement", "gain"},
                    Known{"mutant_pairing_swapped_exact", "norm", "pairs elements as interleaved"},
                    Known{"mutant_last_of_three_heads_table", "agreement",
                          "leaves outputs unwritten"},
                    Known{"mutant_last_partial_page_lost_exact", "unwritten_outputs",
                          "leaves outputs unwritten"},
                    Known{"mutant_frequency_in_bf16_exact", "agreement", "rounds inv_freq"}),
    [](const auto& known) { return known.param[0]; });

// A correct kernel must pass every case that a step makes: no step may leave what a property can
// judge.
TEST(Shrink, NoStepMakesACorrectKernelFail) {
  Worker worker(options({ROPEWALK_MUTANTS}));
  Oracle oracle;
  std::int64_t held = 0;
  for (const char* kernel : {"control_scalar_table", "control_scalar_exact"}) {
    Subject subject = subject_of(worker, oracle, kernel);
    const Probe probe = with_levels(subject, probe_base(subject, Pairing::half_split, Dtype::f32));
    ASSERT_TRUE(probe.offer);
    CaseDraws draws(subject, *probe.offer);
    for (const Property* property : all_properties()) {
      if (property->shape == nullptr || !is_applicable(*property, *probe.offer)) continue;
      draws.begin(*property);
      const Case drawn = draws.next(draws.any_row(0)).value();
      std::vector<Case> steps = basis_vectors(drawn);
      for (const CaseSource source : step_sources())
        std::ranges::copy(source(drawn), std::back_inserter(steps));
      for (Case& c : steps) {
        property->shape(c, *probe.offer);
        try {
          validate(c);
          if ((shared_rows(c) & ~shared_rows(drawn)) != 0) continue;
          const Finding f = property->check(subject, c);
          if (!f.ran() || f.compared == 0) continue;
          ++held;
          EXPECT_TRUE(f.holds()) << f.reason << " " << f.where << "\n" << to_text(c);
        } catch (const BadCase&) {  // shrinking skips it too
        }
      }
    }
  }
  EXPECT_GT(held, 500);
}

}  // namespace
}  // namespace ropewalk::properties
