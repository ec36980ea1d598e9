#include "base/system/program.h"

#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <thread>

#include "base/system/descriptor.h"

namespace ropewalk {
namespace {

constexpr off_t output_limit_bytes = 8'000'000;

Descriptor anonymous_file(const std::string& content) {
  Descriptor file(::memfd_create("text", MFD_CLOEXEC));
  if (file.is_open() && write_all(file.number(), content) != 0) file.close();
  if (file.is_open()) ::lseek(file.number(), 0, SEEK_SET);
  return file;
}

std::string content_of(const Descriptor& file) {
  std::string text(static_cast<std::size_t>(::lseek(file.number(), 0, SEEK_END)), '\0');
  const ssize_t got = ::pread(file.number(), text.data(), text.size(), 0);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

std::string first_message(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string::npos) return "";
  return ": " + text.substr(begin, text.find('\n', begin) - begin).substr(0, 400);
}

/// Waits until the process has ended, or kills it. Returns what went wrong; empty: nothing.
std::string end_of(pid_t process, std::chrono::milliseconds limit, const Descriptor& output,
                   const Descriptor& messages) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  std::string trouble;
  int status = 0;
  for (pid_t ended = 0; ended != process;) {
    if (::lseek(output.number(), 0, SEEK_END) > output_limit_bytes)
      trouble = "wrote more than 8 MB";
    else if (std::chrono::steady_clock::now() > deadline)
      trouble = "took too long and was stopped";
    // A program that leads a group takes it along.
    if (!trouble.empty() && ::kill(-process, SIGKILL) != 0) ::kill(process, SIGKILL);
    ended = ::waitpid(process, &status, trouble.empty() ? WNOHANG : 0);
    if (ended < 0 && errno != EINTR)
      return "could not be waited for: " + std::generic_category().message(errno);
    if (ended == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  if (!trouble.empty()) return trouble;
  if (WIFSIGNALED(status)) return "was ended by signal " + std::to_string(WTERMSIG(status));
  if (WEXITSTATUS(status) == 0) return "";
  return "failed with exit code " + std::to_string(WEXITSTATUS(status)) +
         first_message(content_of(messages));
}

}  // namespace

// Input, output and messages go through anonymous files, so no program waits for its reader.
ProgramOutput run_program(const std::vector<std::string>& arguments, const std::string& input,
                          std::chrono::milliseconds limit, bool with_environment) {
  const Descriptor in = anonymous_file(input), out = anonymous_file(""),
                   messages = anonymous_file("");
  const auto not_started = [](int error) -> ProgramOutput {
    if (error == ENOENT) return {"", "is not installed"};
    return {"", "could not be started: " + std::generic_category().message(error)};
  };
  if (!in.is_open() || !out.is_open() || !messages.is_open()) return not_started(errno);
  std::vector<char*> argument_list;
  for (const std::string& argument : arguments)
    argument_list.push_back(const_cast<char*>(argument.c_str()));
  argument_list.push_back(nullptr);
  std::string path = "PATH=/usr/bin:/bin", locale = "LC_ALL=C", home = "HOME=/";
  std::array<char*, 4> environment = {path.data(), locale.data(), home.data(), nullptr};

  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, in.number(), STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, out.number(), STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, messages.number(), STDERR_FILENO);
  pid_t process = 0;
  const int error =
      ::posix_spawnp(&process, argument_list[0], &actions, nullptr, argument_list.data(),
                     with_environment ? environ : environment.data());
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return not_started(error);
  ProgramOutput result;
  result.error = end_of(process, limit, out, messages);
  result.text = content_of(out);
  return result;
}

}  // namespace ropewalk
