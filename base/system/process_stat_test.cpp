// Tests that a process that has ended is not taken for a running one, though nothing has reaped it.
#include "base/system/process_stat.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace ropewalk {
namespace {

TEST(ProcessStat, OnlyALivingProcessIsRunning) {
  EXPECT_TRUE(is_running(getpid()));
  if (!process_stat(getpid())) GTEST_SKIP() << "no /proc here";
  const pid_t child = fork();
  if (child == 0) _exit(0);
  siginfo_t ended{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(kill(child, 0), 0) << "the control: it is not reaped";
  EXPECT_FALSE(is_running(child));
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_FALSE(is_running(child));
}

}  // namespace
}  // namespace ropewalk
