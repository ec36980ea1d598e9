#include "properties/judges.h"

#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <deque>
#include <stdexcept>
#include <system_error>

namespace ropewalk {
namespace {

// A judge is sent kernel numbers and answers with lines: a letter, then the text.
enum class Line : char {
  row = 'r',
  offer = 'o',
  progress = 'p',
  done = 'd',
  unusable = 'u',
  error = 'e'
};

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

void send_line(int socket, Line kind, std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  const std::string line = static_cast<char>(kind) + text + "\n";
  if (!send_all(socket, line.data(), line.size())) _exit(0);  // the parent is gone
}

void judge_kernels(int socket, const WorkerOptions& options, VerifyPlan plan) {
  if (plan.on_offer)
    plan.on_offer = [&](const LedgerKey& key) { send_line(socket, Line::offer, to_text(key)); };
  Worker worker(options);
  Oracle oracle;
  std::uint32_t kernel = 0;
  while (recv(socket, &kernel, sizeof kernel, MSG_WAITALL) == sizeof kernel) {
    Subject subject{worker, oracle, worker.kernels().at(kernel)};
    verify_kernel(
        subject, plan,
        [&](const VerdictRow& row) { send_line(socket, Line::row, to_json_line(row)); },
        [&](const std::string& what) { send_line(socket, Line::progress, what); });
    send_line(socket, Line::done, "");
  }
}

[[noreturn]] void judge_main(pid_t parent, int socket, const WorkerOptions& options,
                             const VerifyPlan& plan) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);   // no judge outlives its parent
  if (getppid() != parent) _exit(0);  // nor one that was gone before that line
  try {
    judge_kernels(socket, options, plan);
  } catch (const WorkerError& e) {
    send_line(socket, Line::unusable, e.what());
  } catch (const std::exception& e) {
    send_line(socket, Line::error, e.what());
  }
  _exit(0);
}

// The parent's end of one judge.
class Judge {
 public:
  Judge(const WorkerOptions& options, const VerifyPlan& plan) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
      throw std::system_error(errno, std::generic_category(), "a socket for a judge");
    std::fflush(nullptr);  // or the child would print it again
    const pid_t self = getpid();
    pid_ = fork();
    if (pid_ == 0) judge_main(self, ends[1], options, plan);
    close(ends[1]);
    socket_ = ends[0];
    if (pid_ < 0) throw std::system_error(errno, std::generic_category(), "a process for a judge");
  }
  ~Judge() {
    shutdown(socket_, SHUT_RDWR);  // the judges that were forked later hold this end too
    close(socket_);
    if (pid_ <= 0) return;
    if (busy()) kill(pid_, SIGKILL);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  Judge(const Judge&) = delete;
  Judge& operator=(const Judge&) = delete;

  bool busy() const { return place_ >= 0; }
  std::ptrdiff_t place() const { return place_; }
  int socket() const { return socket_; }

  void begin(std::ptrdiff_t place, std::uint32_t kernel) {
    place_ = place;
    send_all(socket_, reinterpret_cast<const char*>(&kernel), sizeof kernel);
  }
  void end() { place_ = -1; }

  /// Reads what is there; false when the judge is gone.
  bool read(const std::function<void(Line, const std::string&)>& on_line) {
    char chunk[1 << 16];
    const ssize_t got = recv(socket_, chunk, sizeof chunk, 0);
    if (got < 0 && errno == EINTR) return true;
    if (got <= 0) return false;
    text_.append(chunk, static_cast<std::size_t>(got));
    std::size_t begin = 0;
    for (std::size_t end = 0; (end = text_.find('\n', begin)) != std::string::npos; begin = end + 1)
      on_line(static_cast<Line>(text_[begin]), text_.substr(begin + 1, end - begin - 1));
    text_.erase(0, begin);
    return true;
  }

 private:
  pid_t pid_ = -1;
  int socket_ = -1;
  std::ptrdiff_t place_ = -1;
  std::string text_;
};

// Rows of the kernel that is next in line go out at once, those of later ones wait.
class InOrder {
 public:
  InOrder(std::size_t kernels, const std::function<void(const VerdictRow&)>& on_row)
      : on_row_(on_row), rows_(kernels), done_(kernels, false) {}

  void add(std::ptrdiff_t place, const VerdictRow& row) {
    if (place == next_) return on_row_(row);
    rows_[static_cast<std::size_t>(place)].push_back(row);
  }
  void finish(std::ptrdiff_t place) {
    done_[static_cast<std::size_t>(place)] = true;
    while (!complete() && done_[static_cast<std::size_t>(next_)]) {
      ++next_;
      if (complete()) return;
      for (const VerdictRow& row : rows_[static_cast<std::size_t>(next_)]) on_row_(row);
      rows_[static_cast<std::size_t>(next_)].clear();
    }
  }
  bool complete() const { return next_ == std::ssize(rows_); }

 private:
  const std::function<void(const VerdictRow&)>& on_row_;
  std::vector<std::vector<VerdictRow>> rows_;
  std::vector<bool> done_;
  std::ptrdiff_t next_ = 0;
};

std::vector<std::uint32_t> planned_kernels(Worker& worker, const VerifyPlan& plan) {
  std::vector<std::uint32_t> out;
  for (const KernelFacts& facts : worker.kernels())
    if (matches(plan.kernels, facts.name)) out.push_back(facts.index);
  return out;
}

}  // namespace

int usual_judges() {
  cpu_set_t set;
  CPU_ZERO(&set);
  const int cores = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  return std::clamp(cores, 1, 8);
}

void verify_with_judges(const WorkerOptions& options, const VerifyPlan& plan, int judges,
                        const std::function<void(const VerdictRow&)>& on_row,
                        const std::function<void(const std::string&)>& on_progress) {
  std::vector<std::uint32_t> kernels;
  {
    Worker worker(options);
    kernels = planned_kernels(worker, plan);
    if (judges <= 1 || kernels.size() <= 1) {
      Oracle oracle;
      return verify(worker, oracle, plan, on_row, on_progress);
    }
  }
  const auto count = std::min(static_cast<std::size_t>(judges), kernels.size());
  std::deque<Judge> bench;
  while (bench.size() < count) bench.emplace_back(options, plan);
  InOrder rows(kernels.size(), on_row);
  std::size_t begun = 0;
  while (!rows.complete()) {
    std::vector<pollfd> waiting;
    for (Judge& judge : bench) {
      if (!judge.busy() && begun < kernels.size()) {
        judge.begin(static_cast<std::ptrdiff_t>(begun), kernels[begun]);
        ++begun;
      }
      waiting.push_back({judge.busy() ? judge.socket() : -1, POLLIN, 0});
    }
    if (poll(waiting.data(), waiting.size(), -1) < 0 && errno != EINTR)
      throw std::system_error(errno, std::generic_category(), "waiting for the judges");
    for (std::size_t i = 0; i < bench.size(); ++i) {
      if (waiting[i].revents == 0) continue;
      Judge& judge = bench[i];
      const bool there = judge.read([&](Line kind, const std::string& text) {
        if (kind == Line::row) rows.add(judge.place(), verdict_row_from(text));
        if (kind == Line::offer) plan.on_offer(key_from(text));
        if (kind == Line::progress) on_progress(text);
        if (kind == Line::unusable) throw WorkerError(text);
        if (kind == Line::error) throw std::runtime_error(text);
        if (kind != Line::done) return;
        rows.finish(judge.place());
        judge.end();
      });
      if (!there) throw std::runtime_error("a process that judged kernels ended unexpectedly");
    }
  }
}

}  // namespace ropewalk
