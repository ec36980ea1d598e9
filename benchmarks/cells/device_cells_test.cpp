// Cells of a device, with the stand-in for the driver: toys that hold, and what each wrong one is
// called.
#include "benchmarks/cells/device_cells.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/random.h"
#include "benchmarks/testing/device_toys.h"
#include "benchmarks/workloads/traffic.h"

namespace ropewalk::bench {
namespace {

using report::Outcome;

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

std::set<const void*> turned;
template <class Data>
void turn_and_note(const rope_problem& p, const rope_operands& o) {
  turned.insert(o.tensor[0].out);
  turn<Data>(p, o);
}

std::int32_t supports_forward(const rope_problem* p, const char** reason) {
  return p->operation == ROPE_FORWARD ? supports_toy(p, reason) : ROPE_UNSUPPORTED;
}

TEST(DeviceCells, RightKernelsHoldAfterAnyNumberOfCalls) {
  rope_kernel both = device_toy("both", apply_there<turn_and_note<float>>), forward = both,
              bf16 = device_toy("bf16", apply_there<turn_and_note<Bf16>>), interpreted = both;
  forward.supports = supports_forward;
  bf16.supports = supports_bf16;
  interpreted.flags |= ROPE_INTERPRETED;
  for (const rope_kernel* kernel : {&both, &forward, &bf16, &interpreted})
    for (const bool in_place : {true, false}) {
      const bool as_graph = kernel != &interpreted;
      StandInSets there(placed(in_place, kernel == &bf16 ? Dtype::bf16 : Dtype::f32),
                        as_graph ? "l2=1024" : "l2=1024,cannot_capture");
      const KernelPlan plan = plan_of(*kernel, there.workload);
      EXPECT_EQ(plan.alternates, in_place && kernel != &forward);
      const auto cell = make_device_cell(*kernel, plan, there.workload, there.sets);
      const auto [step, most] = *cell->own_calls();
      EXPECT_EQ(cell->row.sets, step);
      EXPECT_TRUE(cell->ready()) << "an interpreted one makes its first calls here";
      for (const std::int64_t calls : {std::int64_t{1}, step, step + 1, most + step}) {
        turned.clear();
        EXPECT_EQ(refusal_in(*cell, calls, 2), "") << kernel->name << in_place << " " << calls;
        EXPECT_EQ(std::ssize(turned), std::min(calls, step));
        EXPECT_GT(*cell->own_s(), 0);
      }
      // The stand-in reaches no event before a wait, so its host's clock also sees calls that put
      // their work one by one.
      EXPECT_TRUE(!as_graph || cell->end_rounds()) << cell->refusal->reason;
      EXPECT_EQ(cell->row.summary, as_graph ? ""
                                            : "; timed by events around its calls, not as a graph: "
                                              "apply answered 2");
      EXPECT_NO_THROW(cell->release());
    }
}

int runs = 0;
std::int64_t calls_of_replay = 1;
void* other_stream() {
  static void* stream = nullptr;
  if (stream == nullptr) cuStreamCreate(&stream, 0);
  return stream;
}

void nothing(const rope_problem&, const rope_operands&) {}
void tiring(const rope_problem& p, const rope_operands& o) {
  if (++runs <= 100 * calls_of_replay) turn<float>(p, o);
}
void cached(const rope_problem& p, const rope_operands& o) {
  static std::map<const void*, std::vector<float>> kept;
  auto* out = static_cast<float*>(o.tensor[0].out);
  if (runs++ == 0) kept.clear();
  const auto [at, is_new] = kept.try_emplace(out);
  if (is_new) {
    turn<float>(p, o);
    at->second.assign(out, out + 2 * 3 * 16);
  }
  std::copy(at->second.begin(), at->second.end(), out);
}
void late(const rope_problem& p, const rope_operands& o) {
  turn<float>(p, o);
  const auto sleep = [](void*) { usleep(200); };
  cuLaunchHostFunc(other_stream(), sleep, nullptr);
}
void moving(const rope_problem& p, const rope_operands& o) {
  turn<float>(p, o);
  *static_cast<char*>(const_cast<void*>(o.positions)) ^= 1;
}
void long_winded(const rope_problem& p, const rope_operands& o) {
  turn<float>(p, o);
  static_cast<char*>(o.tensor[1].out)[256] = 1;  // K has 192 bytes in a place of 256
}
void greedy(const rope_problem& p, const rope_operands& o) {
  turn<float>(p, o);
  static_cast<char*>(o.workspace)[100] = 1;
}
std::int32_t elsewhere(const rope_problem* p, const rope_operands* o, void*) {
  return put_on(other_stream(), turn<float>, *p, *o);
}
std::int32_t waiting(const rope_problem* p, const rope_operands* o, void*) {
  put_on(o->stream, turn<float>, *p, *o);
  cuStreamSynchronize(o->stream);
  return ROPE_OK;
}
std::int32_t throwing(const rope_problem*, const rope_operands*, void*) {
  throw std::runtime_error("a toy");
}
std::int32_t failing(const rope_problem*, const rope_operands*, void*) {
  return ROPE_FAILED;
}
std::int32_t signing(const rope_problem* p, const rope_operands* o, void* state) {
  const_cast<rope_operands*>(o)->positions = nullptr;
  return apply_there<nothing>(p, o, state);
}

TEST(DeviceCells, EachWrongKernelIsBrokenWithTheReason) {
  const struct {
    decltype(rope_kernel::apply) apply;
    const char* words;
  } breaches[] = {{apply_there<nothing>, "the exact rotation"},
                  {apply_there<tiring>, "the exact rotation"},
                  {apply_there<cached>, "the exact rotation"},
                  {elsewhere, "the exact rotation"},
                  {waiting, "the work cannot be captured into a graph: CUDA error 901"},
                  {apply_there<late>, "works outside its stream: "},
                  {apply_there<moving>, "apply wrote into its positions while timed"},
                  {apply_there<long_winded>, "apply wrote past the end of an output while timed"},
                  {apply_there<greedy>, "apply wrote outside its workspace while timed"},
                  {throwing, "an exception left the kernel: a toy while timed"},
                  {failing, "apply answered 2 while timed"},
                  {signing, "apply wrote into rope_operands while timed"}};
  for (const auto& [apply, words] : breaches)
    for (const bool in_place : {true, false}) {
      StandInSets there(placed(in_place));
      rope_kernel kernel = device_toy("wrong", apply);
      kernel.workspace_bytes = [](const rope_problem*) { return std::size_t{100}; };
      const KernelPlan plan = plan_of(kernel, there.workload);
      const auto cell = make_device_cell(kernel, plan, there.workload, there.sets);
      runs = 0;
      calls_of_replay = cell->row.sets;
      std::string reason = refusal_in(*cell, calls_of_replay, 110);
      if (!cell->end_rounds()) reason = cell->refusal->reason;
      EXPECT_NE(reason.find(words), std::string::npos) << words << ": " << reason;
      ASSERT_TRUE(cell->refusal);
      EXPECT_EQ(cell->refusal->outcome, Outcome::broken);
      EXPECT_FALSE(cell->is_fatal);
      EXPECT_EQ(runs > 100 * calls_of_replay, apply == apply_there<tiring>) << words;
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
    StandInSets there(w, limit.words);
    const KernelPlan plan = plan_of(kernel, there.workload);
    const auto cell = make_device_cell(kernel, plan, there.workload, there.sets);
    EXPECT_EQ(refusal_in(*cell, cell->own_calls()->step, 1), limit.reason);
    ASSERT_TRUE(cell->refusal);
    EXPECT_EQ(cell->refusal->outcome, limit.outcome);
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
      for_each_element<float>(there.sets.here(), w, [&](auto, auto, double given, double left) {
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

}  // namespace
}  // namespace ropewalk::bench
