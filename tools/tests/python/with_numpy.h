// For tests of what the package in Python does: a Python that has NumPy, else they are skipped.
#pragma once
#include <gtest/gtest.h>

#include <string>

#include "tools/tests/shell.h"

inline const std::string planted = std::string(ROPEWALK_SOURCE_DIR) + "/tools/tests/python/";

class WithNumpy : public testing::Test {
 protected:
  void SetUp() override {
    if (python_with("numpy").empty()) GTEST_SKIP() << "no python3 here has numpy";
  }
};

/// Runs the command with that Python.
inline Result with_numpy(const std::string& words) {
  return ropewalk(words + " --python " + python_with("numpy"));
}

/// Runs a script beside this file with the package of the tree.
inline Result script(const std::string& words) {
  return shell("OPENBLAS_NUM_THREADS=1 PYTHONPATH=" + std::string(ROPEWALK_SOURCE_DIR) +
               "/python ROPEWALK_COMMAND=" + ROPEWALK_EXECUTABLE + " " + python_with("numpy") +
               " -B " + planted + words);
}
