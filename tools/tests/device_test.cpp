// Kernels of a device, judged with the stand-in for the CUDA driver: what each broken clause is
// called, and why a kernel is SKIPPED where it cannot run.
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>
#include <string>

#include "tools/tests/shell.h"

namespace {

Result on_standin(const std::string& arguments, const std::string& settings = "",
                  const std::string& driver = ROPEWALK_STANDIN_DRIVER) {
  return ropewalk("verify --profile smoke --no-cuda --jobs 1 --plugin " +
                      std::string(ROPEWALK_DEVICE_MUTANTS) + " " + arguments,
                  "ROPEWALK_CUDA_DRIVER='" + driver + "' " + settings + " ");
}

struct DeviceBreach {
  const char *kernel, *property, *words;
  bool or_too_late = false;  // the words below may stand instead
};
// Names without "mutant_device_" and "_table".
const DeviceBreach device_breaches[] = {
    {"default_stream", "unwritten_outputs", "output elements were never written", true},
    {"streams_not_joined", "agreement", "a pair is too far from the exact rotation", true},
    {"joined_in_graphs", "agreement", "a pair is too far from the exact rotation", true},
    {"waits", "agreement", "apply answered 2, as it cannot be captured into a graph: CUDA error"},
    {"allocates_on_stream", "agreement", "apply allocates device memory, by work on its stream"},
    {"allocates_at_first_call", "agreement", "as it cannot be captured into a graph: CUDA error"},
    {"no_context_on_threads", "threads", "apply left no CUDA context current"},
    {"workspace_at_256", "agreement", "a pair is too far from the exact rotation"},
    // into that of an earlier call, or, if it lies there, behind the present one
    {"keeps_workspace", "agreement", " the workspace"},
    {"prepare_faults", "agreement",
     "CUDA error 700 (an illegal memory access was encountered) in prepare"},
    {"keeps_memory", "history", "bytes of device memory, and again when its calls were repeated"},
    {"release_forgets", "sizes", "release kept device memory: "},
    {"writes_input", "agreement", "apply wrote into q.in, which is read-only: byte offset "},
    {"writes_past", "agreement", "apply wrote outside its buffers: "},
    {"illegal_address", "agreement",
     "CUDA error 700 (an illegal memory access was encountered) in apply"},
    {"host_reads", "agreement", "SIGSEGV in apply: read in read-only positions, byte offset 0"},
    {"counts_launches", "agreement", "apply's graph gave other bits when it was launched again"},
    {"no_context", "agreement", "apply left no CUDA context current"},
    {"shares_scratch", "threads", "gave other bits"},
};

// Work on a stream that nobody waits for may also run when the memory of its call is gone. Which of
// the two shows depends on the first case that fails.
constexpr const char* too_late =
    "CUDA error 700 (an illegal memory access was encountered) in release";

class EachBrokenClause : public testing::TestWithParam<const char*> {};

TEST_P(EachBrokenClause, IsNamed) {
  std::string chosen;
  for (const DeviceBreach& breach : device_breaches)
    if (std::string(breach.property) == GetParam())
      chosen += " --kernel mutant_device_" + std::string(breach.kernel) + "_table";
  const Result r = ropewalk("mutants --profile smoke --first-kill --json --property " +
                            std::string(GetParam()) + chosen);
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  for (const auto& [kernel, property, words, or_too_late] : device_breaches) {
    if (std::string(property) != GetParam()) continue;
    const std::string name = "mutant_device_" + std::string(kernel) + "_table";
    std::istringstream lines(r.out);
    std::string told;
    for (std::string row; std::getline(lines, row);)
      if (field(row, "kernel") == name) told += field(row, "reason") + "\n";
    EXPECT_TRUE(contains(told, words) || (or_too_late && contains(told, too_late)))
        << kernel << ": " << told;
  }
}

INSTANTIATE_TEST_SUITE_P(Device, EachBrokenClause,
                         testing::Values("agreement", "unwritten_outputs", "threads", "history",
                                         "sizes"),
                         [](const auto& test) { return std::string(test.param); });

TEST(Device, CorrectKernelsHold) {
  for (const char* settings : {"", "ROPEWALK_DEVICE_MEMORY=exact"}) {
    const Result r = on_standin(
        "--kernel control_device_table --kernel 'control_device_o*' --kernel 'control_device_s*' "
        "--property norm --property shared_inputs",
        settings);
    EXPECT_EQ(r.code, 0) << settings << r.out << r.err;
    EXPECT_TRUE(contains(r.out, "PASS  control_device_table half_split f32 table (cuda: stand-in)"))
        << r.out;
  }
}

// On a device with room the value that this mutant does not join is kept in time.
TEST(Device, ARaceThatNeedsABusyDeviceShowsWhereCallsAreRepeated) {
  const auto judged = [](const std::string& words) {
    return on_standin("--dtype f32 --fail-fast " + words, "ROPEWALK_STANDIN=runs_ahead");
  };
  const std::string mutant = "--kernel mutant_device_joined_in_graphs_table ";
  EXPECT_EQ(judged(mutant + "--property norm").code, 0);
  const Result found = judged(mutant + "--property history");
  expect(found, 1, {"call 2 with the same input gave other bits than call 1"});
  const Result held = judged("--kernel control_device_streams_joined_table --property history");
  EXPECT_EQ(held.code, 0) << held.out;
}

TEST(Device, ReasonsForSkippingAreToldApart) {
  const struct {
    const char *settings, *driver, *words;
  } reasons[] = {
      {"", "/nowhere/libcuda.so.1", "no CUDA driver: /nowhere/libcuda.so.1: cannot open"},
      {"ROPEWALK_STANDIN=no_device", ROPEWALK_STANDIN_DRIVER, "the CUDA driver finds no device"},
      {"ROPEWALK_STANDIN=old_driver", ROPEWALK_STANDIN_DRIVER,
       "the CUDA driver is too old: it is for CUDA 10.2, and 11.4 is needed"},
      {"ROPEWALK_STANDIN=no_graphs", ROPEWALK_STANDIN_DRIVER,
       "the CUDA driver captures no graphs: CUDA error 801 (operation not supported)"},
      {"", "libc.so.6", "the CUDA driver libc.so.6 is too old: it has no cuInit"},
      {"ROPEWALK_STANDIN=capability=75", ROPEWALK_STANDIN_DRIVER,
       "the device stand-in is sm_75, and the kernel needs sm_80"},
      {"ROPEWALK_STANDIN=dies_in_init", ROPEWALK_STANDIN_DRIVER,
       "the CUDA driver is broken: its cuInit ends the process by SIGSEGV"},
      {"ROPEWALK_STANDIN=exits_in_init", ROPEWALK_STANDIN_DRIVER,
       "the CUDA driver is broken: its cuInit exits the process"}};
  for (const auto& [settings, driver, words] : reasons) {
    const std::string one = "--kernel control_device_table --property agreement";
    const Result skipped = on_standin(one, settings, driver);
    EXPECT_EQ(skipped.code, 3) << skipped.out;
    EXPECT_TRUE(contains(on_one_line(skipped.out),
                         "SKIPPED control_device_table (table): everything: " + std::string(words)))
        << skipped.out;
    for (const char* offer :
         {"supports, which needs no device, says of half_split f32, interleaved f32: offered, ",
          ", interleaved f16: refused, only f32 data"})
      EXPECT_TRUE(contains(on_one_line(skipped.out), offer)) << skipped.out;
    const Result required =
        on_standin(one, std::string(settings) + " ROPEWALK_REQUIRE_GPU=1", driver);
    EXPECT_EQ(required.code, 1) << required.out;
    EXPECT_TRUE(
        contains(on_one_line(required.out), "ROPEWALK_REQUIRE_GPU is 1, and " + std::string(words)))
        << required.out;
  }
}

TEST(Device, WithoutRoomIsSkippedAndSaysHowMuchItWants) {
  const Result r =
      on_standin("--kernel control_device_table --property norm", "ROPEWALK_STANDIN=memory=1000");
  EXPECT_EQ(r.code, 3) << r.out;
  EXPECT_TRUE(contains(on_one_line(r.out), "bytes of device memory, and 1000 are free")) << r.out;
}

TEST(Device, WhatDoesNotFitIsSkippedCaseByCase) {
  const Result r = on_standin("--kernel control_device_table --property far_strides");
  EXPECT_EQ(r.code, 3) << r.out;
  EXPECT_TRUE(contains(on_one_line(r.out), "far_strides: only 1 of 14 cases ran: ")) << r.out;
  EXPECT_TRUE(contains(on_one_line(r.out), "MiB of device memory, and ")) << r.out;
}

TEST(Device, ThatVanishesBetweenCallsIsACrash) {
  const Result r = on_standin("--kernel control_device_table --property agreement",
                              "ROPEWALK_STANDIN=vanishes=3000");
  expect(r, 1, {"CUDA error 999 (unknown error)"});
}

// The command with a script in place of compute-sanitizer, on one case of a property.
Result sanitized(const std::string& script, const std::string& settings = "") {
  const auto file = scratch() / "compute-sanitizer";
  std::filesystem::remove(file);
  if (!script.empty()) spill(file, "#!/bin/sh\n" + script);
  if (!script.empty()) std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  return on_standin("--kernel 'control_device_t*' --property norm --one-case --sanitizers",
                    "ROPEWALK_COMPUTE_SANITIZER='" + file.string() + "' " + settings);
}

TEST(Sanitizers, PassOrFailByWhatTheToolReports) {
  const Result r = sanitized(
      "tool=$2\nwhile [ \"${1##*/}\" != ropewalk ]; do shift; done\n"
      "echo '========= COMPUTE-SANITIZER'\n\"$@\" || exit\n"
      "[ $tool = racecheck ] || { echo '========= ERROR SUMMARY: 0 errors'; exit; }\n"
      "echo '========= Error: Race reported between Write access and Read access'\n"
      "echo '=========     at turn+0x70'\n"
      "echo '========= RACECHECK SUMMARY: 3 hazards displayed (3 errors, 0 warnings)'\nexit 9\n");
  expect(r, 1,
         {"FAIL  control_device_table table (cuda: stand-in): 1 of 4 properties fail\n",
          "because    Error: Race reported between Write access and Read access\n",
          "where      RACECHECK SUMMARY: 3 hazards displayed (3 errors, 0 warnings)\n",
          "replay     'env' 'ROPEWALK_DEVICE_MEMORY=exact' '/",
          "compute-sanitizer' '--tool' 'racecheck' '--target-processes' 'all' ",
          "cases: planned 10, executed 10, compared 10;"});
}

TEST(Sanitizers, AToolThatDidNotRunToItsEndIsSkippedInWords) {
  const auto told = [](const Result& r, int code, const std::string& words) {
    EXPECT_EQ(r.code, code) << r.out;
    const std::string row = "SKIPPED control_device_table (table): sanitizer_memcheck: " + words;
    EXPECT_TRUE(contains(on_one_line(r.out), row)) << row << "\n" << r.out;
  };
  told(sanitized(""), 0, "compute-sanitizer was not found");
  told(sanitized("sleep 60\n", "ROPEWALK_SANITIZER_LIMIT_S=1"), 0, "was cut off after 1 s");
  told(sanitized("echo '========= Error: no device is supported'\nexit 1\n"), 0,
       "compute-sanitizer failed with exit code 1; it said: Error: no device is supported");
  told(sanitized("exit 0\n"), 0, "compute-sanitizer gave no summary");
  told(sanitized("echo '========= ERROR SUMMARY: 0 errors'\n"), 0, "no case ran");
  told(sanitized("", "ROPEWALK_STANDIN=no_device"), 3, "the CUDA driver finds no device");
}

TEST(Sanitizers, KernelsOfTheHostHaveNone) {
  const Result r = ropewalk("verify --no-cuda --kernel plain --property norm --sanitizers");
  expect(r, 2, {}, {"--sanitizers: no kernel of a device was chosen"});
}

}  // namespace
