// Kernels that harm what a worker and its parent share. Each gets a verdict of its own, and the
// next kernel is not harmed.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <tuple>

#include "harness/testing/worker_fixture.h"

namespace ropewalk::harness {
namespace {

using WorkerHarm = std::tuple<std::string, std::string, Kind>;  // what is done, words of the result

class HostileKernel : public ::testing::TestWithParam<WorkerHarm> {
 protected:
  CallResult run(Worker& worker, const std::string& kernel, const std::string& line) {
    Subject subject = subject_of(worker, oracle, kernel);
    return execute(subject, make_problem(case_from_text(line), oracle)).result;
  }
  Oracle oracle;
};

// The second case takes more memory than the first, so the file must grow.
TEST_P(HostileKernel, HarmsOnlyItself) {
  const auto& [what, words, kind] = GetParam();
  for (const char* where : {"supports", "prepare", "apply"}) {
    const Hostility set(what.c_str(), where);
    Worker worker(options({hostile_plugin}));
    for (const char* line :
         {"rotary_dim=8 q.head_dim=8", "tokens=4000 rotary_dim=64 q.heads=8 q.head_dim=64"}) {
      const CallResult result = run(worker, "hostile", line);
      EXPECT_EQ(result.kind, kind) << what << " in " << where << ": " << result.text;
      EXPECT_NE(result.text.find(words), std::string::npos)
          << what << " in " << where << ": " << result.text;
      const CallResult next = run(worker, "hostile_neighbour", line);
      EXPECT_EQ(next.kind, Kind::ok) << what << " in " << where << ": " << next.text;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, HostileKernel,
    testing::Values(
        WorkerHarm{"grow", "grew the worker's shared memory (descriptor 4) from ", Kind::failed},
        WorkerHarm{"close_socket", "descriptor 3", Kind::crash},
        WorkerHarm{"write_to_socket", "(descriptor 3): a packet of 5 bytes, where an answer of",
                   Kind::crash}),
    [](const auto& test) { return std::get<0>(test.param); });

// Finds processes by their environment, which a child keeps in any session and under any parent.
// The mark tells them from those of a parallel test.
std::string own_mark() {
  return "ROPEWALK_TEST_MARK=" + std::to_string(getpid());
}

std::vector<pid_t> processes_told_to(const std::string& what) {
  std::vector<pid_t> out;
  for_each_process([&](pid_t process, const ProcessStat&) {
    std::ifstream file("/proc/" + std::to_string(process) + "/environ");
    const std::string all(std::istreambuf_iterator<char>(file), {});
    if (all.find("HOSTILE_DO=" + what) != std::string::npos &&
        all.find(own_mark()) != std::string::npos)
      out.push_back(process);
  });
  return out;
}

// A kernel leaves processes with sessions of their own and without parents. They end with its
// worker.
TEST(HostileProcesses, EndWithTheWorker) {
  if (!has_proc()) GTEST_SKIP() << "no /proc here";
  setenv("ROPEWALK_TEST_MARK", std::to_string(getpid()).c_str(), 1);
  for (const char* what : {"leave_process", "leave_and_crash"}) {
    const Hostility set(what, "load");
    {
      Worker worker(options({hostile_plugin}));
      try {
        worker.kernels();
        for (int tries = 0; tries < 500 && processes_told_to(what).size() < 3; ++tries)
          usleep(10'000);
        EXPECT_GE(processes_told_to(what).size(), 3u) << "keeper, worker, and what it left";
      } catch (const WorkerError& e) {
        EXPECT_NE(std::string(e.what()).find("SIG"), std::string::npos) << e.what();
      }
    }
    EXPECT_TRUE(processes_told_to(what).empty()) << what;
  }
}

}  // namespace
}  // namespace ropewalk::harness
