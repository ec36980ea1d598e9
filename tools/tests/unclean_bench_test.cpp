// Kernels that leave something in the process that times all kernels, or do in a timed call what no
// call may do. Each is named with what its entry did, and the others are timed.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>

#include "tools/tests/shell.h"
#include "tools/tests/timings.h"

namespace {

const std::string bench = std::string("bench --profile smoke --shape q=4,k=2,d=64,tokens=1009 ") +
                          "--kernel plain --kernel innocent --plugin " + ROPEWALK_UNCLEAN_PLUGIN;

struct Unclean {
  const char *name, *why;
};
void PrintTo(const Unclean& unclean, std::ostream* out) {
  *out << unclean.name;
}

std::set<std::string> kernels_in(const std::filesystem::path& out, const std::string& outcome) {
  std::set<std::string> kernels;
  for (const Timing& row : timings_of(out / "results.jsonl"))
    if (row.outcome == outcome) kernels.insert(row.kernel);
  return kernels;
}

void expect_broken(const Result& r, const Unclean& unclean) {
  EXPECT_EQ(r.code, 1) << r.out << r.err;
  const std::size_t at = r.out.find(std::string("\nBROKEN ") + unclean.name + ": ");
  ASSERT_NE(at, std::string::npos) << r.out << r.err;
  EXPECT_TRUE(contains(r.out.substr(at), unclean.why)) << r.out.substr(at);
  EXPECT_EQ(lines_in(r.out.substr(at + 1)), 1) << "others are broken too: " << r.out.substr(at);
}

class UncleanBench : public ::testing::TestWithParam<Unclean> {
 protected:
  void SetUp() override {
#ifdef ROPEWALK_SANITIZED
    GTEST_SKIP() << "a sanitizer has threads, an allocator and a speed of its own";
#endif
  }
};

TEST_P(UncleanBench, IsNamedAndTheInnocentAreTimed) {
  const std::string name = GetParam().name;
  const auto out = scratch() / "out";
  std::filesystem::remove_all(out);
  const Result r =
      ropewalk(bench + " --launches 1 --rounds 200 --kernel " + name + " --out " + out.string());
  expect_broken(r, GetParam());
  EXPECT_EQ(kernels_in(out, "BROKEN"), std::set<std::string>{name});
  EXPECT_EQ(kernels_in(out, "MEASURED"),
            (std::set<std::string>{"plain", "plain (twin)", "innocent", "ceiling_update"}));
}

INSTANTIATE_TEST_SUITE_P(
    Kernels, UncleanBench,
    ::testing::Values(
        Unclean{"prepare_leaves_thread", "prepare left "},
        Unclean{"prepare_blocks_signal", "prepare left SIGUSR1 blocked"},
        Unclean{"prepare_rounds_down", "prepare left the floating-point environment changed"},
        Unclean{"prepare_marks_problem", "prepare wrote into its rope_problem"},
        Unclean{"release_leaves_thread", "release left "},
        Unclean{"release_rounds_down", "release left the floating-point environment changed"},
        Unclean{"release_throws", "release: an exception left the kernel: something"},
        Unclean{"ignores_signal", "left SIGUSR2's handler changed"},
        Unclean{"allocates", "called the allocator "},
        Unclean{"marks_problem", "apply wrote into its rope_problem while timed"},
        Unclean{"marks_operands", "apply wrote into its rope_operands while timed"},
        Unclean{"overruns_output", "apply wrote past the end of an output while timed"},
        Unclean{"overruns_workspace", "apply wrote past the end of its workspace while timed"}),
    [](const auto& unclean) { return std::string(unclean.param.name); });

TEST(UncleanBenchByGoogleBenchmark, IsNamedAndTheInnocentAreTimed) {
#ifdef ROPEWALK_SANITIZED
  GTEST_SKIP() << "a sanitizer has threads, an allocator and a speed of its own";
#endif
  for (const Unclean& unclean : {Unclean{"prepare_leaves_thread", "prepare left "},
                                 Unclean{"release_rounds_down", "release left the floating-poi"},
                                 Unclean{"ignores_signal", "left SIGUSR2's handler changed"},
                                 Unclean{"allocates", "called the allocator "}}) {
    const auto out = scratch() / "out";
    std::filesystem::remove_all(out);
    const Result r = ropewalk(bench + " --kernel " + unclean.name + " --out " + out.string() +
                              " -- --benchmark_min_time=0.05 --benchmark_repetitions=3");
    expect_broken(r, unclean);
    EXPECT_EQ(kernels_in(out, "BROKEN"), std::set<std::string>{unclean.name});
    EXPECT_EQ(kernels_in(out, "MEASURED"),
              (std::set<std::string>{"plain", "innocent", "ceiling_update"}));
  }
}

TEST(CleanBench, PrepareMayAllocatePrintAndRunAThread) {
  for (const char* engine : {"--launches 1 --rounds 6", "-- --benchmark_repetitions=2"}) {
    const Result r = ropewalk(bench + " --kernel prepare_does_much " + engine);
    EXPECT_TRUE(r.code == 0 || r.code == 3) << r.out << r.err;  // 3: too noisy here
    EXPECT_FALSE(contains(r.out, "BROKEN")) << r.out;
  }
}

}  // namespace
