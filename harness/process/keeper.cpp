#include "harness/process/keeper.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <optional>

#include "base/system/process_stat.h"
#include "harness/process/time_limits.h"

namespace ropewalk::harness {
namespace {

using namespace protocol;

pid_t keeper_of_this = 0;  // in the worker

// A process without its parent becomes a child of the keeper, the nearest subreaper. So the
// keeper becomes the parent of every descendant: each one's parent is killed before it or with it.
void end_descendants() {
  constexpr int pause_us = 200;
  const pid_t keeper = getpid();
  for (std::int64_t left = pauses_in(keeper_patience_s, pause_us); left > 0; --left) {
    pid_t reaped = 0;
    do reaped = waitpid(-1, nullptr, WNOHANG | __WALL);
    while (reaped > 0);
    if (reaped < 0) return;  // no child is left
    for_each_process([&](pid_t process, const ProcessStat& stat) {
      if (stat.parent == keeper) kill(process, SIGKILL);
    });
    usleep(pause_us);
  }
}

[[noreturn]] void end_like(int status) {
  if (WIFEXITED(status)) _exit(WEXITSTATUS(status));
  const int signal = WTERMSIG(status);
  prctl(PR_SET_DUMPABLE, 0);  // the core dump to keep is the worker's
  std::signal(signal, SIG_DFL);
  sigset_t just_this;
  sigemptyset(&just_this);
  sigaddset(&just_this, signal);
  sigprocmask(SIG_UNBLOCK, &just_this, nullptr);
  kill(getpid(), signal);
  _exit(128 + signal);
}

// The state change of the worker, of these kinds of waitid().
std::optional<siginfo_t> changed(pid_t worker, int kinds) {
  siginfo_t info{};
  if (waitid(P_PID, static_cast<id_t>(worker), &info, kinds | WNOHANG) != 0 ||
      info.si_pid != worker)
    return std::nullopt;
  return info;
}

void kill_group(pid_t worker) {
  kill(-worker, SIGKILL);
  kill(worker, SIGKILL);
}

[[noreturn]] void keep(pid_t worker, const sigset_t& awaited, Control& control) {
  for (int descriptor = 0; descriptor <= memory_descriptor; ++descriptor) close(descriptor);
  for (;;) {
    siginfo_t info{};
    if (sigwaitinfo(&awaited, &info) == SIGTERM) kill_group(worker);
    if (changed(worker, WEXITED | WNOWAIT)) {
      kill_group(worker);  // without /proc, no other process can be found
      int status = 0;
      waitpid(worker, &status, 0);
      end_descendants();
      end_like(status);
    }
    while (const auto change = changed(worker, WSTOPPED | WCONTINUED))
      control.stopped_by =
          change->si_code == CLD_CONTINUED ? 0 : static_cast<std::uint32_t>(change->si_status);
  }
}

// The socket is closed if the parent was gone before this process asked for its death signal.
void end_with(int signal) {
  prctl(PR_SET_PDEATHSIG, signal);
  pollfd parent{socket_descriptor, 0, 0};
  if (poll(&parent, 1, 0) > 0 && (parent.revents & (POLLHUP | POLLERR)) != 0) _exit(0);
}

}  // namespace

void continue_under_keeper(Control& control) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  sigset_t awaited, before;
  sigemptyset(&awaited);
  sigaddset(&awaited, SIGCHLD);
  sigaddset(&awaited, SIGTERM);
  sigprocmask(SIG_BLOCK, &awaited, &before);
  end_with(SIGTERM);
  const pid_t keeper = getpid();
  const pid_t worker = fork();
  if (worker < 0) {
    std::snprintf(control.last_words, sizeof control.last_words, "could not fork: %s",
                  strerror(errno));
    _exit(exit_unheard);
  }
  if (worker > 0) keep(worker, awaited, control);
  sigprocmask(SIG_SETMASK, &before, nullptr);
  setpgid(0, 0);                     // a kernel that kills its group does not reach the keeper
  prctl(PR_SET_CHILD_SUBREAPER, 1);  // makes a grandchild that a kernel leaves a child
  end_with(SIGKILL);
  if (getppid() != keeper) _exit(0);
  keeper_of_this = keeper;
  control.worker = static_cast<std::uint32_t>(getpid());
}

void stay_under_keeper() {
  keeper_of_this = getppid();
}

// The keeper waits for no child before the worker has ended.
std::string children_file_of_keeper() {
  const std::string keeper = std::to_string(keeper_of_this);
  return keeper_of_this == 0 ? "" : "/proc/" + keeper + "/task/" + keeper + "/children";
}

int processes_beside_worker(std::string_view children) {
  int count = 0;
  while (!children.empty()) {
    pid_t child = 0;
    if (std::from_chars(children.data(), children.data() + children.size(), child).ec ==
        std::errc())
      count += child != getpid() ? 1 : 0;
    const std::size_t space = children.find(' ');
    children.remove_prefix(space == children.npos ? children.size() : space + 1);
  }
  return count;
}

}  // namespace ropewalk::harness
