// Cells of a device and the sets of buffers they work on, with the stand-in for the driver: toys
// that hold, and what each wrong one is called.
#include "benchmarks/cells/device_cells.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "benchmarks/testing/device_toys.h"
#include "benchmarks/workloads/traffic.h"
#include "benchmarks/workloads/workload_layout.h"

namespace ropewalk::bench {
namespace {

using report::Outcome, report::WorkloadPhase;

/// Makes epochs of so many calls, each judged. Returns the refusal, if any.
std::string refusal_in(Cell& cell, std::int64_t calls, int epochs) {
  Oracle oracle;
  std::uint64_t random = 3;
  for (int epoch = 0; epoch < epochs && cell.ready(); ++epoch) {
    if (!cell.run(cell.draw_epoch(calls, random)) || !cell.keeps_arguments()) break;
    const bool holds = cell.judge(oracle, next_random(random));
    EXPECT_EQ(holds, cell.kernel() != nullptr && !cell.refusal);
  }
  return cell.refusal ? cell.refusal->reason : "";
}

/// A kernel on the buffers of a workload there.
struct KernelThere : StandInSets {
  KernelThere(const rope_kernel& kernel, Workload w, const std::string& words = "l2=1024")
      : StandInSets(std::move(w), words),
        plan(plan_of(kernel, workload)),
        cell(make_device_cell(kernel, plan, workload, sets)) {}
  KernelPlan plan;
  std::unique_ptr<Cell> cell;
};

std::set<const void*> turned;
void turn_and_note(const rope_problem& p, const rope_operands& o) {
  turned.insert(o.tensor[0].out);
  turn(p, o);
}

TEST(DeviceCells, RightKernelsHoldAfterAnyNumberOfCalls) {
  const rope_kernel both = device_toy("both", apply_there<turn_and_note>);
  rope_kernel forward = both, interpreted = both;
  forward.supports = supports_one<ROPE_FORWARD>;
  interpreted.flags |= ROPE_INTERPRETED;
  const struct {
    const rope_kernel& kernel;
    Dtype dtype = Dtype::f32;
    bool alternates = true, as_graph = true;
  } rows[] = {{both},
              {forward, Dtype::f32, false},
              {both, Dtype::bf16},
              {interpreted, Dtype::f32, true, false}};
  for (const auto& [kernel, dtype, alternates, as_graph] : rows)
    for (const bool in_place : {true, false}) {
      const KernelThere there(kernel, placed(in_place, dtype),
                              as_graph ? "l2=1024" : "l2=1024,cannot_capture");
      Cell& cell = *there.cell;
      EXPECT_EQ(there.plan.alternates, in_place && alternates);
      const auto [step, most] = *cell.own_calls();
      EXPECT_EQ(cell.row.sets, step);
      EXPECT_TRUE(cell.ready()) << "an interpreted one makes its first calls here";
      for (const std::int64_t calls : {std::int64_t{1}, step, step + 1, most + step}) {
        turned.clear();
        EXPECT_EQ(refusal_in(cell, calls, 2), "") << kernel.name << in_place << " " << calls;
        EXPECT_EQ(std::ssize(turned), std::min(calls, step));
        EXPECT_GT(*cell.own_s(), 0);
      }
      // The stand-in reaches no event before a wait, so its host's clock also sees calls that put
      // their work one by one.
      EXPECT_TRUE(!as_graph || cell.end_rounds()) << cell.refusal->reason;
      EXPECT_EQ(cell.row.summary, as_graph ? ""
                                           : "; timed by events around its calls, not as a graph: "
                                             "apply answered 2");
      EXPECT_NO_THROW(cell.release());
    }
}

int runs = 0;
std::int64_t calls_of_replay = 1;
void* other_stream() {
  static void* stream = nullptr;
  if (stream == nullptr) cuStreamCreate(&stream, 0);
  return stream;
}

void tiring(const rope_problem& p, const rope_operands& o) {
  if (++runs <= 100 * calls_of_replay) turn(p, o);
}
void cached(const rope_problem& p, const rope_operands& o) {
  static std::map<const void*, std::vector<float>> kept;
  auto* out = static_cast<float*>(o.tensor[0].out);
  if (runs++ == 0) kept.clear();
  const auto [at, is_new] = kept.try_emplace(out);
  if (is_new) {
    turn(p, o);
    at->second.assign(out, out + 2 * 3 * 16);
  }
  std::ranges::copy(at->second, out);
}
void late(const rope_problem& p, const rope_operands& o) {
  turn(p, o);
  const auto sleep = [](void*) { usleep(200); };
  cuLaunchHostFunc(other_stream(), sleep, nullptr);
}
/// Changes a byte too.
template <auto byte_of>
void spilling(const rope_problem& p, const rope_operands& o) {
  turn(p, o);
  ++*byte_of(o);
}
constexpr auto position = [](auto& o) {
  return static_cast<char*>(const_cast<void*>(o.positions));
};
// K has 192 bytes in a place of 256.
constexpr auto behind_k = [](auto& o) { return static_cast<char*>(o.tensor[1].out) + 256; };
constexpr auto behind_workspace = [](auto& o) { return static_cast<char*>(o.workspace) + 100; };
std::int32_t elsewhere(const rope_problem* p, const rope_operands* o, void*) {
  return put_on(other_stream(), turn, *p, *o);
}
std::int32_t waiting(const rope_problem* p, const rope_operands* o, void*) {
  put_on(o->stream, turn, *p, *o);
  cuStreamSynchronize(o->stream);
  return ROPE_OK;
}
std::int32_t signing(const rope_problem* p, const rope_operands* o, void* state) {
  const_cast<rope_operands*>(o)->positions = nullptr;
  return apply_there<turn_nothing>(p, o, state);
}

TEST(DeviceCells, EachWrongKernelIsBrokenWithTheReason) {
  const struct {
    const char* name;
    Apply apply;
    const char* words = "the exact rotation";
  } breaches[] = {
      {"nothing", apply_there<turn_nothing>},
      {"tiring", apply_there<tiring>},
      {"cached", apply_there<cached>},
      {"elsewhere", elsewhere},
      {"waiting", waiting, "the work cannot be captured into a graph: CUDA error 901"},
      {"late", apply_there<late>, "works outside its stream: "},
      {"positions", apply_there<spilling<position>>, "wrote into its positions while timed"},
      {"output", apply_there<spilling<behind_k>>, "wrote past the end of an output while timed"},
      {"workspace", apply_there<spilling<behind_workspace>>,
       "wrote outside its workspace while timed"},
      {"throwing", [](auto*, auto*, auto*) -> std::int32_t { throw std::runtime_error("a toy"); },
       "an exception left the kernel: a toy while timed"},
      {"failing", [](auto*, auto*, auto*) -> std::int32_t { return ROPE_FAILED; },
       "apply answered 2 while timed"},
      {"signing", signing, "apply wrote into rope_operands while timed"}};
  for (const auto& [name, apply, words] : breaches)
    for (const bool in_place : {true, false}) {
      SCOPED_TRACE(name);
      rope_kernel kernel = device_toy(name, apply);
      kernel.workspace_bytes = [](const rope_problem*) { return std::size_t{100}; };
      const KernelThere there(kernel, placed(in_place));
      Cell& cell = *there.cell;
      runs = 0;
      calls_of_replay = cell.row.sets;
      refusal_in(cell, calls_of_replay, 110);
      cell.end_rounds();
      const Refusal refusal = cell.refusal.value_or(Refusal{Outcome::measured, ""});
      EXPECT_NE(refusal.reason.find(words), std::string::npos) << refusal.reason;
      EXPECT_EQ(refusal.outcome, Outcome::broken);
      EXPECT_FALSE(cell.is_fatal);
      EXPECT_EQ(runs > 100 * calls_of_replay, apply == apply_there<tiring>);
    }
}

TEST(DeviceCells, WhatCannotBeTimedIsSkippedOrBroken) {
  const struct {
    std::int64_t tokens;
    const char *words, *reason;
    Outcome outcome;
  } limits[] = {
      {3, "l2=393217",
       "is not offered on this device: 2049 sets of buffers are three times its "
       "cache, and a graph has 4096 calls",
       Outcome::skipped},
      {1 << 16, "l2=1024,memory=8912896",
       "1 set of buffers needs 12 MiB of device memory, and 8 are free", Outcome::skipped},
      {3, "l2=1024,cannot_capture", "apply answered 2 while timed", Outcome::broken}};
  const rope_kernel kernel = device_toy("toy");
  for (const auto& limit : limits) {
    Workload w = placed(true);
    w.tokens = limit.tokens;
    const KernelThere there(kernel, w, limit.words);
    EXPECT_EQ(refusal_in(*there.cell, there.cell->own_calls()->step, 1), limit.reason);
    ASSERT_TRUE(there.cell->refusal);
    EXPECT_EQ(there.cell->refusal->outcome, limit.outcome);
  }
}

TEST(DeviceCells, CeilingsMoveTheBytesAndFloorsLeaveThem) {
  for (const bool in_place : {true, false}) {
    Workload w = placed(in_place);
    w.rotary_dim = 16;
    set_heads(w, {2, 16}, {1, 16});  // no gap between Q and K
    StandInSets there(w);
    const auto expect_left = [&](Cell& cell, double factor) {
      EXPECT_EQ(refusal_in(cell, cell.row.sets, 1), "");
      std::int64_t wrong = 0;
      for_each_element_there(there.sets.here(), w, [&](auto&, auto, double given, double left) {
        wrong += left != factor * given;
      });
      EXPECT_EQ(wrong, 0) << cell.row.kernel << " " << cell.row.variant;
    };
    for (std::string variant : {"", in_place ? "update_8_streaming" : "memcpy"}) {
      const std::string wanted = variant;
      const auto ceiling = make_device_ceiling(there.workload, there.sets, variant);
      expect_left(*ceiling, in_place ? -1 : 1);
      EXPECT_EQ(variant, wanted.empty() ? ceiling->row.variant : wanted);
      EXPECT_TRUE(variant.starts_with(in_place ? "update_" : "copy_") || variant == "memcpy");
      EXPECT_EQ(ceiling->row.bytes, ceiling_traffic_bytes(w));
    }
    for (const bool copies : {false, true}) {
      const auto floor = make_device_floor(there.workload, there.sets, copies);
      EXPECT_EQ(refusal_in(*floor, 2 * floor->row.sets, 2), "");
      if (in_place) expect_left(*floor, 1);
      EXPECT_EQ(floor->row.kernel, copies ? "floor_copy" : "floor");
      EXPECT_TRUE(floor->row.is_floor());
    }
  }
}

TEST(DeviceSets, APrefillHasThreeTimesTheCache) {
  Workload w = small_workload("toy/a");  // 576 bytes of data
  for (const auto& [cache, sets] : {std::pair{0, 1}, {192, 1}, {193, 2}, {1024, 6}}) {
    EXPECT_EQ(sets_of(w, cache), sets) << cache;
    for (const WorkloadPhase one : {WorkloadPhase::decode, WorkloadPhase::working_set}) {
      Workload stays = w;
      stays.phase = one;
      EXPECT_EQ(sets_of(stays, cache), 1);
    }
  }
  set_in_place(w, false);
  EXPECT_EQ(sets_of(w, 1024), 3);
}

TEST(DeviceSets, TheFloorReadsWholeVectors) {
  Workload w = small_workload("toy/a");
  EXPECT_TRUE(has_floor_copy(w));
  w.rotary_dim = 4;
  EXPECT_FALSE(has_floor_copy(w)) << "half a vector of cosines";
  w.rotary_dim = 8;
  w.dtype = Dtype::bf16;
  set_heads(w, {1, 2}, {1, 2});
  set_in_place(w, false);
  EXPECT_FALSE(has_floor_copy(w)) << "half a vector of data";
}

// Writes a token's position into element 0 of each head, and the others' negatives.
template <class Data>
void note_position(const rope_problem& p, const rope_operands& o) {
  for_each_token(p, o, [&](const Token& token) {
    for_each_head<Data>(p, o, token, [&](const Head<Data>& head) {
      for (std::int64_t i = 0; i < p.rotary_dim; ++i)
        head.out[i] = Data(i == 0 ? static_cast<TableOf<Data>>(token.position)
                                  : -static_cast<TableOf<Data>>(head.in[i]));
    });
  });
}

TEST(DeviceSets, WhatIsJudgedIsWhatACallGetsAndLeaves) {
  for (const std::string_view word : timed_dtypes)
    for (const WorkloadLayout layout : layouts)
      for (const bool in_place : {true, false}) {
        Workload w = placed(in_place, dtype_of(word));
        w.layout = layout;
        w.position_dtype = in_place ? Dtype::i64 : Dtype::i32;
        lay_out(w);
        StandInSets there(w);
        DeviceSets& sets = there.sets.here();
        const rope_problem problem =
            make_problem(w, sets.inv_freq(false), ROPE_ANGLES_TABLE, Operation::forward);
        with_floating_type(w.dtype, [&]<class Data>(std::type_identity<Data>) {
          for (const int epoch : {0, 1}) {
            sets.renew();
            for (std::int64_t set = 0; set < sets.count(); ++set)
              put_on(there.module.stream(), note_position<Data>, problem, sets.operands(true, set));
            there.device->wait_for_all("in a test");
            std::int64_t wrong = 0, all = 0;
            for_each_element_there(sets, w, [&](auto& at, auto i, double given, double left) {
              const auto token = static_cast<std::size_t>(at.b * w.tokens + at.t);
              ++all;
              wrong += left != (i == 0 ? sets.last_positions()[token] : -given);
            });
            EXPECT_EQ(wrong, 0) << word << " " << static_cast<int>(layout) << " " << epoch;
            EXPECT_EQ(all, sets.count() * 2 * 3 * 24);
            EXPECT_NO_THROW(sets.hold_bytes());
          }
        });
      }
}

}  // namespace
}  // namespace ropewalk::bench
