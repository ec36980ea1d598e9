#include "benchmarks/engine/crew.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>

#include "benchmarks/machine/environment.h"

namespace ropewalk::bench {
namespace {

namespace fs = std::filesystem;

TEST(Crew, TakesAProcessorOfEachCoreBeforeASibling) {
  const fs::path root =
      fs::path(testing::TempDir()) / ("ropewalk_crew_" + std::to_string(getpid()));
  for (int cpu = 0; cpu < 6; ++cpu) {  // three cores: 0 and 3, 1 and 4, 2 and 5
    const fs::path folder =
        root / "sys/devices/system/cpu" / ("cpu" + std::to_string(cpu)) / "topology";
    fs::create_directories(folder);
    std::ofstream(folder / "thread_siblings_list") << cpu % 3 << ',' << cpu % 3 + 3 << '\n';
  }
  const SystemFiles files(root);
  EXPECT_EQ(processors_for(2, {0, 1, 2, 3, 4, 5}, files), (std::vector{0, 1}));
  EXPECT_EQ(processors_for(2, {0, 3, 4, 5}, files), (std::vector{0, 4}));
  EXPECT_EQ(processors_for(4, {0, 1, 2, 3, 4, 5}, files), (std::vector{0, 1, 2, 3}));
  EXPECT_EQ(processors_for(3, {0, 1}, files), std::vector<int>{});
  EXPECT_EQ(processors_for(0, {0, 1}, files), std::vector<int>{});
  EXPECT_EQ(processors_text({0, 1, 2, 3}, files), "0+3,1,2");
  EXPECT_EQ(processors_text({}, files), "");
  fs::remove_all(root);
  // Without a sibling list every processor counts as a core.
  EXPECT_EQ(processors_for(2, {0, 3}, files), (std::vector{0, 3}));
  EXPECT_EQ(processors_text({0, 3}, files), "0,3");
}

TEST(Crew, OneWorksWhereItIs) {
  const std::vector<int> allowed = allowed_cpus();
  Crew crew;
  int runs = 0;
  const Crew::Time time = crew.run([&](int member) {
    EXPECT_EQ(member, 0);
    EXPECT_EQ(allowed_cpus(), allowed);
    ++runs;
  });
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(crew.size(), 1);
  EXPECT_EQ(crew.processors(), "");
  EXPECT_GT(time.wall_s, 0);
}

TEST(Crew, AllWorkAtTheSameTimeEachOnItsProcessor) {
  const std::vector<int> allowed = allowed_cpus();
  if (allowed.size() < 2) GTEST_SKIP() << "one processor";
  {
    Crew crew(processors_for(2, allowed));
    ASSERT_EQ(crew.size(), 2);
    EXPECT_FALSE(crew.processors().empty());
    for (int round = 0; round < 100; ++round) {
      std::atomic<int> there{0};
      int cpu[2] = {-1, -1};
      const Crew::Time time = crew.run([&](int member) {
        ++there;
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
        while (there < 2 && std::chrono::steady_clock::now() < end) {
        }
        cpu[member] = sched_getcpu();
      });
      EXPECT_NE(cpu[0], cpu[1]);
      EXPECT_LT(time.wall_s, 10) << "they ran one after the other";
      EXPECT_GT(time.wall_s, 0);
      EXPECT_GE(time.cpu_s, 0);
    }
  }
  EXPECT_EQ(allowed_cpus(), allowed);
}

}  // namespace
}  // namespace ropewalk::bench
