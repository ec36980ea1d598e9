// Tests that overruns and wrong frees are named with the size of the block, and that correct
// kernels pass.
#include "harness/watch/heap_guard.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "harness/testing/own_worker.h"

namespace ropewalk::harness {
namespace {

using Kind = CallResult::Kind;

class HeapGuard : public ::testing::Test {
 protected:
  void SetUp() override {
#if defined(ROPEWALK_SANITIZED)
    GTEST_SKIP() << "the sanitizer owns malloc";
#endif
  }
  /// The first block of an entry ends at a forbidden page, or begins behind such a page.
  CallResult run(const std::string& kernel, bool at_end) {
    Subject subject = subject_of(worker, oracle, kernel);
    const Case c = case_from_text(at_end ? "heap_at_end=1" : "heap_at_end=0");
    return execute(subject, make_problem(c, oracle)).result;
  }
  void expect(const std::string& kernel, bool at_end, Kind kind, const std::string& text) {
    const CallResult result = run(kernel, at_end);
    EXPECT_EQ(result.kind, kind) << kernel << ": " << result.text;
    EXPECT_EQ(result.text, text) << kernel;
  }

  Worker worker{options({HEAP_PLUGIN})};
  Oracle oracle;
};

TEST_F(HeapGuard, AWritePastABlockIsNamed) {
  expect("heap_overruns", true, Kind::crash,
         "SIGSEGV in prepare: wrote past the end of a malloc of 24 bytes in prepare, byte offset "
         "32");
  expect("heap_overruns", false, Kind::failed,
         "prepare wrote up to 4000 bytes past the end of a malloc of 24 bytes in prepare");
  for (const bool at_end : {true, false})
    expect("heap_overruns_by_one", at_end, Kind::failed,
           "prepare wrote up to 1 bytes past the end of a malloc of 25 bytes in prepare");
  expect("heap_overruns_in_apply", true, Kind::crash,
         "SIGSEGV in apply: wrote past the end of a malloc of 64 bytes in prepare, byte offset 64");
  expect("heap_overruns_in_apply", false, Kind::failed,
         "apply wrote up to 4 bytes past the end of a malloc of 64 bytes in prepare");
}

TEST_F(HeapGuard, NoBlockIsBlamedForAFaultFarFromIt) {
  const CallResult result = run("heap_writes_far_past", true);
  EXPECT_EQ(result.kind, Kind::crash);
  EXPECT_EQ(result.text.find("malloc"), std::string::npos) << result.text;
  EXPECT_NE(result.text.find(", near no buffer"), std::string::npos) << result.text;
}

TEST_F(HeapGuard, AWriteBeforeABlockIsNamed) {
  expect("heap_writes_before", true, Kind::failed,
         "prepare wrote up to 8 bytes before a malloc of 24 bytes in prepare");
  expect("heap_writes_before", false, Kind::crash,
         "SIGSEGV in prepare: wrote before a malloc of 24 bytes in prepare, byte offset -8");
}

TEST_F(HeapGuard, AReadPastABlockIsAFault) {
  expect("heap_reads_past", true, Kind::crash,
         "SIGSEGV in prepare: read past the end of a malloc of 4000 bytes in prepare, byte offset "
         "4000");
  expect("heap_reads_freed", true, Kind::crash,
         "SIGSEGV in prepare: read inside a malloc of 100 bytes in prepare, byte offset 0, after "
         "it was freed in prepare");
}

TEST_F(HeapGuard, BlocksBeyondTheBudgetHavePatterns) {
  expect("heap_overruns_the_last_of_many", true, Kind::failed,
         "prepare wrote up to 8 bytes past the end of a malloc of 40 bytes in prepare");
}

// An entry compares the newest 128 KiB of patterns and 128 KiB in turn: 10,000 blocks take seven.
TEST_F(HeapGuard, OldBlocksAreComparedInTurn) {
  expect("heap_overruns_an_old_one", true, Kind::ok, "");
  CallResult found;
  for (int call = 0; call < 2 && found.kind == Kind::ok; ++call)
    found = run("heap_overruns_an_old_one", true);
  EXPECT_EQ(found.kind, Kind::failed);
  EXPECT_NE(found.text.find("of a malloc of 40 bytes in prepare"), std::string::npos) << found.text;
}

TEST_F(HeapGuard, AWrongFreeIsNamed) {
  expect("heap_frees_twice", true, Kind::failed,
         "prepare freed a malloc of 100 bytes in prepare twice");
  expect("heap_frees_inside", true, Kind::failed,
         "prepare freed byte offset 16 of a malloc of 100 bytes in prepare, which is not its "
         "beginning");
  EXPECT_EQ(run("plain", true).kind, Kind::ok);
  EXPECT_EQ(worker.starts(), 1) << "it was named before it did any damage";
}

TEST_F(HeapGuard, EveryRightUseIsLeftAlone) {
  for (int round = 0; round < 3; ++round)
    for (const bool at_end : {true, false}) expect("heap_right", at_end, Kind::ok, "");
  EXPECT_EQ(worker.starts(), 1);
}

TEST_F(HeapGuard, TheNextKernelIsNotBlamed) {
  for (const bool at_end : {true, false}) {
    expect("heap_overruns_and_throws", at_end, Kind::failed,
           "an exception left the kernel: too late");
    EXPECT_EQ(run("plain", at_end).kind, Kind::ok);
  }
  EXPECT_EQ(worker.starts(), 1);
}

TEST_F(HeapGuard, FreshMemoryIsNotZero) {
  for (const bool at_end : {true, false}) expect("heap_fresh", at_end, Kind::ok, "");
}

TEST_F(HeapGuard, WhereAddressesAreLimitedNothingIsGuarded) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  const rlimit few{std::size_t{4} << 30, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_AS, &few), 0);
  EXPECT_EQ(run("heap_right", true).kind, Kind::ok);
  EXPECT_EQ(run("heap_overruns_by_one", true).kind, Kind::ok);
  setrlimit(RLIMIT_AS, &before);
}

}  // namespace
}  // namespace ropewalk::harness
