// An input that lies between outputs must keep its bytes, and nothing else there may change.
#include "harness/judge/placed_buffers.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "harness/cases/layouts.h"
#include "harness/cases/problem.h"

namespace ropewalk::harness {
namespace {

TEST(PlacedBuffers, InputsBetweenOutputsKeepTheirBytes) {
  Case c;
  c.tokens = c.tensors[0].heads = 2;
  alternate_heads(c);
  c.tensors[0].in.batch = c.tensors[0].out.batch = 0;
  c.tensors[0].out_at = 3;  // one element between them
  c.tensors[0].in.head = c.tensors[0].out.head = 5;
  c.tensors[0].in.token = c.tensors[0].out.token = 10;
  Oracle oracle;
  const Problem p = make_problem(c, oracle);
  const int buffer = p.tensor[0].out;
  ASSERT_EQ(p.tensor[0].in, buffer);
  const Buffer& b = p.buffers[static_cast<std::size_t>(buffer)];
  for (const int placement : {0, 1}) {
    const std::uint64_t gaps = gap_bits(p, b, placement);
    EXPECT_EQ(gaps == poison_bits(Poison::a, b.dtype), placement == 0) << "then a number";
    EXPECT_EQ(std::isnan(std::bit_cast<float>(static_cast<std::uint32_t>(gaps))), placement == 0);
    const Placed at = place_buffers(p, {0, placement, true}, {}, 0).front();
    std::vector<std::byte> memory(at.pages_bytes);
    const auto& content = given(p, placement, buffer);
    // What is said when the byte `byte` of the buffer has changed.
    const auto after_change = [&](std::size_t byte) {
      write_buffer(b, content, at, memory.data(), poison_of(placement), gaps);
      EXPECT_EQ(find_stray_write(b, content, at, memory.data(), gaps), "");
      memory[at.lead + byte] ^= std::byte{1};
      return find_stray_write(b, content, at, memory.data(), gaps);
    };
    EXPECT_EQ(after_change(20), "changed its input: q.in_out, element 5 (of 20), byte offset 20");
    EXPECT_EQ(after_change(12), "") << "an output";
    EXPECT_EQ(after_change(11),
              "wrote outside its rows: q.in_out, element 2 (of 20), byte offset 8");
  }
}

}  // namespace
}  // namespace ropewalk::harness
