// The search: drawn cases have every level that a kernel offers and no refusal, each line of the
// corpus refutes its mutant and no correct kernel, several judges find what one finds, and a
// failure is charged to the form that has the error.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <fstream>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "harness/testing/own_worker.h"
#include "properties/array/asking.h"
#include "properties/array/factor_table.h"
#include "properties/search/judges.h"
#include "properties/search/run_property.h"
#include "properties/search/verdict_rows.h"
#include "properties/search/verify.h"

namespace ropewalk::properties {
using namespace harness;
using namespace report;
namespace {

class InAWorker : public testing::Test {
 protected:
  Subject subject(const std::string& name) { return subject_of(worker_, oracle_, name); }

  Worker worker_{options({ROPEWALK_MUTANTS})};
  Oracle oracle_;
};

VerifyPlan plan_for(const std::vector<std::string>& kernels,
                    const std::vector<std::string>& properties = {}) {
  VerifyPlan plan;
  plan.kernels = kernels;
  plan.properties = properties;
  plan.profile = Profile::smoke;
  plan.shrink = false;  // the smallest case depends on the time
  plan.dtypes = {Dtype::f32};
  return plan;
}

void verify_alone(const VerifyPlan& plan, const std::function<void(const VerdictRow&)>& on_row) {
  verify_with_judges(options({ROPEWALK_MUTANTS}), plan, 1, on_row, [](const std::string&) {});
}

// ---- drawn cases

class DrawnCases : public InAWorker {
 protected:
  static std::vector<std::string> texts(CaseDraws& draws, const char* property, int count) {
    std::vector<std::string> out;
    draws.begin(property_named(property));
    for (int i = 0; i < count; ++i) {
      const auto c = draws.next(draws.any_row(static_cast<std::uint64_t>(i)));
      out.push_back(c ? to_text(*c) : "none");
    }
    return out;
  }
};

TEST_F(DrawnCases, HaveEveryLevelAndAreTaken) {
  for (const char* kernel : {"plain", "phase"}) {
    Subject of = subject(kernel);
    const Offer offer = first_offer(of).value();
    CaseDraws draws(of, offer);
    draws.begin(property_named("agreement"));
    std::set<std::pair<std::size_t, int>> drawn;
    for (std::uint64_t i = 0; i < 2000; ++i) {
      const auto c = draws.next(draws.any_row(i));
      ASSERT_TRUE(c) << i;
      // the first tensor, or the second where that is the one that turns
      const TensorCase& t = c->tensors[c->tensors[0].rotate ? 0 : 1];
      EXPECT_LE(c->batch * c->tokens * t.heads * t.head_dim, 4096);
      for (std::size_t f = 0; f < factor_count; ++f) drawn.emplace(f, draws.last().of[f]);
    }
    EXPECT_EQ(draws.refused(), 0) << kernel;
    for (std::size_t f = 0; f < factor_count; ++f)
      for (int level = 0; level < most_levels; ++level)
        EXPECT_EQ(drawn.contains({f, level}),
                  draws.offered().levels.has(static_cast<Factor>(f), level))
            << words_of({{static_cast<Factor>(f), level}});
  }
}

// A negative control: a level that the kernel refuses is taken for offered. It is learned, for one
// property, and gives way to others.
TEST_F(DrawnCases, LearnWhatIsRefusedWithinOneProperty) {
  Subject of = subject("control_one_head_only_table");
  Offer offer = first_offer(of).value();
  ASSERT_EQ(offer.levels[Factor::heads], 1);
  offer.levels.add(Factor::heads, 1);
  CaseDraws draws(of, offer);
  const auto first = texts(draws, "norm", 100);
  EXPECT_GT(draws.refused(), 0);
  EXPECT_LT(draws.refused(), 100);
  EXPECT_EQ(std::count(first.begin(), first.end(), "none"), 0);
  texts(draws, "transpose", 20);
  EXPECT_EQ(texts(draws, "norm", 100), first);
  EXPECT_GT(draws.refused(), 0);
  CaseDraws alone(of, offer);
  EXPECT_EQ(texts(alone, "norm", 100), first);
}

using Switch = bool (*)(const Case&);
constexpr std::pair<const char*, Switch> switches[] = {
    {"heap_at_end", [](const Case& c) { return c.heap_at_end; }},
    {"nodes_reversed", [](const Case& c) { return c.nodes_reversed; }},
    {"graph_first", [](const Case& c) { return c.graph_first; }},
    {"other_state_stays", [](const Case& c) { return c.other_state_stays; }},
    {"position_room", [](const Case& c) { return c.position_room != PositionRoom::none; }}};

// No value of a switch is in less than 40 % of these cases.
void expect_both(const std::vector<Case>& cases, const char* name, Switch is_on,
                 const std::string& of) {
  const std::int64_t on = std::ranges::count_if(cases, is_on), all = std::ssize(cases);
  EXPECT_GE(10 * on, 4 * all) << name << " of " << of;
  EXPECT_LE(10 * on, 6 * all) << name << " of " << of;
}

TEST_F(DrawnCases, AndFixedOnesHaveBothValuesOfEachSwitch) {
  constexpr std::int64_t enough = 8;
  Subject of = subject("plain");
  const Offer offer = first_offer(of).value();
  CaseDraws draws(of, offer);
  draws.begin(property_named("agreement"));
  std::vector<Case> drawn;
  for (std::uint64_t i = 0; i < 1000; ++i) drawn.push_back(draws.next(draws.any_row(i)).value());
  for (const auto& [name, is_on] : switches) expect_both(drawn, name, is_on, "drawn cases");
  for (const Property* property : all_properties()) {
    if (property->fixed_cases == nullptr || !is_applicable(*property, offer)) continue;
    std::vector<Case> fixed = fixed_cases_of(*property, offer, Profile::standard);
    for (const Case& c : fixed) EXPECT_NO_THROW(validate(c)) << to_text(c);
    if (std::ssize(fixed) >= enough)
      for (const auto& [name, is_on] : switches)
        expect_both(fixed, name, is_on, std::string(property->name));
    if (property->name == "threads")
      expect_both(
          fixed, "callers_share", [](const Case& c) { return c.callers_share; }, "threads");
    std::erase_if(fixed, [](const Case& c) { return c.fresh || !c.calls.empty(); });
    if (property->name == "history")
      expect_both(
          fixed, "second_goes", [](const Case& c) { return c.second_goes; }, "history");
  }
}

// Sequences are made after supports was asked, and a property changes what levels say.
TEST_F(DrawnCases, AreValidForEachProperty) {
  for (const char* kernel : {"plain", "phase"}) {
    Subject of = subject(kernel);
    const Offer offer = first_offer(of).value();
    CaseDraws draws(of, offer);
    for (const Property* property : all_properties()) {
      if (property->shape == nullptr && property->add_calls == nullptr) continue;
      if (!is_applicable(*property, offer)) continue;
      draws.begin(*property);
      for (std::uint64_t i = 0; i < 300; ++i) {
        const auto c = draws.next(draws.any_row(i));
        ASSERT_TRUE(c) << property->name;
        EXPECT_NO_THROW(validate(*c)) << to_text(*c);
      }
      EXPECT_EQ(draws.refused(), 0) << property->name;
    }
  }
}

// A kernel that refuses its simplest levels gets no case, and no endless search for one.
TEST_F(DrawnCases, EndWhereNothingIsTaken) {
  Subject of = subject("plain");
  Offer offer = first_offer(of).value();
  offer.base.contract = ROPE_CONTRACT_EXACT;  // plain reads tables
  CaseDraws draws(of, offer);
  draws.begin(property_named("agreement"));
  EXPECT_FALSE(draws.next(draws.any_row(1)));
  EXPECT_LE(draws.refused(), 300);
}

// ---- the corpus

struct CorpusLine {
  std::string mutant, text;
};

std::vector<CorpusLine> lines() {
  std::vector<CorpusLine> out;
  std::ifstream file(ROPEWALK_SOURCE_DIR "/properties/search/regressions.txt");
  std::string mutant;
  for (std::string line; std::getline(file, line);) {
    const auto at = line.find("(mutant_");
    if (line.starts_with('#') && at != std::string::npos)
      mutant = line.substr(at + 1, line.find(')', at) - at - 1);
    if (!line.empty() && !line.starts_with('#')) out.push_back({mutant, line});
  }
  return out;
}

class Corpus : public InAWorker {
 protected:
  // The findings of a line on a kernel, in both pairings.
  std::vector<Finding> run(const std::string& kernel, const std::string& text) {
    std::vector<Finding> out;
    for (const Pairing pairing : {Pairing::half_split, Pairing::interleaved}) {
      Case c = case_from_text(text);
      c.kernel = kernel;
      c.pairing = pairing;
      c.contract = subject(kernel).facts.angle_contract;
      try {
        out.push_back(replay(worker_, oracle_, c).finding);
      } catch (const BadCase&) {  // the contract has no such case
      }
    }
    return out;
  }
};

TEST_F(Corpus, IsTheFileAsItStands) {
  const auto in_file = lines();
  const auto built_in = regression_corpus();
  ASSERT_GT(in_file.size(), 30u);
  ASSERT_EQ(built_in.size(), in_file.size());
  for (std::size_t i = 0; i < in_file.size(); ++i)
    EXPECT_EQ(built_in[i], case_from_text(in_file[i].text)) << in_file[i].text;
}

TEST_F(Corpus, EachLineRefutesItsMutant) {
  for (const CorpusLine& line : lines()) {
    const auto findings = run(line.mutant, line.text);
    EXPECT_TRUE(std::any_of(findings.begin(), findings.end(),
                            [](const Finding& f) { return f.ran() && !f.holds(); }))
        << line.mutant << ": " << line.text;
  }
}

TEST_F(Corpus, EachLineComparesSomethingAndCorrectKernelsHold) {
  for (const CorpusLine& line : lines()) {
    bool ran = false;
    for (const char* kernel : {"control_scalar_table", "control_scalar_exact"})
      for (const Finding& f : run(kernel, line.text)) {
        if (!f.ran()) continue;
        ran = true;
        EXPECT_TRUE(f.holds()) << kernel << " " << line.text << ": " << f.reason;
      }
    EXPECT_TRUE(ran) << line.text;
  }
}

TEST_F(Corpus, IsRunFirstAndCounted) {
  VerifyPlan plan = plan_for({"plain"}, {"power_of_two"});
  plan.cases = 1;
  verify_alone(plan, [](const VerdictRow& row) {
    EXPECT_EQ(row.planned, 2) << "one generated case, one of the corpus";
    EXPECT_EQ(row.executed, 2);
    EXPECT_EQ(row.verdict, Verdict::pass) << row.reason;
  });
}

// ---- several judges

std::vector<std::string> rows_of(const VerifyPlan& plan, int judges) {
  std::vector<std::string> rows;
  verify_with_judges(
      options({ROPEWALK_MUTANTS}), plan, judges,
      [&](VerdictRow row) {
        row.seconds = 0;                                // only this may differ,
        if (row.property == "threads") row.where = "";  // and how many calls overlapped
        rows.push_back(to_json_line(row));
      },
      [](const std::string&) {});
  return rows;
}

const std::vector<std::string> few{"norm", "strides", "identity_at_zero"};

TEST(Judges, FindTheSameInTheSameOrder) {
  VerifyPlan plan = plan_for({"elementwise", "mutant_segfault", "mutant_other_pairing*",
                              "mutant_whole*", "control_*_only_table", "control_scale_*"},
                             few);
  plan.cases = 4;
  const auto alone = rows_of(plan, 1);
  EXPECT_GT(alone.size(), 60u);
  EXPECT_EQ(rows_of(plan, 2), alone) << "each takes a kernel";
  EXPECT_EQ(rows_of(plan, 8), alone) << "all share one";
}

// One kernel is shared out among threads: the rows of its array, then its properties.
TEST(Judges, ShareOutTheRowsOfOneKernel) {
  for (const char* kernel : {"plain", "mutant_segfault", "mutant_cache_by_last_8_exact"}) {
    VerifyPlan plan = plan_for(
        {kernel}, {"clean_call", "agreement", "norm", "composition", "history", "threads"});
    plan.cases = 4;
    plan.array_cases = 24;
    const auto alone = rows_of(plan, 1);
    EXPECT_GE(alone.size(), 6u);
    for (const int judges : {2, 8}) EXPECT_EQ(rows_of(plan, judges), alone) << kernel;
  }
}

TEST(JudgeThreads, WorkAtTheSameTimeAndThrowTheFirstException) {
  JudgeThreads threads(3);
  for (int repeat = 0; repeat < 100; ++repeat) {
    std::barrier all(3);  // waits for ever unless each has its own thread
    std::atomic<std::size_t> sum = 0;
    threads.run([&](std::size_t i) {
      all.arrive_and_wait();
      sum += i;
    });
    EXPECT_EQ(sum, 3u);
    const auto fail = [](std::size_t i) {
      if (i == 1) throw std::out_of_range("1");
      if (i == 2) throw std::length_error("2");
    };
    EXPECT_THROW(threads.run(fail), std::out_of_range);
  }
}

TEST(Judges, AnErrorWhileRowsAreTakenEndsAllJudges) {
  VerifyPlan plan = plan_for({"plain", "dense"}, few);
  int rows = 0;
  EXPECT_THROW(verify_with_judges(
                   options({ROPEWALK_MUTANTS}), plan, 2,
                   [&](const VerdictRow&) {
                     if (++rows == 2) throw std::runtime_error("the disk is full");
                   },
                   [](const std::string&) {}),
               std::runtime_error);
  EXPECT_EQ(rows, 2);
}

// ---- the form that is charged

using Charged = std::pair<std::string, Verdict>;
class OnePairing : public testing::TestWithParam<Charged> {};

// The kernel is correct in half_split and wrong in interleaved, and supports accepts both.
TEST_P(OnePairing, FailsAlone) {
  VerifyPlan plan = plan_for({GetParam().first});
  plan.cases = 3;
  bool other_fails = false, history_ran = false;
  verify_alone(plan, [&](const VerdictRow& row) {
    if (row.pairing == "interleaved") {
      other_fails = other_fails || row.verdict == GetParam().second;
      return;
    }
    EXPECT_FALSE(is_failure(row.verdict))
        << row.property << " " << row.verdict << ": " << row.reason << " " << row.where;
    history_ran = history_ran || (row.property == "history" && row.verdict == Verdict::pass);
  });
  EXPECT_TRUE(other_fails);
  EXPECT_TRUE(history_ran);
}

INSTANTIATE_TEST_SUITE_P(
    All, OnePairing,
    testing::Values(Charged{"mutant_other_pairing_forgotten_table", Verdict::fail},
                    Charged{"mutant_other_pairing_missing_table", Verdict::crash}),
    [](const auto& charged) { return charged.param.first; });

// Fails in the first call, and throws in each that is made to shrink and explain it.
Finding fails_then_throws(Subject&, const Case&) {
  static int calls = 0;
  if (calls++ > 0) throw std::out_of_range("beyond");
  Finding f;
  f.margin = 7;
  f.compared = 1;
  return f;
}

TEST_F(InAWorker, AFailureStandsWhateverTheSearchForItsCauseThrows) {
  Property property;
  property.name = "agreement";
  property.fixed_cases = [](const Offer& offer, Profile) { return std::vector<Case>{offer.base}; };
  property.check = fails_then_throws;
  Subject plain = subject("plain");
  const Probe probe = probe_base(plain, Pairing::half_split, Dtype::f32);
  const PropertyRun run =
      run_property(plain, property, probe.offer.value(), Profile::smoke, {}, nullptr, nullptr);
  ASSERT_TRUE(run.failing.has_value());
  EXPECT_EQ(run.worst.margin, 7);
  EXPECT_EQ(run.worst.diagnosis + run.cause.words, "");
}

TEST(VerdictRowsOf, ACaseThatIsTooSlowIsLeftOutAndOneWithoutMemoryIsNot) {
  PropertyRun run;
  run.planned = 72;
  run.executed = run.compared = run.values = 71;
  run.worst.compared = 1;
  run.skipped = "so many calls";
  for (const bool is_slow : {true, false}) {
    run.too_slow = is_slow ? 1 : 0;
    report::VerdictRow row;
    fill_verdict(row, run, {}, "");
    EXPECT_EQ(row.verdict, is_slow ? report::Verdict::pass : report::Verdict::skipped);
    EXPECT_NE(row.reason.find("71 of 72 cases ran: so many calls"), std::string::npos);
  }
}

}  // namespace
}  // namespace ropewalk::properties
