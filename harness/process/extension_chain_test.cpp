#include "harness/process/extension_chain.h"

#include <gtest/gtest.h>

#include <cmath>

#include "harness/watch/entries.h"

namespace ropewalk::harness {
namespace {

struct Chain {
  std::uint8_t map[2] = {0, 2};
  rope_problem problem{};
  rope_axes axes{{ROPE_EXT_AXES, sizeof(rope_axes), nullptr}, 3, 0, 8, 0, map};
  Chain() {
    problem.rotary_dim = 4;
    problem.next = &axes.ext;
  }
  std::string fault() const { return chain_fault(problem); }
};

TEST(ExtensionChain, IsCheckedBeforeAKernelSeesIt) {
  Chain c;
  EXPECT_EQ(c.fault(), "");
  c.map[1] = 3;
  EXPECT_EQ(c.fault(), "a map to axis 3, where there are 3");
  c.axes.axis_of_pair = nullptr;
  EXPECT_EQ(c.fault(), "no map from pairs to axes");
  c.axes.table_axis_stride = -1;
  EXPECT_EQ(c.fault(), "a negative stride");
  c.axes.reserved = 1;
  EXPECT_EQ(c.fault(), "a reserved field that is not 0");
  c.axes.axes = 5;
  EXPECT_EQ(c.fault(), "5 axes, not 2 to 4");
  c.axes.ext.struct_size = 16;
  EXPECT_EQ(c.fault(), "the kind 1 with a struct that is too short");
  c.axes.ext.kind = 7;
  EXPECT_EQ(c.fault(), "the kind 7, which no problem has");
}

TEST(ExtensionChain, OfANormAndOfACacheIsCheckedToo) {
  const auto fault = [](auto change) {
    rope_problem p{};
    p.tensor_count = 2;
    rope_norm norm{{ROPE_EXT_NORM, sizeof(rope_norm), nullptr}, 1e-6, 3, ROPE_F32, 0, 0};
    rope_append append{
        {ROPE_EXT_APPEND, sizeof(rope_append), &norm.ext}, 2, ROPE_I64, 1, 8, {}, {}, {}};
    p.next = &append.ext;
    change(p, norm, append);
    return chain_fault(p);
  };
  EXPECT_EQ(fault([](auto&, auto&, auto&) {}), "");
  for (const double epsilon : {0.0, -1.0, 2.0, 0x1p-61, std::nan("")})
    EXPECT_EQ(fault([&](auto&, auto& norm, auto&) { norm.epsilon = epsilon; }),
              "an epsilon outside 2^-60 .. 1");
  EXPECT_EQ(fault([](auto&, auto& norm, auto&) { norm.tensors = 4; }), "a mark of no tensor");
  EXPECT_EQ(fault([](auto&, auto&, auto& append) { append.tensors = 0; }), "a mark of no tensor");
  EXPECT_EQ(fault([](auto&, auto& norm, auto&) { norm.weight_dtype = ROPE_I32; }),
            "weights of no floating-point type");
  EXPECT_EQ(fault([](auto&, auto&, auto& append) { append.slot_dtype = ROPE_F32; }),
            "slots of no integer type");
  EXPECT_EQ(fault([](auto&, auto&, auto& append) { append.pages = 0; }),
            "a cache without pages or slots");
  EXPECT_EQ(fault([](auto&, auto&, auto& append) { append.page_stride[1] = -1; }),
            "a negative stride");
  EXPECT_EQ(fault([](auto& p, auto&, auto&) { p.tensor[1].in_place = 1; }),
            "a tensor that is appended in place");
  EXPECT_EQ(fault([](auto& p, auto&, auto&) { p.operation = ROPE_TRANSPOSE; }),
            "a norm or a cache with ROPE_TRANSPOSE");
}

TEST(ExtensionChain, HasAKindOnce) {
  Chain c;
  c.axes.ext.next = &c.axes.ext;
  EXPECT_EQ(c.fault(), "the kind 1 twice, or a loop");
  rope_axes second = c.axes;
  second.ext.next = nullptr;
  c.axes.ext.next = &second.ext;
  EXPECT_EQ(c.fault(), "the kind 1 twice, or a loop");
}

TEST(ExtensionChain, IsNeverHandedToAKernelThatDoesNotNameIt) {
  const Chain c;
  rope_kernel kernel{};
  kernel.extensions = ~extension_bit(ROPE_EXT_AXES);
  const auto failed = failure_of([&] { hold_chain(c.problem, kernel); });
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->status, protocol::Status::unsupported);
  kernel.extensions = extension_bit(ROPE_EXT_AXES);
  EXPECT_NO_THROW(hold_chain(c.problem, kernel));
}

}  // namespace
}  // namespace ropewalk::harness
