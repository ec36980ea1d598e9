#include "kernels/cuda/bodies.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "kernels/cuda/host_bodies.h"
#include "kernels/cuda/host_launcher.h"
#include "kernels/cuda/plan.h"
#include "kernels/cuda/test_call.h"

namespace ropewalk::cuda {
namespace {

using Bytes = std::vector<std::byte>;

constexpr DeviceSize small_device{.threads_of_block = 32, .most_blocks = 3, .threads_at_once = 64};

// The launches of a call, by one of the three kernels.
template <class Bodies>
Launches launches(const TestCall& call) {
  const PlanOptions options = Bodies::naive                 ? naive_options(small_device)
                              : call.fractions() != nullptr ? phase_options(small_device)
                                                            : table_options(small_device);
  return launches_of(call.problem(), call.operands(), options, call.fractions());
}

// What a launch made of a call.
struct Ran {
  Bytes outputs;
  std::string fault;
  bool in_bounds;
};

// Runs a call. `change` may plant an error into a launch.
template <class Bodies, class Order, class Change>
Ran run(const TestShape& shape, const Order& order, Change&& change) {
  const TestCall call(shape);
  Launches all = launches<Bodies>(call);
  LaunchFault fault;
  for (int i = 0; i < all.count; ++i) {
    change(all.launch[i]);
    with_body<Bodies>(all.launch[i], [&](auto body) {
      run_grid(all.launch[i].grid, order, fault,
               [&](const Lane& lane) { body(all.launch[i], lane, HostAccess(fault)); });
    });
  }
  return {call.outputs(), fault.text(), call.only_outputs_changed()};
}

// What a loop over pairs makes of the call. It has the type of the contract's own walk.
template <class Data>
Bytes expected_of(const TestShape& shape) {
  const TestCall call(shape);
  const rope_problem& p = call.problem();
  const auto scale = static_cast<float>(scale_of(p));
  for_each_token(p, call.operands(), [&](const Token& token) {
    for_each_head<Data>(p, call.operands(), token, [&](const Head<Data>& head) {
      for (std::int64_t i = 0; i < p.rotary_dim / 2; ++i) {
        const PairIndex at = pair_index(p.pairing, i, p.rotary_dim / 2);
        const float x1 = head.in[at.first], x2 = head.in[at.second];
        float c = 0, s = 0;
        if (head.cos != nullptr) {
          c = head.cos[i];
          s = head.sin[i];
        } else {
          const CosSin turn = cos_sin(phase_of(turn_fraction(p.inv_freq[i]), token.position));
          c = static_cast<float>(turn.cos);
          s = static_cast<float>(turn.sin);
        }
        head.out[at.first] = Data(scale * (x1 * c - x2 * s));
        head.out[at.second] = Data(scale * (x2 * c + x1 * s));
      }
    });
  });
  return call.outputs();
}
Bytes expected(const TestShape& shape) {
  if (shape.data_type == ROPE_F32) return expected_of<float>(shape);
  return shape.data_type == ROPE_F16 ? expected_of<F16>(shape) : expected_of<Bf16>(shape);
}

// Wide and general paths, tails, windows, gaps, odd pointers, broadcasts, copied tensors, several
// batch rows, and fewer items than lanes.
std::vector<TestShape> shapes() {
  std::vector<TestShape> all;
  for (const std::int32_t pairing : {ROPE_HALF_SPLIT, ROPE_INTERLEAVED})
    for (const std::int32_t type : {ROPE_F32, ROPE_F16, ROPE_BF16})
      for (const bool in_place : {false, true}) {
        TestShape s;
        s.pairing = pairing;
        s.data_type = type;
        s.in_place = in_place;
        all.push_back(s);
        s.heads = 13;
        s.second_heads = 5;
        s.batch = 2;
        s.copied_tensor = !in_place;
        all.push_back(s);
        s.by_token = true;
        s.head_dim = 96;
        s.rotary_dim = 32;
        s.offset = 16;
        s.gap = 8;
        all.push_back(s);
        s.shift = 1;
        s.broadcast = true;
        all.push_back(s);
        s.by_token = false;
        s.head_dim = 23;
        s.rotary_dim = 14;
        s.offset = 3;
        s.gap = 1;
        s.tokens = 1;
        all.push_back(s);
        s.rotary_dim = 2;
        s.heads = 1;
        all.push_back(s);
      }
  return all;
}

std::string name_of(const TestShape& s) {
  std::ostringstream out;
  out << "type " << s.data_type << " pairing " << s.pairing << " in place " << s.in_place << " dim "
      << s.rotary_dim << " of " << s.head_dim << " shift " << s.shift << " table " << s.table;
  return out.str();
}

template <class Bodies, class Order>
void gives(const TestShape& shape, const Order& order, const Bytes& right) {
  const Ran ran = run<Bodies>(shape, order, [](Launch&) {});
  EXPECT_EQ(ran.fault, "");
  EXPECT_TRUE(ran.in_bounds);
  EXPECT_EQ(ran.outputs, right);
}

template <class Bodies>
void orders_agree(TestShape shape) {
  shape.table = !std::is_same_v<Bodies, CudaPhaseBodies>;
  SCOPED_TRACE(name_of(shape));
  if (!shape.table) shape.by_token = false;
  const Bytes right = expected(shape);
  gives<Bodies>(shape, InOrder{}, right);
  gives<Bodies>(shape, Shuffled{11}, right);
}

TEST(Bodies, AnyOrderGivesTheBitsOfALoopWithinItsBuffers) {
  for (const TestShape& shape : shapes()) {
    orders_agree<CudaBodies>(shape);
    orders_agree<CudaPhaseBodies>(shape);
    orders_agree<CudaNaiveBodies>(shape);
  }
}

TEST(Bodies, PlantedErrorsOfALaunchAreSeen) {
  TestShape shape;
  const auto ran = [&](auto change) { return run<CudaBodies>(shape, Shuffled{4}, change); };
  EXPECT_NE(ran([](Launch& l) { l.tensor[0].in_head = 4; }).fault.find("misaligned"),
            std::string::npos);
  EXPECT_FALSE(ran([](Launch& l) { l.tensor[0].out_head += 16; }).in_bounds);
  const auto back = [](Launch& l) {
    l.tensor[0].out = static_cast<std::byte*>(l.tensor[0].out) - 16;
  };
  EXPECT_FALSE(ran(back).in_bounds);
  EXPECT_FALSE(
      ran([](Launch& l) { l.tensor[0].out = const_cast<void*>(l.tensor[0].in); }).in_bounds);
  EXPECT_NE(ran([](Launch& l) { l.tensor[0].in_head += 16; }).outputs, expected(shape));
  // More items than the call has: other lanes begin again at its first token.
  shape.in_place = true;
  shape.tokens = 5;
  EXPECT_NE(ran([](Launch& l) { l.items += 8; }).outputs, expected(shape));
}

TEST(Plan, WideWhereEachAccessIsAligned) {
  const auto wide = [](TestShape shape) {
    const TestCall call(shape);
    return fits_wide(call.problem(), call.operands(), 0);
  };
  TestShape shape;
  EXPECT_TRUE(wide(shape));
  for (const std::int32_t type : {ROPE_F32, ROPE_F16, ROPE_BF16}) {
    const std::int64_t width = type == ROPE_F32 ? 4 : 8;
    TestShape s;
    s.data_type = type;
    for (const std::int64_t dim : {64, 128, 256}) {
      s.head_dim = s.rotary_dim = dim;
      EXPECT_TRUE(wide(s));
    }
    s.shift = width;
    EXPECT_TRUE(wide(s));
    s.shift = 1;
    EXPECT_FALSE(wide(s));
    s.shift = 0;
    s.gap = 1;
    EXPECT_FALSE(wide(s));
    s.gap = 0;
    s.rotary_dim = 3 * width;  // half a window is no whole access
    EXPECT_FALSE(wide(s));
    s.pairing = ROPE_INTERLEAVED;
    EXPECT_TRUE(wide(s));
    s.offset = 2;
    EXPECT_FALSE(wide(s));
  }
}

TEST(Plan, CallsOfMixedTensorsHaveTwoLaunches) {
  TestShape shape;
  shape.second_heads = 2;
  const TestCall call(shape);
  EXPECT_EQ(launches<CudaBodies>(call).count, 1);
  rope_operands odd = call.operands();
  odd.tensor[1].in = static_cast<const std::byte*>(odd.tensor[1].in) + 4;
  const Launches both = launches_of(call.problem(), odd, table_options(small_device), nullptr);
  ASSERT_EQ(both.count, 2);
  EXPECT_TRUE(both.launch[0].wide);
  EXPECT_FALSE(both.launch[1].wide);
}

TEST(Plan, IndicesHave64BitsWhereItemsNeedThem) {
  TestShape shape;
  const TestCall call(shape);
  rope_problem p = call.problem();
  p.tensor[0].in_place = 1;  // 8 units of 4 heads in each token
  const auto small = [&](std::int64_t tokens, const PlanOptions& options) {
    p.tokens = tokens;
    return launches_of(p, call.operands(), options, nullptr).launch[0].small_index;
  };
  const PlanOptions naive = naive_options(small_device);  // 128 items a token
  EXPECT_TRUE(small((std::int64_t{1} << 24) - 1, naive));
  EXPECT_FALSE(small(std::int64_t{1} << 24, naive));
  const PlanOptions table = table_options(small_device);
  EXPECT_TRUE(small(std::int64_t{1} << 27, table));
  EXPECT_FALSE(small(std::int64_t{1} << 28, table));
}

// The last items of a launch that needs 64 bits, without running the others.
TEST(Bodies, The64BitIndexReachesTheLastToken) {
  TestShape shape;
  shape.rotary_dim = shape.head_dim = 16;
  shape.in_place = true;
  const TestCall call(shape);
  rope_problem p = call.problem();
  p.tokens = (std::int64_t{1} << 32) + 1;
  p.tensor[0].in_token_stride = p.tensor[0].out_token_stride = 0;  // no such tensor: one token
  p.position_token_stride = 0;
  const Launches all = launches_of(p, call.operands(), naive_options(small_device), nullptr);
  ASSERT_EQ(all.count, 1);
  const Launch& launch = all.launch[0];
  ASSERT_FALSE(launch.small_index);
  ASSERT_EQ(launch.items, static_cast<std::uint64_t>(p.tokens) * 8 * 4);
  const Bytes before = call.outputs();
  LaunchFault fault;
  const Lane last{{static_cast<std::uint32_t>((launch.items - 1) / 32), 0, 0},
                  {static_cast<std::uint32_t>((launch.items - 1) % 32), 0, 0},
                  {0x7fffffff},
                  {32}};
  with_body<CudaNaiveBodies>(launch, [&](auto body) { body(launch, last, HostAccess(fault)); });
  EXPECT_STREQ(fault.text(), "");
  const Bytes after = call.outputs();
  // Pair 7 of head 3: elements 7 and 15 of its row.
  std::vector<std::size_t> changed;
  for (std::size_t i = 0; i < before.size(); ++i)
    if (before[i] != after[i] && (changed.empty() || changed.back() != i / 4))
      changed.push_back(i / 4);
  EXPECT_EQ(changed, (std::vector<std::size_t>{3 * 16 + 7, 3 * 16 + 15}));
}

}  // namespace
}  // namespace ropewalk::cuda
