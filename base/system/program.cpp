#include "base/system/program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "base/system/descriptor.h"

namespace ropewalk {
namespace {

constexpr std::size_t output_limit_bytes = 8'000'000;

/// Moves a descriptor away from 0, 1 and 2, which the caller may have closed and the child needs.
Descriptor above_standard(int number) {
  if (number < 0 || number > STDERR_FILENO) return Descriptor(number);
  const Descriptor low(number);
  return Descriptor(::fcntl(number, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
}

/// Input and messages go through anonymous files, so only the output must be read while the program
/// runs.
Descriptor anonymous_file(const char* name, const std::string& content) {
  Descriptor file = above_standard(::memfd_create(name, MFD_CLOEXEC));
  if (file.is_open() && write_all(file.number(), content) != 0) file.close();
  if (file.number() >= 0) ::lseek(file.number(), 0, SEEK_SET);
  return file;
}

std::string error_text(int error) {
  return std::generic_category().message(error);
}

class SpawnActions {
 public:
  SpawnActions() { ::posix_spawn_file_actions_init(&actions_); }
  ~SpawnActions() { ::posix_spawn_file_actions_destroy(&actions_); }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;
  void connect(int from, int to) { ::posix_spawn_file_actions_adddup2(&actions_, from, to); }
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

/// Reads until the end, the time limit or the size limit. Returns what went wrong; empty: nothing.
std::string collect(int descriptor, std::chrono::milliseconds limit, std::string& text) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  std::array<char, 1 << 16> block;
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return "took too long and was stopped";
    pollfd waiting{descriptor, POLLIN, 0};
    const int ready = ::poll(&waiting, 1, static_cast<int>(left.count()));
    if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
    if (ready < 0) return "could not be waited for: " + error_text(errno);
    const ssize_t got = ::read(descriptor, block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return "could not be read from: " + error_text(errno);
    if (got == 0) return "";
    text.append(block.data(), static_cast<std::size_t>(got));
    if (text.size() > output_limit_bytes) return "wrote more than 8 MB";
  }
}

std::string first_message(int descriptor) {
  std::array<char, 400> block;
  const ssize_t got = ::pread(descriptor, block.data(), block.size(), 0);
  const std::string text(block.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string::npos) return "";
  return ": " + text.substr(begin, text.find('\n', begin) - begin);
}

/// Waits until the process has ended. If `trouble` is not empty, kills the process first.
std::string finish(pid_t process, const std::string& trouble, int messages) {
  if (!trouble.empty()) ::kill(process, SIGKILL);
  int status = 0;
  while (::waitpid(process, &status, 0) < 0)
    if (errno != EINTR) return "could not be waited for: " + error_text(errno);
  if (!trouble.empty()) return trouble;
  if (WIFSIGNALED(status)) return "was ended by signal " + std::to_string(WTERMSIG(status));
  const int code = WEXITSTATUS(status);
  if (code == 0) return "";
  return "failed with exit code " + std::to_string(code) + first_message(messages);
}

}  // namespace

ProgramOutput run_program(const std::vector<std::string>& arguments, const std::string& input,
                          std::chrono::milliseconds limit) {
  Descriptor in = anonymous_file("input", input);
  Descriptor messages = anonymous_file("messages", "");
  std::array<int, 2> pipe_ends = {-1, -1};
  if (in.number() < 0 || messages.number() < 0 || ::pipe2(pipe_ends.data(), O_CLOEXEC) != 0)
    return {"", "could not be started: " + error_text(errno)};
  const Descriptor output = above_standard(pipe_ends[0]);
  Descriptor output_end = above_standard(pipe_ends[1]);

  SpawnActions actions;
  actions.connect(in.number(), STDIN_FILENO);
  actions.connect(output_end.number(), STDOUT_FILENO);
  actions.connect(messages.number(), STDERR_FILENO);
  std::vector<char*> argument_list;
  for (const std::string& argument : arguments)
    argument_list.push_back(const_cast<char*>(argument.c_str()));
  argument_list.push_back(nullptr);
  std::string path = "PATH=/usr/bin:/bin", locale = "LC_ALL=C", home = "HOME=/";
  std::array<char*, 4> environment = {path.data(), locale.data(), home.data(), nullptr};

  pid_t process = 0;
  const int error = ::posix_spawn(&process, argument_list[0], actions.get(), nullptr,
                                  argument_list.data(), environment.data());
  if (error != 0) return {"", "could not be started: " + error_text(error)};
  output_end.close();
  ProgramOutput result;
  const std::string trouble = collect(output.number(), limit, result.text);
  result.error = finish(process, trouble, messages.number());
  if (!result.error.empty()) result.text.clear();
  return result;
}

}  // namespace ropewalk
