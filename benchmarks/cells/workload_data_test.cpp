#include "benchmarks/cells/workload_data.h"
#include "benchmarks/cells/cells.h"
#include "benchmarks/testing/filled.h"
#include "benchmarks/testing/toys.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>
#include <vector>

namespace ropewalk::bench {
namespace {

// Like DeepSeek-V3, but small: the last 4 of a query head's 10 elements, and one shared key of 4.
Workload latent(bool in_place = true) {
  Workload w;
  w.name = "latent";
  set_heads(w, {3, 10, 6}, {1, 4, 0});
  w.rotary_dim = 4;
  w.batch = 2;
  w.tokens = 5;
  set_in_place(w, in_place);
  return w;
}

TEST(WorkloadData, CeilingsTouchEachElementOfTheWindowOnceAndNoOther) {
  for (const WorkloadLayout layout : layouts) {
    Workload w = latent();
    w.layout = layout;
    Filled filled(w);
    for (const CeilingSpan& span : filled.data.spans()) update_loops()[0].pass(span);
    std::int64_t wrong = 0;
    for_each_element(filled.data, filled.w, [&](auto& at, auto i, double before, double after) {
      const std::int64_t offset = w.tensors[at.tensor].rotary_offset;
      wrong += after != (i >= offset && i < offset + w.rotary_dim ? -before : before);
    });
    EXPECT_EQ(wrong, 0);
  }
}

TEST(WorkloadData, CeilingsOutOfPlaceCopyWholeRowsAndThoseOfACacheToTheirSlots) {
  for (const WorkloadLayout layout : layouts)
    for (const bool appends : {true, false}) {
      Workload w = appends ? placed(false) : latent(false);
      w.layout = layout;
      w.tokens = 21;
      if (appends) take_append(w);
      Filled filled(w);
      for (const CeilingSpan& span : filled.data.spans()) copy_loops()[0].pass(span);
      std::int64_t wrong = 0;
      for_each_element(filled.data, filled.w,
                       [&](auto&, auto, double before, double after) { wrong += after != before; });
      EXPECT_EQ(wrong, 0);
      EXPECT_TRUE(filled.data.outputs_are_whole() && filled.data.inputs_are_whole());
    }
}

TEST(WorkloadData, CeilingsTakeRowsThatTouchForOne) {
  const CeilingSpan k = Filled(latent()).data.spans()[1], q = Filled(latent(false)).data.spans()[0];
  EXPECT_EQ(k.rows, 1);
  EXPECT_EQ(k.row_bytes, 10 * 4 * 4);
  EXPECT_EQ(q.row_bytes, 30 * 10 * 4);
}

TEST(WorkloadData, CeilingsTakeRowsThatAreEquallyFarApartForOneSpan) {
  for (const bool in_place : {true, false})
    for (const WorkloadLayout layout : {WorkloadLayout::packed, WorkloadLayout::head_major}) {
      Workload w = latent(in_place);
      w.layout = layout;
      w.batch = 1;
      EXPECT_EQ(Filled(w).data.spans().size(), 2u);
    }
}

TEST(WorkloadData, StoresPastTheCachesHaveOutputsOfTheirOwn) {
  Filled filled(latent(false));
  const CeilingSpan shared = filled.data.spans()[1], apart = filled.data.spans_apart()[1];
  EXPECT_EQ(apart.in, shared.in);
  EXPECT_EQ((static_cast<char*>(apart.out) - static_cast<char*>(shared.out)) % 64, 0);
  std::memset(apart.out, 1, std::size_t(apart.row_bytes));  // a sanitizer watches its end
  EXPECT_EQ(*static_cast<unsigned char*>(shared.out), 0xff);
}

TEST(WorkloadData, PositionsMoveOnAtTheSameAddress) {
  for (const Dtype type : {Dtype::i32, Dtype::i64})
    for (const bool cold : {false, true}) {
      Workload w = latent();
      w.position_dtype = type;
      w.scattered = w.cold = cold;
      WorkloadData data(w, 7);
      const auto* const read = static_cast<const std::byte*>(data.operands(true).positions);
      const std::vector<std::int32_t> first = data.positions();
      std::vector<std::int32_t> last;
      for (int call = 0; call < 40; ++call) {
        const std::vector<std::int32_t> now = data.positions();
        for (std::size_t i = 0; i < now.size(); ++i) {
          ASSERT_EQ(type == Dtype::i32 ? harness::load_as<std::int32_t>(read, std::int64_t(i))
                                       : harness::load_as<std::int64_t>(read, std::int64_t(i)),
                    now[i]);
          ASSERT_TRUE(cold || now[i] - first[i] == call % position_window);
          ASSERT_LE(now[i], max_position_of(w));
        }
        EXPECT_EQ(data.positions(call), first);
        EXPECT_NE(now, last);
        last = now;
        data.moving().move_on();
      }
      int calls = 40;
      for (; !cold && data.positions() != first; ++calls) data.moving().move_on();
      EXPECT_EQ(calls, cold ? 40 : position_window_of(w)) << "until a position comes again";
      EXPECT_TRUE(data.positions_are_whole());
      const_cast<std::byte&>(*read) ^= std::byte{1};
      EXPECT_FALSE(data.positions_are_whole());
      EXPECT_TRUE(data.positions_are_whole()) << "it says so once";
    }
}

TEST(WorkloadData, WhatAKernelOnlyReadsCannotBeWritten) {
  Filled filled(latent(false));
  const rope_operands o = filled.data.operands(true);
  const auto* const q = static_cast<const float*>(o.tensor[0].in);
  const float before = *q;
  filled.data.refresh(8);
  EXPECT_NE(*q, before);
  const auto write = [](const void* place) {
    *static_cast<volatile char*>(const_cast<void*>(place)) = 1;
  };
  EXPECT_DEATH(write(o.tensor[0].cos), "");
  EXPECT_DEATH(write(o.tensor[1].sin), "");
  write(o.tensor[0].out);
  EXPECT_TRUE(filled.data.inputs_are_whole());
  write(o.tensor[0].in);
  EXPECT_FALSE(filled.data.inputs_are_whole());
  EXPECT_TRUE(filled.data.inputs_are_whole()) << "it says so once";
}

TEST(WorkloadData, AChangeIsOfOneRotatedElementOrOutOfPlaceOfOneInEachTensor) {
  for (const bool in_place : {true, false})
    for (const std::int64_t tokens : {5, 10000}) {
      Workload w = latent(in_place);
      w.tokens = tokens;
      Filled filled(w);
      WorkloadData& data = filled.data;
      const rope_operands operands = data.operands(true);
      const auto content = [&](std::size_t i) {
        const auto* in = static_cast<const float*>(operands.tensor[i].in);
        return std::vector<float>(in, in + 2 * tokens * (i == 0 ? 30 : 4));
      };
      std::uint64_t random = 3;
      std::set<std::int64_t> tokens_seen;
      for (int round = 0; round < 50; ++round) {
        const std::vector<float> first = content(0);
        data.draw_change(random);
        const std::vector<float> before[2] = {content(0), content(1)};
        EXPECT_TRUE(!in_place || before[0] == first) << "not yet";
        data.change();
        data.take_change(true);
        EXPECT_EQ(data.changes().size(), in_place ? 1u : 2u);
        for (const WorkloadMemory::Changed& change : data.changes()) {
          const harness::TensorCase& tensor = w.tensors[change.tensor];
          const std::int64_t token = change.b * tokens + change.t;
          std::vector<float> now = content(change.tensor);
          float* const head =
              &now[std::size_t((token * tensor.heads + change.h) * tensor.head_dim)];
          float& changed = head[change.element];
          const float was = before[change.tensor][std::size_t(&changed - now.data())];
          tokens_seen.insert(token);
          EXPECT_NE(std::abs(changed), std::abs(was)) << "not only a sign";
          EXPECT_EQ(reinterpret_cast<const float*>(data.given(change))[change.element], changed);
          if (in_place) {
            EXPECT_GE(change.element, tensor.rotary_offset);
            EXPECT_EQ(std::memcmp(data.witness(), head, std::size_t(tensor.head_dim) * 4), 0);
          }
          changed = was;
          EXPECT_EQ(now, before[change.tensor]) << "nothing else";
        }
        EXPECT_TRUE(data.inputs_are_whole());
        data.take_change(false);
      }
      EXPECT_GT(tokens_seen.size(), 5U);
    }
}

TEST(WorkloadData, OfLargeOutputsTheEndsAndPiecesByChanceAreLookedAt) {
  Workload w = latent();
  w.tokens = 1 << 16;
  Filled filled(w);
  const WorkloadData& data = filled.data;
  auto* const q = static_cast<std::byte*>(data.operands(false).tensor[0].out);
  const std::int64_t bytes = w.batch * w.tokens * 3 * 10 * 4;
  const auto sees = [&](std::int64_t at, std::uint64_t pieces) {
    const std::size_t before = data.outputs_fingerprint(pieces);
    q[at] ^= std::byte{1};
    const bool seen = data.outputs_fingerprint(pieces) != before;
    q[at] ^= std::byte{1};
    EXPECT_EQ(data.outputs_fingerprint(pieces), before);
    return seen;
  };
  int inside = 0;
  for (std::uint64_t pieces = 1; pieces <= 100; ++pieces) {
    EXPECT_TRUE(sees(0, pieces));
    EXPECT_TRUE(sees(bytes - 1, pieces));
    inside += sees(bytes / 2, pieces);
  }
  EXPECT_GT(inside, 0);
  EXPECT_LT(inside, 100) << "else all are looked at";
}

TEST(LazyData, WhatNeedsMoreMemoryThanThereIsSaysSo) {
  Workload w = latent();
  w.tensors[0].heads = 1 << 20;
  w.tensors[0].head_dim = 1 << 16;
  LazyData data(w, 1);
  const auto failed = harness::failure_of([&] { data.make(); });
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->status, harness::protocol::Status::skipped);
  const std::string& why = failed->text;
  EXPECT_NE(why.find(" MiB of memory, "), std::string::npos) << why;
  EXPECT_NE(why.find(" MiB are left "), std::string::npos) << why;
}

}  // namespace
}  // namespace ropewalk::bench
