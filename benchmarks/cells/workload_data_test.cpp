#include "benchmarks/cells/workload_data.h"
#include "benchmarks/cells/cells.h"
#include "benchmarks/testing/toys.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>
#include <vector>

namespace ropewalk::bench {
namespace {

// Like DeepSeek-V3, but small: the last 4 of a query head's 10 elements, and one shared key of 4.
Workload latent() {
  Workload w;
  w.name = "latent";
  set_heads(w, {3, 10, 6}, {1, 4, 0});
  w.rotary_dim = 4;
  w.batch = 2;
  w.tokens = 5;
  return w;
}

TEST(WorkloadData, CeilingsTouchTheWindowAlone) {
  const Workload w = latent();
  WorkloadData data(w, 7);
  data.refill();
  const auto spans = data.spans();
  const rope_operands o = data.operands(true);
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_EQ(spans[0].in, static_cast<const float*>(o.tensor[0].in) + 6);
  EXPECT_EQ(spans[0].out, spans[0].in);
  EXPECT_EQ(spans[0].rows, 30);
  EXPECT_EQ(spans[0].row_bytes, 4 * 4);
  EXPECT_EQ(spans[0].stride, 10 * 4);
  EXPECT_EQ(spans[1].in, o.tensor[1].in);
  EXPECT_EQ(spans[1].rows, 1) << "ten rows that touch";
  EXPECT_EQ(spans[1].row_bytes, 10 * 4 * 4);
}

TEST(WorkloadData, OutOfPlaceMovesWholeRows) {
  Workload w = latent();
  set_in_place(w, false);
  const WorkloadData data(w, 7);
  const rope_operands o = data.operands(false);
  EXPECT_EQ(data.spans()[0].in, o.tensor[0].in);
  EXPECT_EQ(data.spans()[0].out, o.tensor[0].out);
  EXPECT_NE(o.tensor[0].in, o.tensor[0].out);
  EXPECT_EQ(data.spans()[0].row_bytes, 30 * 10 * 4);
  EXPECT_EQ(data.spans()[0].flips, 0u);
}

TEST(WorkloadData, StoresPastTheCachesHaveOutputsOfTheirOwn) {
  Workload w = latent();
  set_in_place(w, false);
  WorkloadData data(w, 7);
  data.refill();
  const CeilingSpan shared = data.spans()[1], apart = data.spans_apart()[1];
  EXPECT_EQ(apart.in, shared.in);
  EXPECT_EQ((static_cast<char*>(apart.out) - static_cast<char*>(shared.out)) % 64, 0);
  std::memset(apart.out, 1, std::size_t(apart.row_bytes));  // a sanitizer watches its end
  EXPECT_EQ(*static_cast<unsigned char*>(shared.out), 0xff);
}

// Whatever the layout: an update touches each element of each window once, and no other.
TEST(WorkloadData, CeilingsTouchTheWindowAloneInEveryLayout) {
  for (const WorkloadLayout layout : layouts) {
    Workload w = latent();
    w.layout = layout;
    lay_out(w);
    WorkloadData data(w, 7);
    data.refill();
    for (const CeilingSpan& span : data.spans()) update_loops()[0].pass(span);
    for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
      const harness::TensorCase& t = w.tensors[i];
      for (std::int64_t row = 0; row < w.batch * w.tokens * t.heads; ++row) {
        const harness::HeadPlace at = data.place(i, row / t.heads, row % t.heads);
        const float* before = reinterpret_cast<const float*>(data.given(at));
        const float* after = reinterpret_cast<const float*>(data.left(at));
        for (std::int64_t e = 0; e < t.head_dim; ++e) {
          const bool inside = e >= t.rotary_offset && e < t.rotary_offset + w.rotary_dim;
          ASSERT_EQ(after[e], inside ? -before[e] : before[e]) << row << " " << e;
        }
      }
    }
  }
}

TEST(WorkloadData, CeilingsOfACacheCopyEachRowToItsSlot) {
  for (const WorkloadLayout layout : layouts) {
    Workload w = small_workload("toy/a");
    w.layout = layout;
    w.tokens = 21;
    set_in_place(w, false);
    take_append(w);
    lay_out(w);
    WorkloadData data(w, 7);
    data.refill();
    for (const CeilingSpan& span : data.spans()) copy_loops()[0].pass(span);
    for (const std::size_t i : {0u, 1u, 2u})
      for (std::int64_t token = 0; token < 42; ++token) {
        const harness::HeadPlace at = data.place(i, token, 0);
        ASSERT_EQ(std::memcmp(data.given(at), data.left(at), 8 * 4), 0) << token;
      }
    EXPECT_TRUE(data.outputs_are_whole() && data.inputs_are_whole());
  }
}

TEST(WorkloadData, PositionsMoveOnAtTheSameAddress) {
  for (const Dtype type : {Dtype::i32, Dtype::i64})
    for (const bool cold : {false, true}) {
      Workload w = latent();
      w.position_dtype = type;
      w.scattered = w.cold = cold;
      WorkloadData data(w, 7);
      const void* const read = data.operands(true).positions;
      const auto given = [&](std::size_t i) {
        return type == Dtype::i32 ? std::int64_t{static_cast<const std::int32_t*>(read)[i]}
                                  : static_cast<const std::int64_t*>(read)[i];
      };
      std::vector<std::vector<std::int32_t>> seen;
      for (int call = 0; call < 40; ++call) {
        seen.push_back(data.positions());
        for (std::size_t i = 0; i < seen.back().size(); ++i) {
          ASSERT_EQ(given(i), seen.back()[i]);
          if (!cold) {
            ASSERT_EQ(seen.back()[i] - seen.front()[i], call % position_window);
          }
          ASSERT_LE(seen.back()[i], max_position_of(w));
        }
        EXPECT_EQ(data.positions(call), seen.front());
        EXPECT_NE(call > 0 && seen.back() == seen[seen.size() - 2], true);
        data.moving().move_on();
      }
      int calls = 40;
      for (; !cold && data.positions() != seen.front(); ++calls) data.moving().move_on();
      EXPECT_EQ(calls, cold ? 40 : position_window_of(w)) << "until a position comes again";
      EXPECT_TRUE(data.positions_are_whole());
      static_cast<std::byte*>(const_cast<void*>(read))[0] ^= std::byte{1};
      EXPECT_FALSE(data.positions_are_whole());
      EXPECT_TRUE(data.positions_are_whole()) << "it says so once";
    }
}

TEST(WorkloadData, WhatAKernelOnlyReadsCannotBeWritten) {
  Workload w = latent();
  set_in_place(w, false);
  WorkloadData data(w, 7);
  data.refresh(8);
  const rope_operands o = data.operands(true);
  const auto write = [](const void* place) {
    *static_cast<volatile char*>(const_cast<void*>(place)) = 1;
  };
  EXPECT_DEATH(write(o.tensor[0].cos), "");
  EXPECT_DEATH(write(o.tensor[1].sin), "");
  write(o.tensor[0].out);
  EXPECT_TRUE(data.inputs_are_whole());
  write(o.tensor[0].in);
  EXPECT_FALSE(data.inputs_are_whole());
  EXPECT_TRUE(data.inputs_are_whole()) << "it says so once";
}

// So an output of the inputs before is not the answer, and sizes stay below those of a change.
TEST(WorkloadData, InputsAreFullMantissasAndNewOnesAreOthersOfTheSameBinade) {
  for (const Dtype dtype : tensor_dtypes) {
    Workload w = latent();
    w.dtype = dtype;
    WorkloadData data(w, 7);
    const auto content = [&] {
      std::vector<double> out;
      for (std::int64_t i = 0; i < 2 * 5 * 30; ++i)
        out.push_back(harness::load(data.given(data.place(0, i / 30, i % 30 / 10)), dtype, i % 10));
      return out;
    };
    const std::vector<double> before = content();
    const std::set<double> seen(before.begin(), before.begin() + 60);
    EXPECT_GT(seen.size(), 40U);
    EXPECT_TRUE(*seen.begin() < 0 && *seen.rbegin() > 0) << "of both signs";
    data.refresh(8);
    const std::vector<double> now = content();
    std::size_t same = 0;
    for (std::size_t i = 0; i < now.size(); ++i) {
      EXPECT_GE(std::abs(before[i]), 0.5);
      EXPECT_LT(std::abs(before[i]), 1);
      EXPECT_EQ(std::ilogb(now[i]), std::ilogb(before[i]));
      EXPECT_LT(std::abs(now[i]), 1);
      if (now[i] == before[i]) ++same;
    }
    EXPECT_LT(same, now.size() / 2);
  }
}

TEST(WorkloadData, AChangeIsOfOneRotatedElementOrOutOfPlaceOfOneInEachTensor) {
  for (const bool in_place : {true, false})
    for (const std::int64_t tokens : {5, 10000}) {
      Workload w = latent();
      set_in_place(w, in_place);
      w.tokens = tokens;
      lay_out(w);
      WorkloadData data(w, 7);
      data.refill();
      const auto rows = static_cast<std::size_t>(2 * tokens);
      const std::size_t floats[2] = {rows * 30, rows * 4};
      const rope_operands operands = data.operands(true);
      const auto content = [&](std::size_t i) {
        const auto* in = static_cast<const float*>(operands.tensor[i].in);
        return std::vector<float>(in, in + floats[i]);
      };
      std::uint64_t random = 3;
      std::set<std::int64_t> tokens_seen;
      for (int round = 0; round < 50; ++round) {
        const std::vector<float> first = content(0);
        data.draw_change(random);
        const std::vector<float> before[2] = {content(0), content(1)};
        if (in_place) {
          EXPECT_EQ(before[0], first) << "not yet";
        }
        data.change();
        data.take_change(true);
        EXPECT_EQ(data.changes().size(), in_place ? 1u : 2u);
        for (const WorkloadMemory::Changed& change : data.changes()) {
          const harness::TensorCase& tensor = w.tensors[change.tensor];
          const std::int64_t token = change.b * tokens + change.t;
          const auto row =
              static_cast<std::size_t>((token * tensor.heads + change.h) * tensor.head_dim);
          const std::size_t k = row + static_cast<std::size_t>(change.element);
          std::vector<float> now = content(change.tensor);
          tokens_seen.insert(token);
          EXPECT_NE(std::abs(now[k]), std::abs(before[change.tensor][k])) << "not only a sign";
          EXPECT_EQ(reinterpret_cast<const float*>(data.given(change))[change.element], now[k]);
          if (in_place) {
            EXPECT_GE(change.element, tensor.rotary_offset);
            EXPECT_EQ(std::memcmp(data.witness(), &now[row], std::size_t(tensor.head_dim) * 4), 0);
          }
          now[k] = before[change.tensor][k];
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
  WorkloadData data(w, 7);
  data.refill();
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
