#include "tools/run_command.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <sstream>

namespace cli {

std::string slurp(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

void spill(const std::filesystem::path& file, const std::string& content) {
  std::ofstream(file, std::ios::binary) << content;
}

std::filesystem::path scratch() {
  const auto* info = testing::UnitTest::GetInstance()->current_test_info();
  std::string name = std::string("ropewalk_") + info->test_suite_name() + "_" + info->name();
  std::replace(name.begin(), name.end(), '/', '_');
  auto dir = std::filesystem::path(testing::TempDir()) / name;
  std::filesystem::create_directories(dir);
  return dir;
}

Result ropewalk(const std::string& arguments, const std::string& before) {
  const auto err = scratch() / "stderr";
  const std::string line = before + ROPEWALK_EXECUTABLE + " " + arguments + " 2>" + err.string();
  FILE* pipe = popen(line.c_str(), "r");
  Result r{-1, "", ""};
  std::array<char, 4096> buffer{};
  for (std::size_t got = 0; (got = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
    r.out.append(buffer.data(), got);
  const int status = pclose(pipe);
  r.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  r.err = slurp(err);
  return r;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

namespace {

TEST(RunCommand, KeepsCodeAndBothStreamsApart) {
  const Result good = ropewalk("--version");
  EXPECT_EQ(good.code, 0);
  EXPECT_TRUE(good.out.starts_with("ropewalk ")) << good.out;
  EXPECT_EQ(good.err, "");
  const Result bad = ropewalk("dance");
  EXPECT_EQ(bad.code, 2);
  EXPECT_EQ(bad.out, "");
  EXPECT_TRUE(contains(bad.err, "dance"));
}

}  // namespace
}  // namespace cli
