#include "harness/judge/asked_shapes.h"

#include <gtest/gtest.h>

#include "harness/cases/problem.h"

namespace ropewalk::harness {
namespace {

const ModelShape shape{{{{8, 16, 4}, {2, 12, 0}}}, 8, 0, 0, {}};

Case fitting() {
  Case c;
  c.rotary_dim = 8;
  c.tokens = 3;
  c.tensors.resize(2);
  for (std::size_t i = 0; i < 2; ++i) {
    c.tensors[i].heads = shape.tensors[i].heads;
    c.tensors[i].head_dim = shape.tensors[i].head_dim;
    c.tensors[i].rotary_offset = shape.tensors[i].rotary_offset;
  }
  return c;
}

bool fits(const Case& c, const ModelShape& wanted = shape) {
  return has_shape(make_question(c).asked, wanted);
}

TEST(AskedShapes, QAndKTogetherOrAloneFit) {
  EXPECT_TRUE(fits(fitting()));
  for (const std::size_t alone : {std::size_t{0}, std::size_t{1}}) {
    Case c = fitting();
    c.tensors = {c.tensors[alone]};
    EXPECT_TRUE(fits(c));
  }
  Case swapped = fitting();
  std::swap(swapped.tensors[0], swapped.tensors[1]);
  EXPECT_FALSE(fits(swapped));
}

TEST(AskedShapes, AThirdTensorIsLikeK) {
  Case c = fitting();
  c.tensors.push_back(c.tensors[1]);
  c.tensors[2].rotate = false;
  EXPECT_TRUE(fits(c));
  c.tensors[2] = c.tensors[0];
  EXPECT_FALSE(fits(c));
}

TEST(AskedShapes, EachOtherSizeDoesNotFit) {
  void (*const changes[])(Case&) = {
      [](Case& c) { c.rotary_dim = 6; },
      [](Case& c) { c.tensors[0].heads = 4; },
      [](Case& c) { c.tensors[1].heads = 8; },
      [](Case& c) { c.tensors[0].head_dim = 17; },
      [](Case& c) { c.tensors[1].head_dim = 16; },
      [](Case& c) { c.tensors[0].rotary_offset = 0; },
      [](Case& c) { c.tensors[1].rotary_offset = 4; },
  };
  for (const auto change : changes) {
    Case c = fitting();
    change(c);
    EXPECT_FALSE(fits(c)) << to_text(c);
  }
}

TEST(AskedShapes, TokensAndBatchAreFreeUnlessStated) {
  Case c = fitting();
  for (const std::int64_t n : {1, 4}) {
    c.tokens = c.batch = n;
    EXPECT_TRUE(fits(c));
  }
  ModelShape stated = shape;
  stated.tokens = 4;
  EXPECT_TRUE(fits(c, stated));
  c.tokens = 5;
  EXPECT_FALSE(fits(c, stated));
  c.tokens = 4;
  stated.batch = 3;
  EXPECT_FALSE(fits(c, stated));
}

TEST(AskedShapes, TheAnglesOfAModelAreAllOfItsNumbers) {
  ModelShape model = shape;
  EXPECT_TRUE(has_angles(fitting(), model)) << "no model, any angles";
  model.angles = {500000, "linear", {4}, 1.5};
  Case c = fitting();
  EXPECT_FALSE(has_angles(c, model));
  take_angles(c, *model.angles);
  EXPECT_TRUE(has_angles(c, model));
  const auto without = [&](auto change) {
    Case changed = c;
    change(changed);
    return has_angles(changed, model);
  };
  EXPECT_FALSE(without([](Case& x) { x.rope_theta = 10000; }));
  EXPECT_FALSE(without([](Case& x) { x.scaling_values = {8}; }));
  EXPECT_FALSE(without([](Case& x) { x.attention_scale = 0; }));
  EXPECT_FALSE(without([](Case& x) { x.inv_freq = {1, 1, 1, 1}; }));
}

}  // namespace
}  // namespace ropewalk::harness
