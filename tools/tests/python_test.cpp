// Kernels in Python that take long: those of the guide, where their frameworks are, and one that
// sleeps. The transcripts named python have what the command says of all others.
#include <gtest/gtest.h>

#include <string>

#include "tools/tests/python/with_numpy.h"

namespace {

const std::string guide = std::string(ROPEWALK_SOURCE_DIR) + "/docs/python/";

TEST(PythonGuide, ShowsTheVeryFiles) {
  const std::string text = slurp(guide + "../python-kernels.md");
  for (const std::string name : {"numpy", "fused", "torch", "jax"})
    EXPECT_TRUE(contains(text, slurp(guide + name + "_rope.py"))) << name;
}

// The kernels of the guide, where their frameworks are.
class Framework : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Guide, Framework, testing::Values("numpy", "torch", "jax", "triton"),
                         [](const auto& one) { return one.param; });

TEST_P(Framework, TheKernelOfTheGuideHolds) {
  const std::string python = python_with(GetParam());
  if (python.empty()) GTEST_SKIP() << "no python3 here has " << GetParam();
  const Result r = ropewalk("verify --profile smoke --no-cuda --python " + python + " --plugin " +
                            guide + GetParam() + "_rope.py --kernel '" + GetParam() +
                            "*' --property agreement --property norm --property threads");
  EXPECT_EQ(r.code, 0) << r.out << r.err;
}

using InPython = WithNumpy;
TEST_F(InPython, ASleepIsAHang) {
  const Result r = with_numpy("verify --profile smoke --no-cuda --plugin " + planted +
                              "wrong.py --kernel sleeps --property norm --cases 1");
  expect(r, 1, {"HANG  sleeps"});
}

}  // namespace
