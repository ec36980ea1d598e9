#include "properties/search/share_out.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <deque>
#include <stdexcept>
#include <system_error>
#include <vector>

#include "base/system/memory_limits.h"
#include "harness/worker/worker.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

// The parent sends job numbers to a process. The process answers with lines: a letter, then the
// text.
constexpr char done_line = 'd', unusable_line = 'u', error_line = 'e';

bool send_all(int socket, const char* data, std::size_t bytes) {
  while (bytes > 0) {
    const ssize_t sent = send(socket, data, bytes, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    data += sent;
    bytes -= static_cast<std::size_t>(sent);
  }
  return true;
}

void send_line(int socket, char kind, std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  const std::string line = kind + text + "\n";
  if (!send_all(socket, line.data(), line.size())) _exit(0);  // the parent is gone
}

[[noreturn]] void child_main(pid_t parent, int socket, const ShareOut& plan) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);   // no child outlives the parent
  if (getppid() != parent) _exit(0);  // the parent may have ended before that line
  try {
    const Work work = plan.make_work();
    const Tell tell = [&](char kind, const std::string& text) { send_line(socket, kind, text); };
    std::uint32_t job = 0;
    while (recv(socket, &job, sizeof job, MSG_WAITALL) == sizeof job) {
      work(job, tell);
      send_line(socket, done_line, "");
    }
  } catch (const WorkerError& e) {
    send_line(socket, unusable_line, e.what());
  } catch (const std::exception& e) {
    send_line(socket, error_line, e.what());
  }
  _exit(0);
}

// The parent's end of the connection to one process.
class Child {
 public:
  explicit Child(const ShareOut& plan) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
      throw std::system_error(errno, std::generic_category(), "a socket for a judge");
    std::fflush(nullptr);  // the child would print buffered text again
    const pid_t self = getpid();
    pid_ = fork();
    if (pid_ == 0) child_main(self, ends[1], plan);
    close(ends[1]);
    socket_ = ends[0];
    if (pid_ < 0) throw std::system_error(errno, std::generic_category(), "a process for a judge");
  }
  ~Child() {
    shutdown(socket_, SHUT_RDWR);  // children forked later hold this end too
    close(socket_);
    if (pid_ <= 0) return;
    if (busy()) kill(pid_, SIGKILL);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  bool busy() const { return busy_; }
  std::uint32_t job() const { return job_; }
  int socket() const { return socket_; }

  void begin(std::uint32_t job) {
    job_ = job;
    busy_ = true;
    send_all(socket_, reinterpret_cast<const char*>(&job), sizeof job);
  }
  void end() { busy_ = false; }

  /// Reads the available lines. Returns false when the process is gone.
  bool read(const std::function<void(char, const std::string&)>& on_line) {
    char chunk[1 << 16];
    const ssize_t got = recv(socket_, chunk, sizeof chunk, 0);
    if (got < 0 && errno == EINTR) return true;
    if (got <= 0) return false;
    text_.append(chunk, static_cast<std::size_t>(got));
    std::size_t begin = 0;
    for (std::size_t end = 0; (end = text_.find('\n', begin)) != std::string::npos; begin = end + 1)
      on_line(text_[begin], text_.substr(begin + 1, end - begin - 1));
    text_.erase(0, begin);
    return true;
  }

 private:
  pid_t pid_ = -1;
  int socket_ = -1;
  bool busy_ = false;
  std::uint32_t job_ = 0;
  std::string text_;
};

void do_alone(const ShareOut& plan) {
  const Work work = plan.make_work();
  for (std::uint32_t job = 0; job < plan.jobs; ++job) {
    work(job, [&](char kind, const std::string& text) { plan.on_line(job, kind, text); });
    if (!plan.on_done(job)) return;
  }
}

// Reads the lines of a child that has sent some.
void listen(const ShareOut& plan, Child& child, bool& go_on, std::int64_t memory_kills_before) {
  const bool there = child.read([&](char kind, const std::string& text) {
    if (kind == unusable_line) throw WorkerError(text);
    if (kind == error_line) throw std::runtime_error(text);
    if (kind != done_line) return plan.on_line(child.job(), kind, text);
    go_on = plan.on_done(child.job()) && go_on;
    child.end();
  });
  if (there) return;
  const std::string cause = memory_kill_text(memory_kills_before);
  throw std::runtime_error("a process that judged kernels ended unexpectedly" +
                           (cause.empty() ? "" : ": " + cause));
}

}  // namespace

void share_out(const ShareOut& plan) {
  if (plan.processes <= 1 || plan.jobs <= 1) return do_alone(plan);
  const auto count = std::min(static_cast<std::uint32_t>(plan.processes), plan.jobs);
  const std::int64_t kills_before = memory_kills();
  std::deque<Child> children;
  while (children.size() < count) children.emplace_back(plan);
  std::uint32_t begun = 0;
  for (bool go_on = true;;) {
    std::vector<pollfd> waiting;
    bool any_busy = false;
    for (Child& child : children) {
      if (!child.busy() && go_on && begun < plan.jobs) child.begin(begun++);
      any_busy = any_busy || child.busy();
      waiting.push_back({child.busy() ? child.socket() : -1, POLLIN, 0});
    }
    if (!any_busy) return;
    if (poll(waiting.data(), waiting.size(), -1) < 0) {
      if (errno == EINTR) continue;
      throw std::system_error(errno, std::generic_category(), "waiting for the judges");
    }
    for (std::size_t i = 0; i < children.size(); ++i)
      if (waiting[i].revents != 0) listen(plan, children[i], go_on, kills_before);
  }
}

}  // namespace ropewalk::properties
