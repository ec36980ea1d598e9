// check: errors in models are named. The transcript bad_models has what is no model.
#include <gtest/gtest.h>

#include "tools/tests/python/with_numpy.h"

namespace {

using CheckOfModels = WithNumpy;
TEST_F(CheckOfModels, NamesWhatIsPlanted) {
  const Result r = script("checked.py");
  if (r.code == 77) GTEST_SKIP() << r.out;  // without torch or transformers
  EXPECT_EQ(r.code, 0) << r.out << r.err;
}

}  // namespace
