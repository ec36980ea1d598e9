// Replaced inputs of a problem that is already laid out.
#include "harness/cases/inputs.h"

#include <gtest/gtest.h>

#include <cstring>

namespace ropewalk::harness {
namespace {

Problem laid_out(const std::string& text) {
  Oracle oracle;
  return make_problem(case_from_text("kernel=plain property=norm " + text), oracle);
}

double input(const Problem& p, int placement, const HeadPlace& at, std::int64_t e) {
  return load(given(p, placement, p.buffer(Operand::in, at.tensor)),
              tensor_dtype(p.source, at.tensor), in_row(p, at) + e);
}

TEST(Inputs, AreReplacedAndCopiedInTheTypeOfEachTensor) {
  const std::string shape = "tokens=2 q.heads=2 k.heads=2 k.dtype=f16 k.head_dim=3 t2.dtype=f64";
  Problem p = laid_out(shape + " seed=0x7"), other = laid_out(shape);
  replace_pairs(p, [](int, const HeadPlace& at, std::int64_t) {
    return PairValue{DoubleDouble(0.5 + at.tensor), DoubleDouble(-0.25)};
  });
  copy_heads(p, other, [](const HeadPlace& at) { return at; });
  for (const Problem* each : {&p, &other})
    for (std::uint32_t i = 0; i < 3; ++i) {
      EXPECT_EQ(input(*each, 1, {i, 0, 1, 0}, 0), 0.5 + i);
      EXPECT_EQ(input(*each, 1, {i, 0, 1, 0}, 1), -0.25);
    }
  const auto k = static_cast<std::size_t>(p.buffer(Operand::in, 1));
  EXPECT_EQ(p.buffers[k].content, other.buffers[k].content);
  EXPECT_THROW(copy_heads(p, other,
                          [](const HeadPlace& at) {
                            return HeadPlace{at.tensor == 1 ? 0 : at.tensor, at.b, at.t, 0};
                          }),
               BadCase);
}

TEST(Inputs, ReplacedPairsAreThoseOfBothPlacementsAndNothingElse) {
  for (const std::string words : {"q.in_place=0", "q.in_place=1", "pairing=interleaved"}) {
    const bool next = words == "pairing=interleaved";
    const std::string shape =
        "rotary_dim=4 q.heads=2 q.head_dim=6 q.offset=1 k.heads=1 k.head_dim=4 k.rotate=0 " + words;
    const Problem before = laid_out(shape);
    Problem p = before;
    replace_pairs(p, [](int placement, const HeadPlace& at, std::int64_t pair) {
      const double v = 100 * placement + 10 * static_cast<double>(at.h) + static_cast<double>(pair);
      return PairValue{DoubleDouble(v), DoubleDouble(-v - 0.5)};
    });
    for (const int placement : {0, 1})
      for (const std::int64_t h : {0, 1}) {
        const HeadPlace at{0, 0, 0, h};
        const double v = 100 * placement + 10 * static_cast<double>(h);
        EXPECT_EQ(input(p, placement, at, 1), v);
        EXPECT_EQ(input(p, placement, at, next ? 3 : 2), v + 1);
        EXPECT_EQ(input(p, placement, at, next ? 2 : 3), -v - 0.5);
        EXPECT_EQ(input(p, placement, at, 4), -v - 1.5);
      }
    EXPECT_EQ(pair_elements(p.asked, 0, 1).first, next ? 3 : 2);
    EXPECT_EQ(pair_elements(p.asked, 0, 1).second, 4);
    const auto k = static_cast<std::size_t>(p.buffer(Operand::in, 1));
    EXPECT_EQ(p.buffers[k].content, before.buffers[k].content) << "rotate = 0 stays";
    const auto q = static_cast<std::size_t>(p.buffer(Operand::in));
    const auto *now = p.buffers[q].content.data(), *then = before.buffers[q].content.data();
    for (const int at : {0, 20, 44})
      EXPECT_EQ(std::memcmp(now + at, then + at, 4), 0) << "outside the window, bit for bit";
  }
}

TEST(Inputs, CopiedHeadsAreTheirSourcesBitForBit) {
  const Problem from = laid_out("tokens=2 q.heads=2 q.head_dim=5");
  Problem to = laid_out("tokens=2 q.heads=2 q.head_dim=5 q.in=40,20,7 seed=9");
  const auto mirrored = [](const HeadPlace& at) {
    return HeadPlace{at.tensor, at.b, 1 - at.t, 1 - at.h};
  };
  copy_heads(from, to, mirrored);
  for (const int placement : {0, 1})
    for (const std::int64_t t : {0, 1})
      for (const std::int64_t h : {0, 1}) {
        const auto row = [&](const Problem& p, std::int64_t token, std::int64_t head) {
          return given(p, placement, p.buffer(Operand::in)).data() +
                 4 * in_index(p.asked, 0, 0, token, head);
        };
        EXPECT_EQ(std::memcmp(row(to, t, h), row(from, 1 - t, 1 - h), 20), 0);
      }
}

}  // namespace
}  // namespace ropewalk::harness
