// Tests that the effect of another floating-point mode is reported, and that no effect is reported
// as none.
#include "properties/observe/float_modes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace ropewalk::properties {
using namespace harness;
namespace {

std::string effects_on(const std::string& kernel) {
  WorkerOptions options;
  options.executable = ROPEWALK_EXECUTABLE;
  options.plugins = {ROPEWALK_MUTANTS};
  Worker worker(options);
  Oracle oracle;
  const auto& kernels = worker.kernels();
  const auto facts = std::find_if(kernels.begin(), kernels.end(),
                                  [&](const KernelFacts& k) { return k.name == kernel; });
  if (facts == kernels.end()) return "no such kernel";
  Subject subject{worker, oracle, *facts};
  std::string effects;
  for (const FloatModeNote& note : float_mode_notes(subject))
    effects += note.mode + ": " + note.effect + "\n";
  return effects;
}

#if defined(__x86_64__)

TEST(FloatModes, AProductFeelsThemAll) {
  const std::string effects = effects_on("plain");
  EXPECT_EQ(std::count(effects.begin(), effects.end(), '\n'), 4) << effects;
  for (const char* mode : {"flush to zero (FTZ, DAZ), subnormal data", "rounding down",
                           "rounding up", "rounding to zero"})
    EXPECT_NE(effects.find(mode + std::string(": other bits, ")), std::string::npos) << effects;
}

TEST(FloatModes, AProductWithOneFeelsNoRounding) {
  const std::string effects = effects_on("mutant_identity_table");
  for (const char* mode : {"rounding down", "rounding up", "rounding to zero"})
    EXPECT_NE(effects.find(mode + std::string(": the same bits")), std::string::npos) << effects;
}

// A caller within the contract never sees this effect, so verify does not fail.
TEST(FloatModes, AModeThatIsNotGivenBackIsNamed) {
  const std::string effects = effects_on("control_sets_rounding_table");
  EXPECT_NE(effects.find("rounding up: apply left the floating-point environment changed: MXCSR "),
            std::string::npos)
      << effects;
}

#endif

}  // namespace
}  // namespace ropewalk::properties
