#include "harness/process/extension_chain.h"

#include <gtest/gtest.h>

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
  try {
    hold_chain(c.problem, kernel);
    FAIL();
  } catch (const StepFailed& failed) {
    EXPECT_EQ(failed.status, protocol::Status::unsupported);
  }
  kernel.extensions = extension_bit(ROPE_EXT_AXES);
  EXPECT_NO_THROW(hold_chain(c.problem, kernel));
}

}  // namespace
}  // namespace ropewalk::harness
