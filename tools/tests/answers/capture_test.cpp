// capture beside engines that fork, share threads and fill disks; and foreign files of tensors.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tools/tests/python/with_numpy.h"

namespace {

class Captures : public WithNumpy {
 protected:
  static void holds(const std::string& name) {
    const std::string folder = fresh(name).string();
    std::filesystem::create_directories(folder);
    const Result r = script(name + ".py " + folder);
    EXPECT_EQ(r.code, 0) << r.out << r.err;
    EXPECT_EQ(r.out, "");
  }
};

TEST_F(Captures, WritesEveryFileOrWarnsOnce) {
  holds("captures");
}

TEST_F(Captures, AFileOfTensorsIsReadWithinItsBoundsAndRunsNothing) {
  holds("foreign_dumps");
}

}  // namespace
