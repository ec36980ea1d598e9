// For tests that use the command as its users do: runs lines of a shell in a folder of the test.
#pragma once
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <regex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

struct Result {
  int code;
  std::string out, err;
};

inline std::string slurp(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

inline void spill(const std::filesystem::path& file, const std::string& content) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << content;
}

/// A folder for the running test of this build. Files that an earlier run left may still be in it.
inline std::filesystem::path scratch() {
  const auto* info = testing::UnitTest::GetInstance()->current_test_info();
  std::string name = std::string(info->test_suite_name()) + "_" + info->name();
  std::replace(name.begin(), name.end(), '/', '_');
  const std::size_t build = std::hash<std::string>{}(ROPEWALK_EXECUTABLE) % 1'000'000;
  auto dir = std::filesystem::path(testing::TempDir()) /
             ("ropewalk_cli_" + std::to_string(build) + "_" + name);
  std::filesystem::create_directories(dir);
  return dir;
}

/// A path in that folder where nothing is.
inline std::filesystem::path fresh(const std::string& name = "out") {
  const auto path = scratch() / name;
  std::filesystem::remove_all(path);
  return path;
}

/// Runs a line through a shell. The caller quotes words. `err` has no lines of progress.
inline Result shell(const std::string& line) {
  const auto err = scratch() / "stderr";
  // NOLINTNEXTLINE(cert-env33-c): the shell is what is wanted
  FILE* pipe = popen(("{ " + line + "\n} 2>'" + err.string() + "'").c_str(), "r");
  Result r{-1, "", ""};
  std::array<char, 4096> buffer{};
  for (std::size_t got = 0; (got = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
    r.out.append(buffer.data(), got);
  const int status = pclose(pipe);
  r.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  r.err = std::regex_replace(slurp(err), std::regex("\\[ *[0-9.]+ s\\] .*\n"), "");
  return r;
}

/// Runs the command of the build tree. The shell runs `before` first.
inline Result ropewalk(const std::string& arguments, const std::string& before = "") {
  return shell(before + ROPEWALK_EXECUTABLE + " " + arguments);
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Expects the exit code, and each of these parts on standard output and on standard error.
inline void expect(const Result& r, int code, const std::vector<std::string>& out,
                   const std::vector<std::string>& err = {}, const char* file = __builtin_FILE(),
                   int line = __builtin_LINE()) {
  const testing::ScopedTrace caller(file, line, "");
  EXPECT_EQ(r.code, code) << r.out << r.err;
  for (const auto& [text, parts] : {std::pair{&r.out, &out}, {&r.err, &err}})
    for (const std::string& part : *parts)
      EXPECT_TRUE(contains(*text, part)) << "no '" << part << "' in: " << *text;
}

inline std::ptrdiff_t lines_in(const std::string& text) {
  return std::count(text.begin(), text.end(), '\n');
}

/// Expects what the command does with bad input: exit code 2, and one line with these parts.
inline void expect_one_line(const Result& r, const std::vector<std::string>& parts,
                            const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  expect(r, 2, {}, parts, file, line);
  EXPECT_EQ(lines_in(r.err), 1) << r.err;
  EXPECT_EQ(r.out, "") << r.err;
}

/// The text with each line of a block joined to the lines that go on with it.
inline std::string unwrapped(std::string text) {
  const std::string goes_on = "\n" + std::string(17, ' ');
  for (auto at = text.find(goes_on); at != std::string::npos; at = text.find(goes_on, at))
    text.replace(at, goes_on.size(), " ");
  return text;
}

/// The text with a space in place of all white space.
inline std::string on_one_line(const std::string& text) {
  std::istringstream words(text);
  std::string line, word;
  while (words >> word) line += (line.empty() ? "" : " ") + word;
  return line;
}

/// Processes with this word in a file of /proc, "cmdline" or "environ", whatever their parent.
inline int processes_with(const std::string& word, const char* file) {
  int count = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error))
    if (contains(slurp(entry.path() / file), word)) ++count;
  return count;
}

inline bool gone_in_time(const std::string& word, const char* file) {
  for (int wait = 0; wait < 1000 && processes_with(word, file) > 0; ++wait) usleep(10'000);
  return processes_with(word, file) == 0;
}

/// The value of a name on the first level of a JSON row. The texts of these rows hold no quotes.
inline std::string field(const std::string& row, const std::string& name) {
  const std::string begin = "\"" + name + "\":\"";
  const auto at = row.find(begin);
  if (at == std::string::npos) return "";
  const auto from = at + begin.size();
  return row.substr(from, row.find('"', from) - from);
}

/// A Python that has the module: the user's choice, else the first of PATH or Debian's. Empty:
/// none.
inline std::string python_with(const std::string& module) {
  for (const std::string python : {"${ROPEWALK_PYTHON:-/none}", "python3", "/usr/bin/python3"})
    if (shell(python + " -c 'import " + module + "' </dev/null").code == 0)
      return shell("command -v " + python + " | tr -d '\\n'").out;
  return {};
}
