// Starts a worker, and words what goes wrong at its start.
#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <set>
#include <sstream>
#include <tuple>

#include "base/printable.h"
#include "harness/process/exceptions.h"
#include "harness/process/keeper.h"
#include "harness/process/script_host.h"
#include "harness/process/time_limits.h"
#include "harness/watch/output_watch.h"
#include "harness/worker/worker.h"

extern "C" char** environ;  // NOLINT: POSIX's own name

namespace ropewalk::harness {
namespace {

std::mutex of_all_workers;  // several threads may start workers

using namespace protocol;

// The watch covers this many low descriptors. A lower limit (ulimit -n) would leave some unwatched.
constexpr rlim_t descriptors_needed = 64;

// What is started meanwhile may use these processors only.
class OnProcessors {
 public:
  explicit OnProcessors(const std::vector<int>& processors) {
    CPU_ZERO(&before_);
    moved_ = !processors.empty() && sched_getaffinity(0, sizeof before_, &before_) == 0;
    if (!moved_) return;
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const int processor : processors) CPU_SET(static_cast<unsigned>(processor), &set);
    sched_setaffinity(0, sizeof set, &set);
  }
  ~OnProcessors() {
    if (moved_) sched_setaffinity(0, sizeof before_, &before_);
  }
  OnProcessors(const OnProcessors&) = delete;
  OnProcessors& operator=(const OnProcessors&) = delete;

 private:
  cpu_set_t before_;
  bool moved_ = false;
};

void require_descriptors() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= descriptors_needed) return;
  throw WorkerError(fmt::format("a process may open {} files here (ulimit -n), and {} are needed",
                                limit.rlim_cur, descriptors_needed));
}

}  // namespace

// A kernel may have caused the failure of a later start, so such a failure does not end the
// command.
void Worker::start() {
  if (pid_ > 0 || !cannot_start_.empty()) return;
  const bool are_known = !kernels_.empty();
  std::string failure;
  for (int tries = are_known ? 2 : 1; tries > 0; --tries) {
    failure = start_once();
    if (failure.empty()) return;
    stop();
  }
  if (!are_known) throw WorkerError(failure);
  cannot_start_ = "the worker cannot be started again: " + failure;
}

// Returns what went wrong; empty: nothing.
std::string Worker::start_once() {
  try {
    memory_.open();
    spawn();
  } catch (const std::exception& e) {
    return e.what();
  }
  ++starts_;
  const std::string failure = load_failure();
  if (said_ >= 0) show_watched_output(said_);  // text that constructors printed
  return failure;
}

void Worker::spawn() {
  require_descriptors();
  control() = Control{};
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
    throw WorkerError(fmt::format("cannot make a socket for the worker: {}", strerror(errno)));
  socket_ = pair[0];
  const timeval between_looks{0, 1000 * look_every_ms};
  setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &between_looks, sizeof between_looks);
  // dup2 of a descriptor onto itself would keep close-on-exec, so both are moved out of the way
  // first.
  const int child_socket = fcntl(pair[1], F_DUPFD_CLOEXEC, 10);
  const int child_memory = fcntl(memory_.descriptor(), F_DUPFD_CLOEXEC, 10);
  close(pair[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  watch_output(actions);
  posix_spawn_file_actions_adddup2(&actions, child_socket, socket_descriptor);
  posix_spawn_file_actions_adddup2(&actions, child_memory, memory_descriptor);

  std::vector<std::string> words{"ropewalk", "worker", "--cpu-features", options_.cpu_features};
  const auto& tolerant = options_.tolerated_plugins;
  for (const std::string& plugin : options_.plugins) {
    if (options_.tolerated != 0 && std::ranges::find(tolerant, plugin) != tolerant.end())
      words.insert(words.end(), {"--tolerate", tolerance_words(options_.tolerated)});
    words.insert(words.end(), {"--plugin", plugin});
  }
  if (options_.with_device) words.insert(words.end(), {"--device", "cuda"});
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  const OnProcessors placed(options_.processors);
  const int error =
      posix_spawn(&pid_, options_.executable.c_str(), &actions, &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  close(child_socket);
  close(child_memory);
  if (error == 0) return;
  pid_ = -1;
  throw WorkerError(
      fmt::format("cannot start the worker {}: {}", options_.executable, strerror(error)));
}

// The worker's output goes to memory. stdout is checked, and stderr is shown to the user as well.
void Worker::watch_output(posix_spawn_file_actions_t& actions) {
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) {
    int& output = stream == STDOUT_FILENO ? printed_ : said_;
    output = make_watched_output();
    posix_spawn_file_actions_adddup2(&actions, output, stream);
  }
}

// The path of a plugin as it was given. The worker's text is cut to the field.
std::string Worker::whole_path(const std::string& told, std::size_t field_bytes) const {
  for (const std::string& plugin : options_.plugins)
    if (told.size() + 1 == field_bytes && plugin.starts_with(told)) return plugin;
  return told;
}

// A worker that ends or hangs while it loads a plugin has named the plugin. For damage that shows
// later, and for stray packets, each plugin is asked alone.
std::string Worker::blame(const std::string& text, bool of_the_one_loading) const {
  const auto words = [&](const std::string& plugin) {
    const char* runs = is_script(plugin) ? "its import" : "its constructors and rope_kernels_v1";
    return fmt::format("plugin {}: {} ({} run{} then)", plugin, text, runs,
                       is_script(plugin) ? "s" : "");
  };
  const std::string loading = printable(text_of(control().now_running));
  if (of_the_one_loading && !loading.empty())
    return words(whole_path(loading, sizeof Control::now_running));
  if (options_.plugins.size() == 1 && !loading.empty()) return words(options_.plugins.front());
  for (const std::string& plugin : options_.plugins) {
    if (options_.plugins.size() == 1) break;
    WorkerOptions alone = options_;
    alone.plugins = {plugin};
    try {
      Worker(alone).kernels();
    } catch (const WorkerError& e) {
      return e.what();
    }
  }
  return "the worker " + text;
}

// For all plugins together: a hang is usually found where each is loaded alone.
double Worker::load_limit_s() const {
  double usual_s = options_.plugins.empty() ? library_load_limit_s : 0;
  for (const std::string& plugin : options_.plugins)
    usual_s += is_script(plugin) ? script_load_limit_s : library_load_limit_s;
  return slowness() * options_.load_limit_s.value_or(usual_s);
}

// Greets a fresh worker and lists its kernels. Returns what went wrong; empty: nothing.
std::string Worker::load_failure() {
  Reply reply{};
  Received how = send_request({.command = Command::hello});
  if (how == Received::message) how = receive(&reply, sizeof reply, after(load_limit_s()));
  if (how != Received::message) {
    const bool loading = control().phase == static_cast<std::uint32_t>(Phase::loading);
    const bool alive = how == Received::gone && !ends_within(keeper_patience_s, false);
    std::string text = end_of(how, {}).text;
    if (const auto at = text.find("in time"); how == Received::late && at != text.npos)
      text.replace(at, std::string_view("in time").size(),
                   fmt::format("in {:.3g} s", load_limit_s()));
    return blame(text, loading && how != Received::foreign && !alive);
  }
  if (reply.status != Status::ok) return printable(text_of(reply.text));
  if (const std::string damage = memory_.damage(); !damage.empty()) return blame(damage, false);
  note_remarks(text_of(reply.text));
  if (reply.kernels == 0) return "the worker has no kernels: this build is broken";
  running_ = running();
  return list_failure(reply.kernels);
}

// What loading changed is also told here, once, as not every command prints rows that say it.
void Worker::note_remarks(const std::string& text) {
  static std::set<std::string> told;
  const std::lock_guard lock(of_all_workers);
  std::istringstream lines(text);
  std::vector<std::string> out(1);
  for (std::getline(lines, out[0]); std::getline(lines, out.emplace_back());)
    if (told.insert(out.back()).second) fmt::print(stderr, "ropewalk: {}\n", printable(out.back()));
  std::erase(out, "");
  remarks_ = printable(fmt::format("{}", fmt::join(out, "; ")));
}

std::string Worker::list_failure(std::size_t count) {
  std::vector<KernelFacts> listed;
  for (std::uint32_t i = 0; i < count; ++i) {
    KernelEntry e{};
    Received how = send_request({.command = Command::list, .kernel = i});
    if (how == Received::message) how = receive(&e, sizeof e, after(load_limit_s()));
    if (how != Received::message) return blame(end_of(how, {}).text, false);
    const auto shown = [](const auto& field) { return printable(text_of(field)); };
    listed.push_back({i, shown(e.name), shown(e.summary), shown(e.source), shown(e.cpu_features),
                      whole_path(text_of(e.plugin), sizeof e.plugin), shown(e.cannot_run),
                      shown(e.device), e.memory, e.angle_contract, e.flags, e.extensions,
                      e.error_bound, e.exceptions, e.reads_past, e.tolerated});
  }
  if (const std::string plugin = changed_plugin(listed); !plugin.empty())
    return fmt::format("plugin {}: lists other kernels than when it was loaded before", plugin);
  kernels_ = std::move(listed);
  return {};
}

bool KernelFacts::is_same_as(const KernelFacts& other) const {
  const auto identity = [](const KernelFacts& k) {
    return std::tie(k.index, k.name, k.summary, k.source, k.cpu_features, k.plugin, k.memory,
                    k.angle_contract, k.flags, k.extensions, k.error_bound, k.exceptions,
                    k.reads_past);
  };
  return identity(*this) == identity(other);
}

std::string judged_on(const KernelFacts& kernel) {
  if (kernel.memory == ROPE_CUDA) return kernel.device.empty() ? "cuda" : "cuda: " + kernel.device;
  if ((kernel.flags & ROPE_HOST_LAUNCHER) != 0) return "host launcher";
  std::vector<std::string> words{
      kernel.device, exception_words(kernel.exceptions & ~kernel.tolerated, kernel.reads_past)};
  if (kernel.tolerated != 0) words.push_back("tolerated: " + exception_words(kernel.tolerated, 0));
  std::erase(words, "");
  return words.empty() ? "native" : fmt::format("framework: {}", fmt::join(words, "; "));
}

// The plugin that lists other kernels than before, in this worker or in the first worker. Empty:
// none.
std::string Worker::changed_plugin(const std::vector<KernelFacts>& listed) const {
  const auto are_same = [](const KernelFacts& a, const KernelFacts& b) { return a.is_same_as(b); };
  const auto [now, before] =
      std::mismatch(listed.begin(), listed.end(), kernels_.begin(), kernels_.end(), are_same);
  if (!kernels_.empty() && (now != listed.end() || before != kernels_.end()))
    return now != listed.end() ? now->plugin : before->plugin;
  for (const std::string& plugin : options_.plugins) {
    if (options_.first_lists == nullptr) break;
    std::vector<KernelFacts> of_plugin;
    for (const KernelFacts& facts : listed)
      if (facts.plugin == plugin) of_plugin.push_back(facts);
    for (KernelFacts& facts : of_plugin) facts.index = 0;  // the index depends on other plugins
    const std::lock_guard lock(of_all_workers);
    const auto& first = options_.first_lists->try_emplace(plugin, of_plugin).first->second;
    if (!std::ranges::equal(first, of_plugin, are_same)) return plugin;
  }
  return {};
}

}  // namespace ropewalk::harness
