// What `cmake --install` leaves: a command that needs nothing beside it, headers, a CMake package
// and a pkg-config file. All of them may be moved. No mutant and no test is installed.
#include <gtest/gtest.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "tools/tests/shell.h"

namespace {

namespace fs = std::filesystem;

const fs::path source = ROPEWALK_SOURCE_DIR, binary = ROPEWALK_BINARY_DIR;

std::string quoted(const fs::path& path) {
  return "'" + path.string() + "'";
}

/// The folder as an absolute path in the text. A checkout at /ropewalk is not named by
/// include/ropewalk, nor by lib/.../ropewalk in a comment.
bool names_folder(const std::string& text, const std::string& folder) {
  for (auto at = text.find(folder); at != std::string::npos; at = text.find(folder, at + 1)) {
    const char before = at == 0 ? ' ' : text[at - 1];
    if (std::isalnum(static_cast<unsigned char>(before)) == 0 &&
        std::string_view("}_.-/").find(before) == std::string_view::npos)
      return true;
  }
  return false;
}

/// Installs into one prefix and moves it to another, with a space in its name.
class Installed : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(scratch());
    const fs::path first = scratch() / "first";
    const Result r = shell("cmake --install " + quoted(binary) + " --prefix " + quoted(first));
    ASSERT_EQ(r.code, 0) << r.out << r.err;
    fs::rename(first, prefix);
    fs::create_directory(empty);
  }
  /// Runs the moved command in an empty folder.
  Result run(const std::string& arguments) const {
    return shell("cd " + quoted(empty) + " && " + quoted(prefix / "bin/ropewalk") + " " +
                 arguments);
  }
  const fs::path prefix = scratch() / "moved here", empty = scratch() / "empty";
};

TEST_F(Installed, CommandNeedsNothingBesideIt) {
  const Result list = run("list --kernel plain");
  EXPECT_EQ(list.code, 0) << list.err;
  EXPECT_TRUE(contains(list.out, "llama-3-8b/decode-1")) << "the workloads are compiled in";
  const Result all =
      run("run --profile smoke --cases 2 --kernel plain --property norm --property decay "
          "--launches 1 --rounds 6 --workload llama-3-8b/decode-1");
  EXPECT_TRUE(all.code == 0 || all.code == 3) << all.out << all.err;  // 3: its twin differed
  const std::string report = slurp(empty / "ropewalk-out/report.html");
  EXPECT_TRUE(contains(report, "llama-3-8b/decode-1")) << "the templates are compiled in";
  EXPECT_TRUE(contains(report, "<svg"));
  const Result mutants = run("mutants");
  expect(mutants, 2, {}, {"no ropewalk_mutants.so beside the command"});
}

TEST_F(Installed, FilesAreThoseMeantAndNameNoFolderOfTheBuild) {
  int files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(prefix)) {
    if (!entry.is_regular_file()) continue;
    ++files;
    const std::string path = entry.path().lexically_relative(prefix).string();
    const bool is_meant = path == ROPEWALK_INSTALLED_PLUGINS "/ropewalk_cuda.so" ||
                          path == ROPEWALK_INSTALLED_PLUGINS "/libropewalk_worker.so";
    EXPECT_FALSE(path.ends_with(".so") && !is_meant) << path;
    EXPECT_TRUE(!path.starts_with("bin/") || path == "bin/ropewalk") << path;
    if (path.starts_with("bin/") || path.starts_with("share/doc/")) continue;
    const std::string content = slurp(entry.path());
    for (const fs::path& folder : {source, binary, scratch()})
      EXPECT_FALSE(names_folder(content, folder.string())) << path;
  }
  EXPECT_GT(files, 10);
  EXPECT_EQ(run("include-dir").out, (prefix / "include/ropewalk\n").string());
  EXPECT_EQ(slurp(prefix / "include/ropewalk/kernels/api/rope_kernel.h"),
            slurp(source / "kernels/api/rope_kernel.h"));
}

TEST_F(Installed, KernelsInPythonNeedNothingOfTheTree) {
  const std::string python = python_with("numpy");
  if (python.empty()) GTEST_SKIP() << "no python3 here has numpy";
  const Result r =
      run("verify --profile smoke --property identity_at_zero --kernel numpy_rope "
          "--python " +
          python + " --plugin " + quoted(prefix / "share/doc/ropewalk/docs/python/numpy_rope.py"));
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  EXPECT_FALSE(contains(r.err, "ld.so")) << "the library is preloaded, whatever its path";
  const Result needed =
      shell("readelf -d " + quoted(prefix / ROPEWALK_INSTALLED_PLUGINS "/libropewalk_worker.so") +
            " | grep -E 'NEEDED.*lib(stdc|gcc|fmt|toml|benchmark)'");
  EXPECT_EQ(needed.out, "") << "a Python environment has another libstdc++";
}

// `.ci/run example_plugins` builds the examples so, and with pkg-config.
TEST_F(Installed, PackageBuildsAProjectInC) {
  const fs::path project = scratch() / "c_only", build = scratch() / "build";
  fs::create_directory(project);
  fs::copy(source / "kernels/example/example.c", project);
  std::ofstream(project / "CMakeLists.txt")
      << "cmake_minimum_required(VERSION 3.25)\nproject(c_only LANGUAGES C)\n"
         "find_package(ropewalk 0.1 REQUIRED)\nropewalk_add_kernel(c_only example.c)\n"
         "find_package(ropewalk 0.2 QUIET)\nif(ropewalk_FOUND)\n"
         "  message(FATAL_ERROR \"0.2 is another version\")\nendif()\n";
  const Result r =
      shell("cmake -G Ninja -S " + quoted(project) + " -B " + quoted(build) +
            " -DCMAKE_PREFIX_PATH=" + quoted(prefix) + " && cmake --build " + quoted(build));
  ASSERT_EQ(r.code, 0) << r.out << r.err;
  EXPECT_EQ(run("list --plugin " + quoted(build / "c_only.so")).code, 0);
  EXPECT_TRUE(fs::exists(prefix / "share/doc/ropewalk/kernels/example/example.cu"));
}

/// What a wheel unpacks, in a folder that Python finds. A command of this name in PATH ends with 9.
class Wheel : public testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(binary / "libropewalk_worker.so")) GTEST_SKIP() << "no wheel of this build";
    const Result r =
        shell("cmake --install " + quoted(binary) + " --component wheel --prefix " + quoted(site));
    ASSERT_EQ(r.code, 0) << r.out << r.err;
    spill(scratch() / "bin/ropewalk", "#!/bin/sh\nexit 9\n");
    fs::permissions(scratch() / "bin/ropewalk", fs::perms::owner_all);
    ASSERT_NE(python, "") << "no python3 here";
  }
  Result run(const std::string& arguments, const std::string& before = "") const {
    return shell("cd " + quoted(scratch()) + "; PYTHONPATH=" + quoted(site) + " PATH=" +
                 quoted(scratch() / "bin") + ":$PATH " + before + python + " " + arguments);
  }
  const fs::path site = fresh("site packages");
  const std::string python = python_with(python_with("numpy").empty() ? "sys" : "numpy");
};

TEST_F(Wheel, IsOneFolderWithTheCommandInIt) {
  const std::string list = " list --kernel plain";
  EXPECT_EQ(run("-m ropewalk" + list).code, 0);
  EXPECT_EQ(run("-m ropewalk" + list, "ROPEWALK_COMMAND=/bin/false ").code, 1) << "it comes first";
  for (const auto& entry : fs::directory_iterator(site))
    EXPECT_EQ(entry.path().filename(), "ropewalk");
  const fs::path other = fresh("other name");
  fs::create_symlink(site / "ropewalk/ropewalk", other);
  EXPECT_EQ(shell(quoted(other) + list).code, 0);
  fs::remove(site / "ropewalk/ropewalk");
  const Result none = run("-m ropewalk" + list);
  expect(none, 2, {}, {"neither beside the package nor in PATH"});
}

TEST_F(Wheel, HasTheHeadersAndJudgesAFunction) {
  const Result include = run("-c 'import ropewalk; print(ropewalk.get_include(), end=\"\")'");
  EXPECT_EQ(include.out, (site / "ropewalk/include").string()) << include.err;
  EXPECT_TRUE(fs::exists(site / "ropewalk/include/kernels/api/rope_kernel.h"));
  if (python_with("numpy").empty()) GTEST_SKIP() << "no python3 here has numpy";
  const Result function = run("-m ropewalk verify --cases 2 --property norm " +
                              quoted(source / "docs/python/numpy_rope.py"));
  expect(function, 0, {"(framework: python 3."});
}

}  // namespace
