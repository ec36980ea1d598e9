// How a worker starts, what it cannot load, and which message it then gives.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

#include "harness/process/time_limits.h"
#include "harness/testing/worker_fixture.h"

namespace ropewalk::harness {
namespace {

TEST(PluginLoading, ThatHangsIsKilledInTime) {
  for (const char* fault : {"hang_in_constructor", "hang_in_entry"}) {
    const PluginFault set(fault);
    WorkerOptions o = options({plugin});
    o.load_limit_s = 0.2;
    EXPECT_EQ(refusal(o), fmt::format("plugin {}: no answer from loading in {:.3g} s (its "
                                      "constructors and rope_kernels_v1 run then)",
                                      plugin, 0.2 * slowness()));
  }
}

/// Each test has a folder of its own, which is removed afterwards.
class PluginFile : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "ropewalk-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder = pattern;
  }
  void TearDown() override { fs::remove_all(folder); }
  fs::path folder;
};

TEST_F(PluginFile, InPythonThatHangsIsToldAsAnImport) {
  // NOLINTNEXTLINE(cert-env33-c)
  if (std::system("python3 -c 'import numpy' 2> /dev/null") != 0) GTEST_SKIP() << "no NumPy here";
  const std::string file = (folder / "sleeps.py").string();
  std::ofstream(file) << "import time\ntime.sleep(600)\n";
  WorkerOptions o = options({file});
  o.load_limit_s = 2;
  const std::string told = refusal(o);
  if (told.find("libropewalk_worker.so") != told.npos) GTEST_SKIP() << told;
  EXPECT_NE(told.find("no answer from importing in "), told.npos) << told;
  EXPECT_NE(told.find(" s (its import runs then)"), told.npos) << told;
  EXPECT_EQ(library_load_limit_s, 20);
  EXPECT_EQ(script_load_limit_s, 120);
}

TEST(PluginLoading, TellsWhatItLeftChanged) {
  const std::pair<const char*, const char*> faults[] = {
    {"none", ""},
    {"change_directory", "left the working directory changed: "},
    {"handle_interrupts", "left SIGINT's handler changed; all its results are made with this"},
    {"set_variable", "left the environment changed: HOSTILE_VARIABLE"},
#if defined(__x86_64__)
    {"flush_subnormals", "(subnormals count as 0, "},
    {"round_up", "0x5f80, x87 0x037f; its kernels are called without this change"},
#endif
  };
  for (const auto& [what, words] : faults) {
    const Hostility set(what, "load");
    testing::internal::CaptureStderr();
    Worker first(options({hostile_plugin, plugin})), second(options({hostile_plugin, plugin}));
    first.kernels(), second.kernels();
    const std::string shown = testing::internal::GetCapturedStderr();
    const std::string& told = second.remarks();
    const auto at = told.find("plugin " + hostile_plugin + ": loading it left ");
    EXPECT_EQ(at == told.npos, *words == 0) << what;
    EXPECT_NE(told.find(words), told.npos) << told;
    EXPECT_EQ(told.find("plugin " + plugin), told.npos) << "it changes nothing";
    EXPECT_EQ(shown, *words == 0 ? "" : "ropewalk: " + told.substr(at) + "\n") << "once";
  }
}

TEST_F(PluginFile, MayHaveAnyName) {
  const std::string file = (folder / "a \"b\" 'c' %20=d,.so").string();
  fs::copy_file(plugin, file);
  Worker worker(options({file}));
  EXPECT_EQ(worker.kernels().back().plugin, file);
}

TEST(WorkerStart, BadExecutableOrFeaturesAreNamed) {
  if (!has_proc()) GTEST_SKIP() << "no /proc here";
  WorkerOptions missing;
  missing.executable = "/no/such/ropewalk";
  EXPECT_NE(refusal(missing).find("cannot start the worker /no/such/ropewalk"), std::string::npos);
  WorkerOptions other;
  other.executable = "/bin/sh";  // it runs, but does not know the protocol
  EXPECT_NE(refusal(other).find("the worker exited with code"), std::string::npos);
  WorkerOptions masked = options();
  masked.cpu_features = "avx1024";
  EXPECT_NE(refusal(masked).find("unknown CPU feature 'avx1024'"), std::string::npos);
  EXPECT_TRUE(children().empty());
}

TEST(WorkerStart, LeavesNothingBehind) {
  if (!has_proc()) GTEST_SKIP() << "no /proc here";
  const std::ptrdiff_t descriptors = open_descriptors();
  {
    Worker unused(options());
    Worker used(options({plugin}));
    used.kernels();
    EXPECT_EQ(children().size(), 1u);
    const PluginFault set("list_abi");
    EXPECT_NE(refusal(options({plugin})), "");
    kill_quietly(children()[0]);
  }
  EXPECT_EQ(open_descriptors(), descriptors);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST(WorkerStart, TooFewDescriptorsAreSaid) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit few{8, 8};
    setrlimit(RLIMIT_NOFILE, &few);
    _exit(refusal(options()) == "a process may open 8 files here (ulimit -n), and 64 are needed"
              ? 0
              : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

// ---- plugins that break the connection to the parent while they are loaded

// What is done, and words of the message. The parent may see a closed socket before the worker has
// reported the reason.
using WireBreach = std::pair<std::string, std::string>;

class LoadBreach : public ::testing::TestWithParam<WireBreach> {};

// The plugin is named at any place among other plugins.
TEST_P(LoadBreach, IsToldOfThePluginThatDidIt) {
  const auto& [what, words] = GetParam();
  const Hostility set(what.c_str(), "load");
  for (const bool last : {true, false}) {
    const std::string message = refusal(
        options(last ? std::vector{plugin, hostile_plugin} : std::vector{hostile_plugin, plugin}));
    EXPECT_TRUE(message.starts_with("plugin " + hostile_plugin + ": ")) << what << ": " << message;
    EXPECT_NE(message.find(words), std::string::npos) << what << ": " << message;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, LoadBreach,
    testing::Values(WireBreach{"close_socket", "closed descriptor 3"},
                    WireBreach{"close_memory", "closed descriptor 4"},
                    WireBreach{"grow", "grew the worker's shared memory (descriptor 4) from "},
                    WireBreach{"write_to_socket",
                               "a packet of 5 bytes, where an answer of version 15 has "}),
    [](const auto& test) { return test.param.first; });

// A kernel may be the cause of a failed start: the call that follows crashes, and the command goes
// on.
TEST_F(PluginFile, ThatLoadsOnlyOnceCrashesWhatIsCalledNext) {
  const std::string mark = (folder / "mark").string();
  setenv("HOSTILE_MARK", mark.c_str(), 1);
  const Hostility set("load_once", "load");
  Worker worker(options({hostile_plugin}));
  const std::vector<KernelFacts> kernels = worker.kernels();
  worker.restart();
  EXPECT_TRUE(
      std::equal(kernels.begin(), kernels.end(), worker.kernels().begin(), worker.kernels().end(),
                 [](const KernelFacts& a, const KernelFacts& b) { return a.is_same_as(b); }))
      << "what was known is known";
  Oracle oracle;
  Subject subject{worker, oracle, kernels.back()};
  const Problem problem = make_problem(case_from_text("rotary_dim=8 q.head_dim=8"), oracle);
  const CallResult result = execute(subject, problem).result;
  EXPECT_EQ(result.kind, Kind::crash);
  EXPECT_EQ(result.text, "the worker cannot be started again: plugin " + hostile_plugin +
                             ": exited with code 5 in loading (its constructors and "
                             "rope_kernels_v1 run then)");
  unsetenv("HOSTILE_MARK");
}

}  // namespace
}  // namespace ropewalk::harness
