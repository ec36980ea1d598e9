#include "harness/worker/python_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstring>
#include <stdexcept>
#include <string_view>

#include "base/system/descriptor.h"
#include "base/system/signal_name.h"
#include "harness/process/keeper.h"
#include "harness/process/script_host.h"
#include "harness/process/time_limits.h"
#include "harness/watch/output_watch.h"
#include "harness/worker/own_executable.h"

extern "C" char** environ;  // NOLINT: POSIX's own name

namespace ropewalk::harness {
namespace {

using std::chrono::steady_clock;

// A row has fewer, and no other line is longer.
constexpr std::size_t longest_line_bytes = std::size_t{16} << 20;

/// The keeper of a process of Python. It ends with this object.
class Kept {
 public:
  Kept(const std::vector<std::string>& words, int lines, int printed) {
    std::vector<char*> argv;
    for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, printed, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, printed, STDERR_FILENO);
    posix_spawn_file_actions_adddup2(&actions, lines, protocol::socket_descriptor);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    const std::string own = own_executable();
    const int error =
        posix_spawn(&process_, own.c_str(), &actions, &attributes, argv.data(), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0) throw std::runtime_error(fmt::format("cannot start: {}", strerror(error)));
  }
  ~Kept() {
    if (process_ <= 0) return;
    kill(process_, SIGTERM);
    (void)status();
  }
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;

  /// Waits for the end. The keeper has ended all that descends from it before.
  int status() {
    constexpr int pause_us = 500;
    int status = 0;
    for (std::int64_t left = pauses_in(keeper_patience_s + slowness(), pause_us);
         waitpid(process_, &status, WNOHANG) == 0; --left) {
      if (left == 0) kill(process_, SIGKILL);
      usleep(pause_us);
    }
    process_ = 0;
    return status;
  }

 private:
  pid_t process_ = 0;
};

std::string last_line(int printed) {
  std::string text(2000, '\0');
  const off_t end = lseek(printed, 0, SEEK_CUR);
  const auto size = static_cast<off_t>(text.size());
  const ssize_t got = pread(printed, text.data(), text.size(), end > size ? end - size : 0);
  text.resize(got > 0 ? static_cast<std::size_t>(std::min<off_t>(got, end)) : 0);
  text.resize(text.find_last_not_of(" \t\r\n") + 1);
  return text.substr(text.rfind('\n') + 1);
}

std::string in_words(int status, int printed) {
  if (WIFSIGNALED(status)) return signal_name(WTERMSIG(status));
  const std::string said = last_line(printed);
  return fmt::format("exit code {}{}{}", WEXITSTATUS(status), said.empty() ? "" : ": ", said);
}

enum class Got { line, end, late };

/// Waits for the next line of a pipe. `rest`: what was read beyond the last one.
Got next_line(int pipe, std::string& rest, std::string& line, double limit_s) {
  const auto deadline = steady_clock::now() + std::chrono::duration<double>(limit_s);
  for (std::size_t looked = 0;;) {
    if (const std::size_t end = rest.find('\n', looked); end != rest.npos) {
      line = rest.substr(0, end);
      rest.erase(0, end + 1);
      return Got::line;
    }
    looked = rest.size();
    if (looked > longest_line_bytes) throw std::runtime_error("Python says a line of over 16 MiB");
    const std::chrono::duration<double, std::milli> left = deadline - steady_clock::now();
    if (left.count() <= 0) return Got::late;
    pollfd ready{pipe, POLLIN, 0};
    if (poll(&ready, 1, static_cast<int>(std::min(left.count(), 1e6)) + 1) <= 0) continue;
    std::array<char, 1 << 16> part;
    const ssize_t got = read(pipe, part.data(), part.size());
    if (got == 0 || (got < 0 && errno != EINTR)) return Got::end;
    rest.append(part.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  }
}

}  // namespace

PythonEnd run_python_module(const std::string& package, const std::string& module,
                            const std::vector<std::string>& words, double limit_s,
                            const std::function<double(const std::string& line)>& take) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    throw std::runtime_error(fmt::format("no pipe for Python: {}", strerror(errno)));
  const Descriptor reading(ends[0]), printed(make_watched_output());
  // dup2 onto itself would keep close-on-exec, so that end must not have the number.
  Descriptor writing(fcntl(ends[1], F_DUPFD_CLOEXEC, 10));
  close(ends[1]);
  std::vector<std::string> all{
      "ropewalk", "python", script_interpreter(), "-u", package + "/worker.py", "--module", module};
  all.insert(all.end(), words.begin(), words.end());
  Kept kept(all, writing.number(), printed.number());
  writing.close();
  for (std::string rest, line; limit_s > 0; limit_s = take(line)) {
    const Got got = next_line(reading.number(), rest, line, limit_s);
    if (got == Got::late) return {true, fmt::format("did not end in {:.3g} s", limit_s)};
    if (got == Got::end) return {false, in_words(kept.status(), printed.number())};
  }
  return {};
}

void become_kept_program(char** words) {
  protocol::Control control{};
  continue_under_keeper(control);
  execvp(words[0], words);
  const std::string text = fmt::format("error\tcannot start {}: {}\n", words[0], strerror(errno));
  (void)write_all(protocol::socket_descriptor, text);
  _exit(2);
}

}  // namespace ropewalk::harness
