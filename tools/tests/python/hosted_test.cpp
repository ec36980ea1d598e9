// The processes in which Python's providers, libraries and dumps are judged: nothing is imported
// from the current folder, a provider that ends its process ends no other, and nothing is left.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tools/tests/python/with_numpy.h"

namespace {

namespace fs = std::filesystem;

class Hosted : public WithNumpy {
 protected:
  /// Runs the planted providers, which write the process that they leave into the file LEFT.
  static Result planted_run(const std::string& glob, const std::string& environment = "") {
    fs::remove(left);
    return shell(environment + " LEFT=" + left.string() + " " + ROPEWALK_EXECUTABLE + " verify '" +
                 planted + "bad/hosted.py::" + glob + "' --python " + python_with("numpy"));
  }
  static bool is_there(const fs::path& process_file) {
    return fs::exists("/proc/" + slurp(process_file) + "/stat");
  }
  inline static fs::path left;
  void SetUp() override {
    WithNumpy::SetUp();
    left = scratch() / "left";
  }
};

TEST_F(Hosted, AProviderThatEndsItsProcessEndsNoOther) {
  const Result r = planted_run("*");
  EXPECT_EQ(r.code, 1) << r.err;
  for (const std::string words :
       {" forks\\x1b[2J FAIL ", "forks, and the child returned too", " crashes CRASH",
        "pairs: SIGSEGV", " exits CRASH", " leaves_a_process PASS ",
        "note: leaves_a_process starts a process in ", " right PASS "})
    EXPECT_TRUE(contains(on_one_line(r.out), words)) << words << "\n" << r.out;
  EXPECT_FALSE(is_there(left)) << slurp(left);
  EXPECT_TRUE(contains(planted_run("exits").out, "pairs: exit code 7"));
  EXPECT_FALSE(contains(r.out + r.err, "\x1b[2J"));
  EXPECT_FALSE(fs::exists(fs::temp_directory_path() / "escaped.json"));
}

TEST_F(Hosted, NothingOutlivesAKilledCommand) {
  const Result r = shell("SLEEPS=600 LEFT=" + left.string() + " " + ROPEWALK_EXECUTABLE +
                         " verify '" + planted + "bad/hosted.py::[ls]*' --python " +
                         python_with("numpy") + " >/dev/null 2>&1 & command=$!; rm -f " +
                         left.string() + "; for i in $(seq 300); do test -s " + left.string() +
                         " && break; sleep 0.1; done; sleep 0.3; kill -9 $command; for i in $(seq "
                         "20); do test -e /proc/$(cat " +
                         left.string() + ")/stat || exit 5; sleep 0.1; done");
  EXPECT_EQ(r.code, 5) << slurp(left) << r.err;
}

TEST_F(Hosted, NothingIsImportedFromTheCurrentFolder) {
  const fs::path folder = fresh("folder");
  for (const char* module : {"importlib/__init__", "types", "warnings", "functools", "contextlib",
                             "inspect", "numpy/__init__", "ropewalk/__init__", "json/__init__"})
    spill(folder / (module + std::string(".py")), "open('" + (folder / "RAN").string() + "', 'a')");
  spill(folder / "x.safetensors", "");
  for (const std::string safe : {"", "PYTHONSAFEPATH=1 "})
    for (const std::string verb :
         {"identify x.safetensors", "diff x.safetensors x.safetensors", "verify x.safetensors",
          "verify transformers::none", "vectors -o y.other", "list --libraries"}) {
      const Result r = shell("cd " + folder.string() + " && " + safe + ROPEWALK_EXECUTABLE + " " +
                             verb + " --python " + python_with("numpy"));
      EXPECT_FALSE(fs::exists(folder / "RAN")) << safe << verb;
      EXPECT_LE(lines_in(r.err), 1) << r.err;
    }
}

TEST_F(Hosted, WhatPythonLacksIsToldInALine) {
  const fs::path folder = fresh("folder");
  spill(folder / "numpy.py", "raise ImportError('not here')\n");
  spill(folder / "x.safetensors", "");
  for (const std::string verb : {"identify x.safetensors", "diff x.safetensors x.safetensors",
                                 "vectors -o y.safetensors", "list --libraries"}) {
    const Result r = shell("cd " + folder.string() + " && PYTHONPATH=. " + ROPEWALK_EXECUTABLE +
                           " " + verb + " --python " + python_with("numpy"));
    expect_one_line(r, {"cannot import numpy: not here"});
  }
}

// What a file of a user writes onto the descriptor of rows.
TEST_F(Hosted, AForeignRowIsInertOrRefusedInALine) {
  const fs::path folder = fresh("folder");
  const auto with_row = [&](const std::string& row) {
    spill(folder / "x.py",
          "# ropewalk.provider(\nimport os\nos.write(3, b'" + row + R"( + b'\n'))");
    return with_numpy("diff " + (folder / "x.py").string() + " " + (folder / "x.py").string());
  };
  const auto table = [](const std::string& rows) {
    return R"(table\t{"schema": 1, "row": "said", "heads": ["a", "b"], "rows": )" + rows;
  };
  for (const auto& [row, words] :
       {std::pair{table("[' + b'[\"x\", \"y\"],' * 5000 + b'[]]}'"), "more than 10,000 cells"},
        {table("[[1]]}'"), "field 'rows' is not a string"},
        {table("7}'"), "field 'rows' is not a list"},
        {table("' + b'[' * 9999"), "nested too deep"},
        {table("[]'"), "not JSON"},
        {std::string("table\\t{\"schema\": 1, \"row\": \"end\"}'"), "is of another kind"},
        {std::string("li\\x1b[2Jne\\ttext'"), "unknown kind li\\x1b[2Jne"}})
    expect_one_line(with_row(row), {words});
  for (const std::string& row :
       {std::string("note\\t\\x1b[2J here'"), std::string("printed\\t\\x1b[2J here'"),
        table("[[\"\\\\u001b[2J here\", \"' + b'y' * 9999 + b'\"]]}'")}) {
    const Result r = with_row(row);
    EXPECT_TRUE(contains(r.out, "\\x1b[2J here")) << row << r.out;
    EXPECT_FALSE(contains(r.out + r.err, "\x1b") || contains(r.out, std::string(4097, 'y')));
  }
}

// A pipe would be waited for, and a device has no end.
TEST_F(Hosted, AConfigIsReadAsThatOfConfigIs) {
  const std::string folder = fresh("folder").string();
  fs::create_directories(folder);
  const std::string cd = "cd " + folder + " && ", python = " --python " + python_with("numpy");
  shell(
      cd +
      "mkfifo pipe; head -c 52428800 /dev/zero >long; echo '{\"model_type\": \"\\ud800\"}' >half");
  for (const std::string file : {"pipe", "/dev/zero", ".", "long", "half"})
    for (const std::string verb : {"identify x.safetensors", "diff x.safetensors x.safetensors",
                                   "vectors -o y.safetensors"}) {
      const Result r = shell(cd + "timeout 20 " + ROPEWALK_EXECUTABLE + " " + verb + " --config " +
                             file + python);
      expect_one_line(r, {});
      EXPECT_TRUE(contains(r.err, file + ":") || file == ".") << r.err;
    }
}

}  // namespace
