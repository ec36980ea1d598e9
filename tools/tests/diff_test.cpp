// diff: two kernels, dumps or providers that differ in a planted place.
#include <gtest/gtest.h>

#include <string>

#include "tools/tests/python/with_numpy.h"

namespace {

const std::string apart = planted + "apart.py";

class Diff : public WithNumpy {};

Result diff(const std::string& words) {
  return with_numpy("diff " + words);
}

TEST_F(Diff, AKernelIsItself) {
  const Result r = diff("plain plain --dtype f32");
  expect(r, 0, {"which are the same", "half_split f32: all of "});
}

TEST_F(Diff, AnF32AngleGrowsWithThePosition) {
  const std::string picture = (scratch() / "apart.svg").string();
  const Result r = diff("plain plain_f32_angle --dtype f32 --svg " + picture);
  expect(r, 1, {"angles: table and f32_angle", "nearer     plain, in 9"});
  EXPECT_TRUE(contains(slurp(picture), "<svg")) << r.out;
  const Result json = diff("plain plain_f32_angle --dtype f32 --json");
  std::smatch found;
  const std::regex row(
      R"x("from":(64|16384),"compared":\d+,"equal":\d+,"ulps":[^,]+,"u_rho":([0-9.e+]+))x");
  std::vector<double> u;
  for (std::sregex_iterator at(json.out.begin(), json.out.end(), row), end; at != end; ++at)
    u.push_back(std::stod((*at)[2]));
  ASSERT_GE(u.size(), 2U) << json.out;
  EXPECT_GT(u[1], 30 * u[0]) << "256 times the position";
}

TEST_F(Diff, OneBitAtOnePositionOfOneHeadIsFound) {
  const Result r = diff(apart + "::one " + apart + "::one_bit");
  expect(r, 1,
         {"half_split f32: all but 1 of ",
          "position 77777, q[batch 0, token 12241, head 5] element 2, pair 0"});
  EXPECT_EQ(diff(apart + "::one " + apart + "::one_bit --max-ulp 1").code, 0);
}

TEST_F(Diff, WhatLiesBesideTheWindowCounts) {
  EXPECT_EQ(diff(apart + "::copies " + apart + "::copies").code, 0);
  const Result r = diff(apart + "::copies " + apart + "::shrinks");
  EXPECT_TRUE(contains(r.out, " ulp, 4.19e+06 u |x|")) << r.out;
  EXPECT_TRUE(contains(r.out, "a logit    q.k moves by at most 0.56 ")) << r.out;
}

TEST_F(Diff, WhatCannotBeComparedIsTold) {
  const Result ended = diff(apart + "::one " + apart + "::ends");
  expect(ended, 1, {"ends: SIGABRT in apply", "half_split f32: all of "});
  for (const auto& [words, line] :
       {std::pair{apart + "::one " + apart + "::other_pairing", "in common: "},
        {"plain " + apart + "::none", "has no kernel none"},
        {"plain 'plain*'", "name one: plain, plain_f32_angle"},
        {"plain x.safetensors", "x.safetensors: "}}) {
    const Result r = diff(words);
    expect(r, 2, {}, {line});
    EXPECT_EQ(lines_in(r.err), 1) << r.err;
  }
}

TEST_F(Diff, AssertSameComparesFunctions) {
  const Result r = script("apart.py");
  EXPECT_EQ(r.code, 0) << r.out << r.err;
}

TEST_F(Diff, DumpsAndProvidersAreCompared) {
  const std::string folder = fresh("dumps").string();
  std::filesystem::create_directories(folder);
  const Result made = script("apart.py " + folder);
  ASSERT_EQ(made.code, 0) << made.out << made.err;
  const std::string a = folder + "/a.safetensors ";
  EXPECT_EQ(diff(a + a).code, 0);
  const Result r = diff(a + folder + "/b.safetensors");
  expect(r, 1, {"position 40, batch row 0, token 40, head 2, element 7"});
  EXPECT_EQ(diff(a + folder + "/b.safetensors --max-ulp 2").code, 0);
  EXPECT_EQ(diff(a + apart + "::one").code, 0);
  const Result kernel = diff(apart + "::one " + folder + "/b.safetensors");
  expect(kernel, 1,
         {"99.99 % of 8,192 elements", "position 40, q[batch 0, token 40, head 2] element 7"});
  const Result pair = diff(folder + "/pair.safetensors " + apart + "::one");
  EXPECT_TRUE(contains(pair.out, "in 100 % of 1 pairs that differ")) << pair.out;
  const Result three = diff(folder + "/three_a.safetensors " + folder + "/three_b.safetensors");
  EXPECT_TRUE(contains(three.out, "position 48, 48, 49, batch row 0, token 40")) << three.out;
  for (const char* other : {"other_layout", "other_x"})
    EXPECT_EQ(diff(a + folder + "/" + other + ".safetensors").code, 2) << other;
  const Result turned = diff(apart + "::angles " + apart + "::other_angles");
  expect(turned, 1, {"cos f32: "});
  EXPECT_EQ(diff(apart + "::angles " + apart + "::angles").code, 0);
}

}  // namespace
