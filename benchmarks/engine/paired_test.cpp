// Toy kernels through the paired engine. The tests check which kernels get which rows, not how fast
// they are.
#include "benchmarks/engine/paired.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cfenv>
#include <map>
#include <new>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "base/testing/refusal.h"
#include "benchmarks/ceilings/ceilings.h"
#include "benchmarks/machine/environment.h"
#include "benchmarks/testing/paired_run.h"
#include "benchmarks/testing/toys.h"
#include "benchmarks/workloads/traffic.h"
#include "benchmarks/workloads/workload_layout.h"

namespace ropewalk::bench {
using namespace report;
namespace {

TEST(Paired, RoundsStandSideBySide) {
  const rope_kernel first = toy_kernel("first"), second = toy_kernel("second");
  const PairedOutcome outcome = run({&first, &second});
  EXPECT_EQ(outcome.status, 0);
  ASSERT_EQ(outcome.rows.size(), 4u);
  EXPECT_EQ(outcome.of("first")->role, Role::baseline);
  EXPECT_EQ(outcome.of("first (twin)")->role, Role::null_twin);
  EXPECT_EQ(outcome.of("second")->role, Role::kernel);
  EXPECT_EQ(outcome.rows.back().role, Role::ceiling);
  EXPECT_FALSE(outcome.rows.back().variant.empty());
  for (const TimingRow& row : outcome.rows) {
    EXPECT_EQ(row.outcome, Outcome::measured);
    EXPECT_EQ(row.board, "half_split / f32 / in place / table");
    EXPECT_EQ(row.ns_per_token.size(), 8u);  // two designs of four
    EXPECT_EQ(row.iterations, outcome.rows[0].iterations);
    EXPECT_EQ(row.probe_ns.size(), row.iterations.size());
    for (const std::int64_t ns : row.probe_ns) EXPECT_GT(ns, 0);
    EXPECT_EQ(row.iterations.back() % 2, 1);
    EXPECT_GT(row.ns_per_token_median, 0);
    EXPECT_EQ(row.reverified > 0, !row.is_ceiling()) << row.kernel;
    EXPECT_GE(row.off_cpu_share, 0);
  }
  EXPECT_EQ(outcome.of("second")->table_bytes, (3 + position_window - 1) * 8 * 4);
  EXPECT_EQ(outcome.ran.count("first (twin)|toy/a"), 1u);
}

TEST(Paired, SeveralThreadsStandBesideOne) {
  const int threads = static_cast<int>(allowed_cpus().size());
  if (threads < 2) GTEST_SKIP() << "one processor";
  const rope_kernel first = toy_kernel("first"), second = toy_kernel("second");
  const PairedOutcome outcome = run({&first, &second}, [](PairedPlan& p) { p.threads = 2; });
  EXPECT_EQ(outcome.status, 0);
  ASSERT_EQ(outcome.rows.size(), 8u);
  for (std::size_t i = 0; i < 8; ++i) {
    const TimingRow& row = outcome.rows[i];
    EXPECT_EQ(row.threads, i < 4 ? 1 : 2);
    EXPECT_EQ(row.processors.empty(), i < 4);
    EXPECT_EQ(row.outcome, Outcome::measured);
    EXPECT_EQ(row.working_set_bytes, outcome.rows[i % 4].working_set_bytes);
    EXPECT_EQ(row.reverified > 0, !row.is_ceiling());
    EXPECT_GT(row.ns_per_token_median, 0);
  }
  EXPECT_EQ(allowed_cpus().size(), static_cast<std::size_t>(threads));  // nothing stays pinned
}

std::atomic<int> callers{0};

// Is right only for the thread that came first.
std::int32_t apply_for_one_thread(const rope_problem* p, const rope_operands* o, void*) {
  static thread_local const int me = callers++;
  return me == 0 ? apply_toy(p, o, nullptr) : ROPE_OK;
}

TEST(Paired, WhoIsWrongOnAnotherThreadIsBroken) {
  if (allowed_cpus().size() < 2) GTEST_SKIP() << "one processor";
  const rope_kernel good = toy_kernel("good");
  rope_kernel bad = toy_kernel("bad");
  bad.apply = apply_for_one_thread;
  callers = 0;
  const PairedOutcome outcome = run({&good, &bad}, [](PairedPlan& p) {
    p.threads = 2;
    p.rounds = 60;
  });
  const auto row = std::find_if(outcome.rows.begin(), outcome.rows.end(), [](const TimingRow& r) {
    return r.kernel == "bad" && r.threads == 2;
  });
  ASSERT_NE(row, outcome.rows.end());
  EXPECT_EQ(row->outcome, Outcome::broken) << row->reason;
  EXPECT_TRUE(row->ns_per_token.empty());
}

TEST(Paired, TheBaselineCanBeChosen) {
  const rope_kernel first = toy_kernel("first"), plain = toy_kernel("plain");
  EXPECT_EQ(run({&first, &plain}).of("plain")->role, Role::baseline);
  const PairedOutcome chosen = run({&first, &plain}, [](PairedPlan& p) { p.baseline = "first"; });
  EXPECT_EQ(chosen.of("first")->role, Role::baseline);
  EXPECT_EQ(chosen.of("plain")->role, Role::kernel);
}

TEST(Paired, WhatIsFusedIsTimedBesideOnePassAfterTheOther) {
  rope_kernel fuses = toy_kernel("fuses");
  fuses.extensions = extension_bit(ROPE_EXT_NORM) | extension_bit(ROPE_EXT_APPEND);
  const rope_kernel other = toy_kernel("other");
  for (const int what : {1, 2, 3}) {
    const PairedOutcome outcome = run({&fuses, &other}, [&](PairedPlan& p) {
      set_in_place(p.workloads[0], false);
      if ((what & 1) != 0) take_norm(p.workloads[0]);
      if ((what & 2) != 0) take_append(p.workloads[0]);
      lay_out(p.workloads[0]);
    });
    for (const char* name : {"fuses", "fuses (unfused)", "fuses (unfused) (twin)"}) {
      const TimingRow* row = outcome.of(name);
      ASSERT_TRUE(row != nullptr && row->outcome == Outcome::measured) << name;
      EXPECT_TRUE(row->reverified > 0 && kernel_of(*row) == "fuses");
    }
    EXPECT_EQ(outcome.of("fuses (unfused)")->role, Role::baseline);
    EXPECT_NE(outcome.of("other")->reason.find("ROPE_EXT_"), std::string::npos);
  }
}

// Under a sanitizer an epoch may be a single call. Then the last of three calibration calls and
// eight rounds meet the cheat.
constexpr int right_calls = 8;
int calls = 0;

// Is right for the first calls, then does nothing.
std::int32_t apply_lazy(const rope_problem* p, const rope_operands* o, void*) {
  return ++calls <= right_calls ? apply_toy(p, o, nullptr) : ROPE_OK;
}
std::int32_t apply_without_tail(const rope_problem* p, const rope_operands* o, void*) {
  return rotate_toy(p, o, ++calls <= right_calls ? p->tokens : p->tokens - 1);
}
std::int32_t apply_tiring(const rope_problem* p, const rope_operands* o, void*) {
  return ++calls <= right_calls ? apply_toy(p, o, nullptr) : ROPE_FAILED;
}
std::int32_t apply_throwing(const rope_problem* p, const rope_operands* o, void*) {
  if (++calls > right_calls) throw std::bad_alloc();
  return apply_toy(p, o, nullptr);
}
std::int32_t apply_rounding_down(const rope_problem* p, const rope_operands* o, void*) {
  if (++calls > right_calls) std::fesetround(FE_DOWNWARD);
  return apply_toy(p, o, nullptr);
}
// Writes the last element that it only reads.
std::int32_t apply_writing(const rope_problem* p, const rope_operands* o, void*) {
  const std::int32_t status = apply_toy(p, o, nullptr);
  auto* last = static_cast<float*>(const_cast<void*>(o->tensor[1].in)) + p->tensor[1].heads * 8 - 1;
  if (++calls > right_calls) *last = 0.3f;
  return status;
}
// Remembers the output of its first forward call.
std::int32_t apply_cached(const rope_problem* p, const rope_operands* o, void*) {
  static std::vector<float> kept[2];
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    const auto size = static_cast<std::size_t>(p->batch * p->tokens * p->tensor[i].heads * 8);
    auto* out = static_cast<float*>(o->tensor[i].out);
    if (calls == 0 && i == 0) apply_toy(p, o, nullptr);
    if (calls == 0) kept[i].assign(out, out + size);
    std::copy(kept[i].begin(), kept[i].end(), out);
  }
  ++calls;
  return ROPE_OK;
}

TEST(Paired, WhoTurnsWrongWhileTimedIsBrokenAndTheRestComplete) {
  const rope_kernel good = toy_kernel("good"), plain = toy_kernel("plain");
  struct Cheat {
    const char* name;
    std::int32_t (*apply)(const rope_problem*, const rope_operands*, void*);
    const char* why;
  };
  for (const Cheat& cheat :
       {Cheat{"lazy", apply_lazy, "the exact rotation"},
        Cheat{"without_tail", apply_without_tail, "token 2"},
        Cheat{"cached", apply_cached, "the exact rotation"}, Cheat{"writing", apply_writing, ""},
        Cheat{"tiring", apply_tiring, "apply answered 2"},
        Cheat{"throwing", apply_throwing, "an exception left the kernel: std::bad_al"},
        Cheat{"rounding", apply_rounding_down, "floating-point environment changed"}})
    for (const bool in_place : {true, false}) {
      rope_kernel bad = toy_kernel(cheat.name);
      bad.apply = cheat.apply;
      calls = 0;
      const PairedOutcome outcome = run(
          {&good, &plain, &bad}, [&](PairedPlan& p) { set_in_place(p.workloads[0], in_place); });
      EXPECT_EQ(outcome.status, 0);
      const bool writes = cheat.apply == apply_writing && !in_place;
      expect_broken(outcome, cheat.name, writes ? "wrote into its input" : cheat.why);
      EXPECT_EQ(std::fegetround(), FE_TONEAREST);
      for (const char* kernel : {"good", "plain", "plain (twin)"}) {
        ASSERT_NE(outcome.of(kernel), nullptr);
        EXPECT_EQ(outcome.of(kernel)->outcome, Outcome::measured)
            << kernel << " beside " << cheat.name;
        EXPECT_FALSE(outcome.of(kernel)->ns_per_token.empty());
      }
    }
}

TEST(Paired, WhatPrepareTakesStandsInTheRow) {
  rope_kernel slow = toy_kernel("slow");
  slow.prepare = [](const rope_problem*, void** state) {
    std::this_thread::sleep_for(std::chrono::milliseconds(6));
    *state = new std::vector<char>(1 << 20);
    return std::int32_t{ROPE_OK};
  };
  slow.release = [](void* state) { delete static_cast<std::vector<char>*>(state); };
  const rope_kernel good = toy_kernel("good");
  const PairedOutcome outcome = run({&good, &slow});
  EXPECT_GE(outcome.of("slow")->prepare_s, 0.012) << "two states, as it turns forward and back";
  EXPECT_NE(words_beside(*outcome.of("slow")).find("prepare takes"), std::string::npos);
  EXPECT_EQ(outcome.of("good")->prepare_s, 0);
  EXPECT_EQ(outcome.of("good")->kept_bytes, 0);
#if defined(__GLIBC__) && !defined(ROPEWALK_SANITIZED)
  EXPECT_GE(outcome.of("slow")->kept_bytes, 2 << 20);
#endif
}

std::int32_t apply_twice_wrong(const rope_problem* p, const rope_operands* o, void*) {
  static_cast<float*>(o->tensor[1].out)[48] = 1;  // K has 2 x 3 x 8 elements
  apply_toy(p, o, nullptr);
  const_cast<rope_problem*>(p)->attention_scale = 2;
  return ROPE_OK;
}
std::int32_t apply_to_the_past(const rope_problem* p, const rope_operands* o, void* state) {
  static_cast<rope_problem*>(state)->tokens = 1;
  return apply_toy(p, o, nullptr);
}

TEST(Paired, WhatAKernelDamagedIsItsOwnFault) {
  const rope_kernel good = toy_kernel("good");
  rope_kernel twice = toy_kernel("twice"), past = toy_kernel("past");
  twice.apply = apply_twice_wrong;
  past.prepare = [](const rope_problem* p, void** state) -> std::int32_t {
    *state = const_cast<rope_problem*>(p);
    return ROPE_OK;
  };
  past.release = [](void*) {};
  past.apply = apply_to_the_past;
  for (const auto& [wrong, why] :
       {std::pair{&twice, "wrote into rope_problem"}, {&past, "that prepare was shown"}}) {
    const PairedOutcome outcome = run({&good, wrong});
    expect_broken(outcome, wrong->name, why);
    EXPECT_EQ(outcome.of("good")->outcome, Outcome::measured) << outcome.of("good")->reason;
  }
}

TEST(Paired, WhoThrowsBeforeItIsTimedIsBroken) {
  const rope_kernel good = toy_kernel("good");
  rope_kernel unprepared = toy_kernel("unprepared"), unasked = toy_kernel("unasked");
  unprepared.prepare = [](const rope_problem*, void**) -> std::int32_t { throw 1; };
  expect_broken(run({&good, &unprepared}), "unprepared", "an exception left the kernel");
  unasked.supports = [](const rope_problem*, const char**) -> std::int32_t { throw 1; };
  EXPECT_THROW(run({&good, &unasked}), std::runtime_error);  // the parent names it by the label
  const PairedOutcome told =
      run({&good, &unasked}, [](PairedPlan& p) { p.kernels[1].broken_reason = "supports CRASH"; });
  expect_broken(told, "unasked", "supports CRASH");
}

std::int32_t apply_with_help(const rope_problem* p, const rope_operands* o, void*) {
  std::thread([&] { apply_toy(p, o, nullptr); }).join();
  return ROPE_OK;
}

TEST(Paired, WhoRunsAnotherThreadWhileTimedEndsTheProcessUnderItsName) {
#ifdef ROPEWALK_SANITIZED
  GTEST_SKIP() << "a sanitizer has threads of its own";
#endif
  const rope_kernel good = toy_kernel("good");
  rope_kernel helped = toy_kernel("helped");
  helped.apply = apply_with_help;
  std::string last;
  const std::string told = refusal_by<std::runtime_error>([&] {
    run({&good, &helped},
        [&](PairedPlan& p) { p.now_running = [&](const std::string& label) { last = label; }; });
  });
  EXPECT_NE(told.find("ran another thread"), std::string::npos) << told;
  EXPECT_EQ(last, "helped|toy/a");
}

TEST(Paired, WhoMayNotBeCalledIsSkippedWithTheReason) {
  const rope_kernel good = toy_kernel("good");
  rope_kernel alone = toy_kernel("alone");
  const PairedOutcome unverified =
      run({&good, &alone}, [](PairedPlan& p) { p.kernels[1].unverified = {"toy/a"}; });
  EXPECT_EQ(unverified.of("alone")->outcome, Outcome::skipped);
  EXPECT_TRUE(unverified.of("alone")->ns_per_token.empty());
  if (allowed_cpus().size() < 2) GTEST_SKIP() << "one processor";
  alone.flags &= ~static_cast<std::uint32_t>(ROPE_THREAD_SAFE);
  const PairedOutcome outcome = run({&good, &alone}, [](PairedPlan& p) { p.threads = 2; });
  for (const TimingRow& row : outcome.rows)
    if (row.kernel == "alone") {
      EXPECT_EQ(row.outcome, row.threads == 1 ? Outcome::measured : Outcome::skipped);
      EXPECT_EQ(row.reason, row.threads == 1 ? "" : "does not promise ROPE_THREAD_SAFE");
    }
}

TEST(Paired, WhatIsDoneUnsupportedOrBrokenIsNotTimed) {
  const rope_kernel good = toy_kernel("good"), bad = toy_kernel("bad");
  rope_kernel other = toy_kernel("other");
  other.supports = [](auto*, auto**) -> std::int32_t { return ROPE_UNSUPPORTED; };
  rope_kernel launched = toy_kernel("launched"), device = toy_kernel("device");
  launched.flags |= ROPE_HOST_LAUNCHER;
  device.memory = ROPE_CUDA;
  const PairedOutcome outcome = run({&good, &bad, &other, &launched, &device}, [](PairedPlan& p) {
    p.kernels[1].broken_reason = "agreement FAIL";
  });
  expect_broken(outcome, "bad", "agreement FAIL");
  for (const char* name : {"other", "launched", "device"})
    EXPECT_EQ(outcome.of(name), nullptr) << name;
  EXPECT_EQ(outcome.of("good")->role, Role::baseline);
  EXPECT_EQ(run({&other}).status, 3);
  const PairedOutcome done = run({&good}, [](PairedPlan& p) {
    p.done = {group_name("toy/a", "half_split / f32 / in place / table", 1)};
  });
  EXPECT_EQ(done.status, 0);
  EXPECT_TRUE(done.rows.empty());
  const PairedOutcome huge =
      run({&good}, [](PairedPlan& p) { p.workloads[0].batch = std::int64_t{1} << 40; });
  ASSERT_EQ(huge.rows.size(), 1u);
  EXPECT_EQ(huge.rows[0].outcome, Outcome::skipped);
}

TEST(Paired, CallsNeverMeetTheSameRowsSoon) {
  const rope_kernel good = toy_kernel("good");
  rope_kernel watching = toy_kernel("watching");
  // The first position of each call; static because a kernel may not allocate.
  static std::vector<std::int32_t> positions(1 << 20);
  static std::size_t calls_made = 0;
  calls_made = 0;
  watching.apply = [](const rope_problem* p, const rope_operands* o, void*) -> std::int32_t {
    positions[calls_made++ % positions.size()] = *static_cast<const std::int32_t*>(o->positions);
    return apply_toy(p, o, nullptr);
  };
  for (const bool cold : {true, false}) {
    const PairedOutcome outcome = run({&good, &watching}, [&](PairedPlan& p) {
      p.workloads[0].cold = p.workloads[0].scattered = cold;
    });
    EXPECT_EQ(outcome.of("watching")->outcome, Outcome::measured) << outcome.of("watching")->reason;
    EXPECT_GT(outcome.of("watching")->reverified, 0);
    EXPECT_EQ(outcome.of("watching")->table_bytes,
              (cold ? 131072 : 3 + position_window - 1) * 8 * 4);
    const std::size_t noted = std::min(calls_made, positions.size());
    const std::set<std::int32_t> seen(positions.begin(), positions.begin() + std::ptrdiff_t(noted));
    EXPECT_GT(seen.size(), std::min(noted, std::size_t{position_window}) / 4) << "of " << noted;
    // What a kernel would find among the last 32 rows that it kept. In place, the call back has the
    // position of the call forward.
    std::size_t found = 0;
    for (auto last = positions.begin() + 32; last < positions.begin() + std::ptrdiff_t(noted);
         ++last)
      found += *last != last[-1] && std::find(last - 32, last - 1, *last) != last - 1 ? 1U : 0U;
    EXPECT_LE(found, noted / 20) << "of " << noted;
    calls_made = 0;
  }
}

TEST(Paired, CeilingsArePickedInRoundsOfTheirOwn) {
  PairedPlan plan;
  plan.workloads = {small_workload("toy/a"), small_workload("toy/b")};
  set_in_place(plan.workloads[1], false);
  plan.rounds = 6;
  plan.epoch_s = 2e-5;
  plan.seed = 5;
  plan.on_row = [&](const TimingRow& row) { plan.ceilings[row.workload].push_back(row.variant); };
  EXPECT_EQ(pick_ceilings(plan), 0);
  ASSERT_EQ(plan.ceilings.size(), 2u);
  const rope_kernel good = toy_kernel("good");
  const PairedOutcome scored = run({&good}, [&](PairedPlan& p) { p.ceilings = plan.ceilings; });
  EXPECT_EQ(plan.ceilings.at("toy/a"), std::vector<std::string>{scored.rows.back().variant});
  // Out of place there may be one of each kind, and each has a row of its own.
  const PairedOutcome copied = run({&good}, [&](PairedPlan& p) {
    p.workloads = {plan.workloads[1]};
    std::map<bool, std::string> of_kind;
    for (const CeilingLoop& loop : copy_loops()) of_kind[goes_past_caches(loop.name)] = loop.name;
    for (const auto& [past, name] : of_kind) p.ceilings[p.workloads[0].name].push_back(name);
  });
  std::map<std::string, std::string> variants;
  for (const TimingRow& row : copied.rows)
    if (row.is_ceiling()) variants[row.kernel] = row.variant;
  EXPECT_FALSE(goes_past_caches(variants.at("ceiling_copy")));
#if defined(__x86_64__)
  EXPECT_TRUE(goes_past_caches(variants.at("ceiling_copy_past_caches")));
#endif
}

}  // namespace
}  // namespace ropewalk::bench
