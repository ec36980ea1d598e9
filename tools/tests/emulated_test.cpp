// The command on a processor without AVX, emulated by qemu. The wide kernels are skipped with a
// reason, and no wide instruction is in the code that all kernels share.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tools/tests/shell.h"

namespace {

// Runs the command and its workers on another processor.
Result on(const std::string& cpu, const std::string& arguments) {
  const auto wrapper = scratch() / "ropewalk-on-another-processor";
  std::ofstream(wrapper) << "#!/bin/sh\nexec qemu-x86_64 -cpu " << cpu << " '"
                         << ROPEWALK_EXECUTABLE << "' \"$@\"\n";
  std::filesystem::permissions(wrapper, std::filesystem::perms::owner_all);
  return shell("ROPEWALK_WORKER='" + wrapper.string() + "' '" + wrapper.string() + "' " +
               arguments);
}

class Emulated : public testing::Test {
 protected:
  void SetUp() override {
#if defined(ROPEWALK_SANITIZED)
    GTEST_SKIP() << "sanitizers do not run under qemu-user";
#endif
    if (shell("command -v qemu-x86_64").code != 0) GTEST_SKIP() << "no qemu-x86_64 (qemu-user)";
  }
};

// Small tensors alone: the emulator is some ten times slower.
constexpr const char* some =
    "verify --profile smoke --cases 2 --property norm --property linearity --property agreement "
    "--shape q=2,d=16,tokens=3 ";

TEST_F(Emulated, WithoutAvxTheWideKernelsAreSkippedAndTheOthersHold) {
  const Result r = on("Nehalem", some);
  expect(r, 0,
         {"SKIPPED avx2 (table), avx2_phase (exact): everything: this machine has no avx2",
          "SKIPPED avx512 (table), avx512_bf16 (table), avx512_phase (exact): everything: this "
          "machine has no avx512f"});
  for (const char* kernel : {"plain ", "elementwise ", "complex ", "dense ", "phase "})
    EXPECT_TRUE(contains(r.out, std::string("PASS  ") + kernel)) << r.out;
}

TEST_F(Emulated, WithAvx2OnlyTheWidestIsSkipped) {
  const Result r = on("Haswell", std::string(some) + "--kernel 'avx*'");
  expect(r, 0, {"PASS  avx2 ", "SKIPPED avx512 "});
}

TEST_F(Emulated, CompilerBaselinesSayWhatTheProcessorLacks) {
  const auto baselines =
      std::filesystem::path(ROPEWALK_EXECUTABLE).parent_path() / "ropewalk_baselines_gcc.so";
  if (!std::filesystem::exists(baselines)) GTEST_SKIP() << "no g++ made baselines here";
  if (!contains(ropewalk("list --json --kernel gcc_plain").out, "sse4_2,avx,"))
    GTEST_SKIP() << "the baselines of this machine need no AVX";
  const Result r = on("Nehalem", std::string(some) + "--kernel plain --kernel gcc_plain --plugin " +
                                     baselines.string());
  expect(r, 0, {"SKIPPED gcc_plain (table): everything: this machine has no avx"});
}

// The control: the same processor does stop at an instruction that it lacks.
TEST_F(Emulated, AWideInstructionWouldBeSeen) {
  const auto code = scratch() / "wide.c";
  std::ofstream(code) << "int main(void) { __asm__ volatile(\"vxorps %ymm0, %ymm0, %ymm0\"); }\n";
  const auto program = scratch() / "wide";
  ASSERT_EQ(shell("gcc -x c " + code.string() + " -o " + program.string()).code, 0);
  EXPECT_EQ(shell("qemu-x86_64 -cpu Haswell " + program.string()).code, 0);
  EXPECT_NE(shell("qemu-x86_64 -cpu Nehalem " + program.string()).code, 0);
}

}  // namespace
