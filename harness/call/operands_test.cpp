#include "harness/call/operands.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>

#include "harness/call/descriptor.h"

namespace ropewalk::harness {
namespace {

// A problem that has an operand of every kind: three axes, q with a norm, v appended to a cache.
struct Everything {
  rope_problem problem{};
  ProblemNodes nodes;
  Everything() {
    problem.batch = 2, problem.tokens = 3, problem.rotary_dim = 4;
    problem.position_dtype = ROPE_I64, problem.table_dtype = ROPE_F32;
    problem.position_batch_stride = 10, problem.position_token_stride = 2;
    problem.table_rows = 5, problem.table_row_stride = 8;
    problem.tensor_count = 3;
    for (rope_tensor& t : problem.tensor)
      t = {2, 6, 0, 60, 20, 10, 120, 40, 20, ROPE_BF16, ROPE_BF16, 1, 0, {}};
    problem.tensor[2].rotate = 0;
    nodes.axes = {{ROPE_EXT_AXES, sizeof(rope_axes), nullptr}, 3, 0, 100, 200, nullptr};
    nodes.norm = {{ROPE_EXT_NORM, sizeof(rope_norm), nullptr}, 1e-6, 1, ROPE_F32, 0, 0};
    nodes.append.ext = {ROPE_EXT_APPEND, sizeof(rope_append), nullptr};
    rope_append& append = nodes.append;
    append.tensors = 4, append.slot_dtype = ROPE_I32, append.pages = 7, append.page_size = 2;
    append.page_stride[2] = 100, append.slot_stride[2] = 12, append.head_stride[2] = 6;
  }
  std::uint64_t bytes(const std::string& name) const {
    for (const OperandLayout& o : operands_of(problem, nodes))
      if (operand_name(o.role, o.tensor) == name) return o.bytes();
    return 0;
  }
};

TEST(Operands, AreThoseThatTheProblemAsksFor) {
  const Everything e;
  std::set<std::string> names;
  for (const OperandLayout& o : operands_of(e.problem, e.nodes))
    EXPECT_TRUE(names.insert(operand_name(o.role, o.tensor)).second);
  EXPECT_EQ(names, (std::set<std::string>{"inv_freq", "axis_of_pair", "positions", "slots", "q.in",
                                          "q.out", "q.cos", "q.sin", "q.weight", "k.in", "k.out",
                                          "k.cos", "k.sin", "t2.in", "t2.cache"}));
  rope_problem own_angles = e.problem;
  own_angles.angle_source = ROPE_ANGLES_INV_FREQ;
  EXPECT_EQ(operands_of(own_angles, {}).size(), 1 + 1 + 3 * 2) << "inv_freq, positions, in and out";
}

TEST(Operands, EndBehindTheirLastRow) {
  const Everything e;
  EXPECT_EQ(e.bytes("inv_freq"), 2u * 8);
  EXPECT_EQ(e.bytes("axis_of_pair"), 2u);
  EXPECT_EQ(e.bytes("positions"), (2u * 100 + 10 + 2 * 2 + 1) * 8);
  EXPECT_EQ(e.bytes("slots"), 6u * 4);
  EXPECT_EQ(e.bytes("q.in"), (60u + 2 * 20 + 10 + 6) * 2);
  EXPECT_EQ(e.bytes("k.out"), (120u + 2 * 40 + 20 + 6) * 2);
  EXPECT_EQ(e.bytes("q.cos"), (2u * 200 + 4 * 8 + 2) * 4);
  EXPECT_EQ(e.bytes("q.weight"), 6u * 4);
  EXPECT_EQ(e.bytes("t2.cache"), (6u * 100 + 12 + 6 + 6) * 2);
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ((Extent{4, {{3, most / 2}, {2, 2}}}.elements()), most) << "it does not wrap around";
  EXPECT_EQ((Extent{4, {{1, most}, {1, most}, {1, most}}}.elements()), 4) << "axes of size 1";
}

TEST(Operands, EachGetsItsAddressAndTheChainsThatAreAsked) {
  const Everything e;
  std::vector<Given> given{{Operand::workspace, 0, &e}};
  const char memory[64] = "";
  for (const OperandLayout& o : operands_of(e.problem, e.nodes))
    given.push_back({o.role, o.tensor, memory + given.size()});
  given.push_back({Operand::out, ROPE_MAX_TENSORS, memory});  // of no tensor
  given.push_back({static_cast<Operand>(99), 0, memory});
  OperandNodes chained;
  const rope_operands o = operands_at(given, e.nodes, chained);
  std::set<const void*> there{o.positions, append_of(o)->slot, norm_of(o)->weight[0],
                              append_of(o)->cache[2]};
  for (const auto& t : o.tensor) there.insert({t.in, t.out, t.cos, t.sin});
  there.erase(nullptr);
  EXPECT_EQ(there.size(), 13u) << "all but the workspace and what the problem points to";
  EXPECT_EQ(o.workspace, &e);
  EXPECT_EQ(o.tensor[2].out, nullptr) << "its rows go to its cache";
  EXPECT_EQ(operands_at(given, {}, chained).next, nullptr);

  rope_problem problem = e.problem;
  ProblemNodes nodes = e.nodes;
  set_address(problem, nodes, Operand::inv_freq, memory + 1);
  set_address(problem, nodes, Operand::axis_of_pair, memory + 2);
  EXPECT_EQ(static_cast<const void*>(problem.inv_freq), memory + 1);
  EXPECT_EQ(static_cast<const void*>(nodes.axes.axis_of_pair), memory + 2);
}

TEST(Operands, OfADescriptorAreNoMoreThanItHolds) {
  protocol::CallDescriptor call{};
  for (const std::uint32_t count : {0u, 3u, protocol::most_operands, 33u, ~0u}) {
    call.count = count;
    EXPECT_EQ(call.given().size(), std::min(count, protocol::most_operands));
  }
}

}  // namespace
}  // namespace ropewalk::harness
