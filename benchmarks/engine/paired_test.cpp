// Toy kernels through the paired engine. The tests check which kernels get which rows, not how fast
// they are.
#include "benchmarks/engine/paired.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cfenv>
#include <map>
#include <new>
#include <span>
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

TEST(Paired, RoundsStandSideBySideOfOneThreadAndOfSeveral) {
  const std::vector<int> allowed = allowed_cpus();
  const int threads = allowed.size() < 2 ? 1 : 2;
  const rope_kernel first = toy_kernel("first"), second = toy_kernel("second");
  const PairedOutcome outcome = run({&first, &second}, [&](PairedPlan& p) { p.threads = threads; });
  EXPECT_EQ(outcome.status, 0);
  ASSERT_EQ(outcome.rows.size(), std::size_t(4 * threads));
  EXPECT_EQ(outcome.of("first")->role, Role::baseline);
  EXPECT_EQ(outcome.of("first (twin)")->role, Role::null_twin);
  EXPECT_EQ(outcome.of("second")->role, Role::kernel);
  EXPECT_EQ(outcome.rows[3].role, Role::ceiling);
  EXPECT_FALSE(outcome.rows[3].variant.empty());
  for (std::size_t i = 0; i < outcome.rows.size(); ++i) {
    const TimingRow& row = outcome.rows[i];
    EXPECT_EQ(row.threads, i < 4 ? 1 : 2);
    EXPECT_EQ(row.processors.empty(), i < 4);
    EXPECT_EQ(row.outcome, Outcome::measured);
    EXPECT_EQ(row.board, "half_split / f32 / in place / table");
    EXPECT_EQ(row.working_set_bytes, outcome.rows[i % 4].working_set_bytes);
    EXPECT_EQ(row.ns_per_token.size(), 8u);  // two designs of four
    EXPECT_EQ(row.iterations, outcome.rows[i / 4 * 4].iterations);
    EXPECT_EQ(row.probe_ns.size(), row.iterations.size());
    for (const std::int64_t ns : row.probe_ns) EXPECT_GT(ns, 0);
    EXPECT_EQ(row.iterations.back() % 2, 1);
    EXPECT_GT(row.ns_per_token_median, 0);
    EXPECT_EQ(row.reverified > 0, !row.is_ceiling()) << row.kernel;
    EXPECT_GE(row.off_cpu_share, 0);
  }
  EXPECT_EQ(outcome.of("second")->table_bytes, (3 + position_window - 1) * 8 * 4);
  EXPECT_EQ(outcome.ran.count("first (twin)|toy/a"), 1u);
  EXPECT_EQ(allowed_cpus(), allowed) << "nothing stays pinned";
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
  // The last has tokens whose slots lie as far apart as their rows, which copies take together.
  constexpr int norm = 1, append = 2, far_slots = 4;
  for (const int what : {norm, append, norm | append, append | far_slots}) {
    std::size_t together = 0;
    const PairedOutcome outcome = run({&fuses, &other}, [&](PairedPlan& p) {
      Workload& w = p.workloads[0];
      set_in_place(w, false);
      if ((what & norm) != 0) take_norm(w);
      if ((what & append) != 0) take_append(w);
      if ((what & far_slots) != 0) w.layout = WorkloadLayout::fused;
      if ((what & far_slots) != 0) w.tokens = 60, w.page_size = 1;
      lay_out(w);
      for (const CeilingSpan& span : WorkloadData(w, 1).cache_spans(true))
        together += span.rows > 1;
    });
    EXPECT_EQ(together > 0, (what & far_slots) != 0);
    for (const char* name : {"fuses", "fuses (unfused)", "fuses (unfused) (twin)"}) {
      expect_measured(outcome, name);
      EXPECT_GT(outcome.of(name)->reverified, 0);
      EXPECT_EQ(kernel_of(*outcome.of(name)), "fuses");
    }
    EXPECT_EQ(outcome.of("fuses (unfused)")->role, Role::baseline);
    EXPECT_NE(outcome.of("other")->reason.find("ROPE_EXT_"), std::string::npos);
  }
}

// Under a sanitizer an epoch may be a single call. Then the last of three calibration calls and
// eight rounds meet the cheat.
constexpr int right_calls = 8;
int calls = 0;

// Is right for the first calls, then what `later` makes of them.
template <auto later>
std::int32_t in_the_end(const rope_problem* p, const rope_operands* o, void* state) {
  return ++calls <= right_calls ? apply_toy(p, o, state) : later(p, o, state);
}
constexpr auto fail = [](auto*, auto*, auto*) -> std::int32_t { return ROPE_FAILED; };
constexpr auto raise_bad_alloc = [](auto*, auto*, auto*) -> std::int32_t {
  throw std::bad_alloc();
};
constexpr auto round_down = [](auto* p, auto* o, auto*) {
  std::fesetround(FE_DOWNWARD);
  return apply_toy(p, o, nullptr);
};
// Writes the last element that it only reads.
constexpr auto write_input = [](auto* p, auto* o, auto*) {
  const std::int32_t status = apply_toy(p, o, nullptr);
  static_cast<float*>(const_cast<void*>(o->tensor[1].in))[p->tensor[1].heads * 8 - 1] = 0.3f;
  return status;
};
// Writes a byte from `at` on of what it may not write there, once its call is made.
std::int32_t write_byte(const rope_problem* p, const rope_operands* o, const void* at) {
  const std::int32_t status = apply_toy(p, o, nullptr);
  *static_cast<char*>(const_cast<void*>(at)) ^= 1;
  return status;
}
constexpr auto write_position = [](auto* p, auto* o, auto*) {
  return write_byte(p, o, o->positions);
};
constexpr auto write_past_workspace = [](auto* p, auto* o, auto*) {
  return write_byte(p, o, static_cast<const char*>(o->workspace) + 64);
};
constexpr auto write_past_output = [](auto* p, auto* o, auto*) {  // K has 2 x 3 x 8 elements
  return write_byte(p, o, static_cast<const float*>(o->tensor[1].out) + 48);
};
std::atomic<int> callers{0};
// Is right only for the thread that came first.
std::int32_t apply_for_one_thread(const rope_problem* p, const rope_operands* o, void*) {
  static thread_local const int me = callers++;
  return me == 0 ? apply_toy(p, o, nullptr) : ROPE_OK;
}
constexpr auto always_forward = [](ToyCall& call) { call.problem.operation = ROPE_FORWARD; };
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

void of_bf16(PairedPlan& p) {
  p.workloads[0].dtype = Dtype::bf16;
}
void backward(PairedPlan& p) {
  p.workloads[0].operation = Operation::transpose;
  p.rounds = 20;
}
void by_two_threads(PairedPlan& p) {
  p.threads = 2;
  p.rounds = 60;
}

TEST(Paired, WhoIsWrongIsBrokenAndTheRestComplete) {
  rope_kernel past = toy_kernel("past", apply_to_the_past), unprepared = toy_kernel("unprepared");
  past.prepare = [](const rope_problem* p, void** state) -> std::int32_t {
    *state = const_cast<rope_problem*>(p);
    return ROPE_OK;
  };
  past.release = [](void*) {};
  rope_kernel outside = toy_kernel("outside", in_the_end<write_past_workspace>);
  outside.workspace_bytes = [](const rope_problem*) { return std::size_t{64}; };
  unprepared.prepare = [](auto*, auto**) -> std::int32_t { throw 1; };
  struct Cheat {
    rope_kernel kernel;
    const char *in_place, *out_of_place = in_place;  ///< why it is broken
    void (*change)(PairedPlan&) = [](PairedPlan&) {};
    const char* board = "table";  ///< words in its name
    int threads = 1;
  };
  const char* const inexact = "the exact rotation";
  const char* const threw = "an exception left the kernel";
  const rope_kernel good = toy_kernel("good"), plain = toy_kernel("plain"),
                    lazy = toy_kernel("lazy", in_the_end<do_nothing>),
                    forward = toy_kernel("forward", apply_changed<always_forward>);
  for (const Cheat& cheat :
       {Cheat{lazy, inexact}, Cheat{lazy, inexact, inexact, of_bf16, "bf16"},
        Cheat{forward, inexact, inexact, backward, "place / transpose / table"},
        Cheat{toy_kernel("for_one_thread", apply_for_one_thread), "", "", by_two_threads, "table",
              2},
        Cheat{toy_kernel("without_tail", in_the_end<apply_toy<1>>), "token 2"},
        Cheat{toy_kernel("writing", in_the_end<write_input>), "", "wrote into its input"},
        Cheat{toy_kernel("positions", in_the_end<write_position>), "wrote into its positions"},
        Cheat{toy_kernel("past_output", in_the_end<write_past_output>),
              "past the end of an output"},
        Cheat{outside, "wrote outside its workspace"},
        Cheat{toy_kernel("tiring", in_the_end<fail>), "apply answered 2"},
        Cheat{toy_kernel("throwing", in_the_end<raise_bad_alloc>), "kernel: std::bad_al"},
        Cheat{toy_kernel("rounding", in_the_end<round_down>), "floating-point environment changed"},
        Cheat{toy_kernel("twice", apply_twice_wrong), "wrote into rope_problem"},
        Cheat{past, "that prepare was shown"}, Cheat{unprepared, threw}})
    for (const bool in_place : {true, false}) {
      if (std::ssize(allowed_cpus()) < cheat.threads) continue;
      SCOPED_TRACE(std::string(cheat.kernel.name) + ", " + cheat.board);
      calls = 0;
      const PairedOutcome outcome = run({&good, &plain, &cheat.kernel}, [&](PairedPlan& p) {
        set_in_place(p.workloads[0], in_place);
        cheat.change(p);
      });
      EXPECT_EQ(outcome.status, 0);
      expect_broken(outcome, cheat.kernel.name, in_place ? cheat.in_place : cheat.out_of_place,
                    cheat.threads);
      EXPECT_EQ(std::fegetround(), FE_TONEAREST);
      for (const char* kernel : {"good", "plain", "plain (twin)"}) expect_measured(outcome, kernel);
      EXPECT_NE(outcome.of("good")->board.find(cheat.board), std::string::npos);
    }
}

TEST(Paired, WhoTakesTheBackwardPassAloneIsTimed) {
  rope_kernel alone = toy_kernel("alone");
  alone.supports = supports_one<ROPE_TRANSPOSE>;
  for (const bool in_place : {true, false}) {
    const PairedOutcome outcome = run({&alone}, [&](PairedPlan& p) {
      set_in_place(p.workloads[0], in_place);
      backward(p);
    });
    expect_measured(outcome, "alone");
  }
}

// It shrinks to nothing in an epoch, and is right by what it declares.
TEST(Paired, ATruncatingKernelThatSaysSoIsTimed) {
  rope_kernel kernel = toy_kernel("truncates");
  kernel.error_bound = 16;
  kernel.apply = [](const rope_problem* p, const rope_operands* o, void*) {
    return rotate_toy<Bf16>(p, o, p->tokens, [](float x) {
      return Bf16{std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) & 0xffff0000u)};
    });
  };
  expect_measured(run({&kernel}, of_bf16), "truncates");
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

TEST(Paired, WhoThrowsWhenAskedEndsTheProcessAndIsBrokenInTheNext) {
  rope_kernel unasked = toy_kernel("unasked");
  unasked.supports = [](auto*, auto**) -> std::int32_t { throw 1; };
  EXPECT_THROW(run({&unasked}), std::runtime_error);  // the parent names it by the label
  const PairedOutcome told = run_beside_good(
      unasked, [](PairedPlan& p) { p.kernels[1].broken_reason = "supports CRASH"; });
  expect_broken(told, "unasked", "supports CRASH");
}

TEST(Paired, WhoRunsAnotherThreadWhileTimedEndsTheProcessUnderItsName) {
#ifdef ROPEWALK_SANITIZED
  GTEST_SKIP() << "a sanitizer has threads of its own";
#endif
  const rope_kernel good = toy_kernel("good");
  rope_kernel helped = toy_kernel("helped");
  helped.apply = [](const rope_problem* p, const rope_operands* o, void*) -> std::int32_t {
    std::thread([&] { apply_toy(p, o, nullptr); }).join();
    return ROPE_OK;
  };
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
  expect_measured(outcome, "alone");
  EXPECT_EQ(outcome.of("alone", 2)->outcome, Outcome::skipped);
  EXPECT_EQ(outcome.of("alone", 2)->reason, "does not promise ROPE_THREAD_SAFE");
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
  watching.apply = [](const rope_problem* p, const rope_operands* o, void*) -> std::int32_t {
    positions[calls_made++ % positions.size()] = *static_cast<const std::int32_t*>(o->positions);
    return apply_toy(p, o, nullptr);
  };
  for (const bool cold : {true, false}) {
    calls_made = 0;
    const PairedOutcome outcome = run({&good, &watching}, [&](PairedPlan& p) {
      p.workloads[0].cold = p.workloads[0].scattered = cold;
    });
    expect_measured(outcome, "watching");
    EXPECT_GT(outcome.of("watching")->reverified, 0);
    EXPECT_EQ(outcome.of("watching")->table_bytes,
              (cold ? 131072 : 3 + position_window - 1) * 8 * 4);
    const std::span noted(positions.data(), std::min(calls_made, positions.size()));
    const std::set<std::int32_t> seen(noted.begin(), noted.end());
    EXPECT_GT(seen.size(), std::min(noted.size(), std::size_t{position_window}) / 4);
    // What a kernel would find among the last 32 rows that it kept. In place, the call back has the
    // position of the call forward.
    std::size_t found = 0;
    for (auto last = noted.begin() + 32; last < noted.end(); ++last)
      found += *last != last[-1] && std::find(last - 32, last - 1, *last) != last - 1 ? 1U : 0U;
    EXPECT_LE(found, noted.size() / 20) << "of " << noted.size();
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
