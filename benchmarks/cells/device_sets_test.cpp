// The sets of buffers of a workload, on the stand-in for a device.
#include "benchmarks/cells/device_sets.h"

#include <gtest/gtest.h>

#include <string>

#include "benchmarks/testing/device_toys.h"
#include "benchmarks/workloads/workload_layout.h"

namespace ropewalk::bench {
namespace {

using report::WorkloadPhase;

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
            std::vector<std::int32_t> positions;
            std::int64_t wrong = 0, all = 0;
            for_each_element<Data>(
                sets, w, [&](std::int64_t token, std::int64_t i, double given, double left) {
                  positions = sets.last_positions();
                  ++all;
                  wrong += left != (i == 0 ? positions[static_cast<std::size_t>(token)] : -given);
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
