// Kernels that leave out most of their timed calls, and how each chooses which.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>

#include "benchmarks/testing/paired_run.h"

namespace ropewalk::bench {
namespace {

using report::Outcome;

constexpr std::size_t floats[2] = {2 * 3 * 2 * 8, 2 * 3 * 8};  // of Q and K of the toy workload

// One cheat at a time runs, in one thread. Static, since a kernel may not allocate.
std::int64_t made = 0;
std::chrono::steady_clock::time_point ended;
float seen[2][2][2];  // by tensor, of input and output: the first element and the last
std::int32_t positions_kept[6];
float answers[2][2][floats[0]];  // the last two, by tensor

const float* in_of(const rope_operands* o, int i) {
  return static_cast<const float*>(o->tensor[i].in);
}
float* out_of(const rope_operands* o, int i) {
  return static_cast<float*>(o->tensor[i].out);
}

/// Leaves a call out that follows the last one at once. Verification, a profiler and a debugger see
/// every call made.
std::int32_t if_late(const rope_problem* p, const rope_operands* o, void*) {
  const bool at_once = std::chrono::steady_clock::now() - ended < std::chrono::microseconds(1);
  const std::int32_t status = at_once && ++made > 50 ? ROPE_OK : apply_toy(p, o, nullptr);
  ended = std::chrono::steady_clock::now();
  return status;
}
std::int32_t one_in_eight(const rope_problem* p, const rope_operands* o, void*) {
  return made++ % 8 == 0 ? apply_toy(p, o, nullptr) : ROPE_OK;
}
std::int32_t if_ends_differ(const rope_problem* p, const rope_operands* o, void*) {
  bool differs = false;
  for (const int i : {0, 1})
    for (const int end : {0, 1}) {
      const std::size_t at = end == 0 ? 0 : floats[i] - 1;
      differs =
          differs || seen[i][0][end] != in_of(o, i)[at] || seen[i][1][end] != out_of(o, i)[at];
    }
  if (differs) apply_toy(p, o, nullptr);
  for (const int i : {0, 1})
    for (const int end : {0, 1}) {
      const std::size_t at = end == 0 ? 0 : floats[i] - 1;
      seen[i][0][end] = in_of(o, i)[at];
      seen[i][1][end] = out_of(o, i)[at];
    }
  return ROPE_OK;
}
std::int32_t last_but_one(const rope_problem* p, const rope_operands* o, void*) {
  const std::int64_t slot = made++ % 2;
  if (made <= 8) {
    apply_toy(p, o, nullptr);
    for (const int i : {0, 1}) std::memcpy(answers[slot][i], out_of(o, i), floats[i] * 4);
    return ROPE_OK;
  }
  rope_operands later = *o;
  float next[2][floats[0]];
  for (const int i : {0, 1}) later.tensor[i].out = next[i];
  apply_toy(p, &later, nullptr);
  for (const int i : {0, 1}) {
    std::memcpy(out_of(o, i), answers[slot][i], floats[i] * 4);
    std::memcpy(answers[slot][i], next[i], floats[i] * 4);
  }
  return ROPE_OK;
}
std::int32_t fourth_positions(const rope_problem* p, const rope_operands* o, void*) {
  if (made++ < 4) std::memcpy(positions_kept, o->positions, sizeof positions_kept);
  rope_operands kept = *o;
  kept.positions = positions_kept;
  return apply_toy(p, &kept, nullptr);
}
/// In place: turns forward by the difference of the positions and never back.
std::int32_t by_the_difference(const rope_problem* p, const rope_operands* o, void*) {
  static std::int32_t before[6];
  rope_operands difference = *o;
  std::int32_t by[6];
  if (p->operation == ROPE_TRANSPOSE) {
    std::memcpy(before, o->positions, sizeof before);
    ++made;
    return ROPE_OK;
  }
  if (made == 0) return apply_toy(p, o, nullptr);
  bool forward = true;
  for (int i = 0; i < 6; ++i) {
    by[i] = static_cast<const std::int32_t*>(o->positions)[i] - before[i];
    forward = forward && by[i] >= 0;
  }
  rope_problem problem = *p;
  if (!forward) {
    problem.operation = ROPE_TRANSPOSE;
    for (std::int32_t& each : by) each = -each;
  }
  difference.positions = by;
  return apply_toy(&problem, &difference, nullptr);
}
/// In place: skips every second pair of backward and forward calls: the buffer already holds the
/// data turned forward.
std::int32_t half_the_pairs(const rope_problem* p, const rope_operands* o, void*) {
  static const void* left = nullptr;
  const void* data = o->tensor[0].out;
  if (p->operation == ROPE_TRANSPOSE) {
    left = data;
    return ROPE_OK;
  }
  const bool was_left = std::exchange(left, nullptr) == data && made++ % 2 == 0;
  return was_left ? ROPE_OK : apply_toy(p, o, nullptr);
}
/// Out of place: keeps an answer for each of the positions that come round, and looks at the ends
/// of the input.
std::int32_t all_of_the_window(const rope_problem* p, const rope_operands* o, void*) {
  static float kept[64][2][floats[0]], ends[64][2][2];
  const auto at = static_cast<std::size_t>(*static_cast<const std::int32_t*>(o->positions)) % 64;
  bool is_known = made > 0;
  for (const int i : {0, 1})
    is_known = is_known && ends[at][i][0] == in_of(o, i)[0] &&
               ends[at][i][1] == in_of(o, i)[floats[i] - 1];
  if (!is_known) apply_toy(p, o, nullptr);
  for (const int i : {0, 1}) {
    if (is_known) {
      std::memcpy(out_of(o, i), kept[at][i], floats[i] * 4);
    } else {
      std::memcpy(kept[at][i], out_of(o, i), floats[i] * 4);
      ends[at][i][0] = in_of(o, i)[0];
      ends[at][i][1] = in_of(o, i)[floats[i] - 1];
    }
  }
  ++made;
  return ROPE_OK;
}

/// Whether the buffers were filled anew since the last call: in place the data is not what it left,
/// out of place the output is NaN.
bool is_first_of_epoch(const rope_operands* o, float left) {
  float& now = out_of(o, 0)[0];
  if (o->tensor[0].in == o->tensor[0].out) return now != left;
  const bool is_first = std::isnan(now);
  if (is_first) now = 0;
  return is_first;
}
/// Learns how many calls an epoch has, and makes only the last.
std::int32_t last_alone(const rope_problem* p, const rope_operands* o, void*) {
  static std::int64_t of_this = 0, of_last = 0;
  static float left = 0;
  if (is_first_of_epoch(o, left)) of_last = std::exchange(of_this, 0);
  ++of_this;
  if (++made < 400 || of_this >= of_last) apply_toy(p, o, nullptr);
  left = out_of(o, 0)[0];
  return ROPE_OK;
}
/// Makes the first calls of an epoch and the last, as it has learnt how many there are.
std::int32_t first_and_last(const rope_problem* p, const rope_operands* o, void*) {
  static std::int64_t of_this = 0, most = 0;
  static float left = 0;
  if (is_first_of_epoch(o, left)) of_this = 0;
  most = std::max(most, ++of_this);
  if (++made < 400 || of_this <= 6 || of_this + 6 > most) apply_toy(p, o, nullptr);
  left = out_of(o, 0)[0];
  return ROPE_OK;
}
std::int32_t takes_forward_alone(const rope_problem* p, const char** reason) {
  return p->operation == ROPE_FORWARD ? supports_toy(p, reason) : ROPE_UNSUPPORTED;
}

TEST(SparedCalls, AreSeen) {
  struct Cheat {
    const char* name;
    std::int32_t (*apply)(const rope_problem*, const rope_operands*, void*);
    bool in_place = true, out_of_place = true;
    std::int32_t (*supports)(const rope_problem*, const char**) = supports_toy;
  };
  const rope_kernel good = toy_kernel("good");
  for (const Cheat& cheat :
       {Cheat{"if_late", if_late}, Cheat{"one_in_eight", one_in_eight},
        Cheat{"if_ends_differ", if_ends_differ}, Cheat{"last_but_one", last_but_one},
        Cheat{"fourth_positions", fourth_positions},
        Cheat{"by_the_difference", by_the_difference, true, false},
        Cheat{"half_the_pairs", half_the_pairs, true, false}, Cheat{"last_alone", last_alone},
        Cheat{"first_and_last", first_and_last},
        Cheat{"first_and_last_forward", first_and_last, true, false, takes_forward_alone},
        Cheat{"all_of_the_window", all_of_the_window, false, true}})
    for (const bool in_place : {true, false}) {
      if (!(in_place ? cheat.in_place : cheat.out_of_place)) continue;
      rope_kernel bad = toy_kernel(cheat.name);
      bad.apply = cheat.apply;
      bad.supports = cheat.supports;
      made = 0;
      const PairedOutcome outcome = run({&good, &bad}, [&](PairedPlan& p) {
        set_in_place(p.workloads[0], in_place);
        p.rounds = 20;
        p.epoch_s = 2e-4;
      });
      SCOPED_TRACE(std::string(cheat.name) + (in_place ? ", in place" : ", out of place"));
      expect_broken(outcome, cheat.name, "the exact rotation");
      EXPECT_EQ(outcome.of("good")->outcome, Outcome::measured) << outcome.of("good")->reason;
    }
}

}  // namespace
}  // namespace ropewalk::bench
