#include "tools/command/session.h"

#include <fmt/chrono.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <map>
#include <system_error>

#include "base/printable.h"
#include "base/text_file.h"
#include "benchmarks/machine/environment.h"
#include "harness/process/given_plugin.h"
#include "harness/worker/own_workers.h"
#include "reports/record/found_plugins.h"
#include "tools/command/workload_choice.h"

namespace ropewalk::tools {
using namespace bench;
using namespace harness;
using namespace properties;
using namespace report;
namespace {

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", utc);
}

bool left_a_plugin_out = false;

// The kernels of a plugin, as a worker with it alone lists them.
std::vector<KernelFacts> kernels_of(const WorkerOptions& given, const std::string& plugin) {
  const auto listed = given.first_lists->find(plugin);
  if (listed != given.first_lists->end()) return listed->second;
  std::vector<KernelFacts> kernels = Worker(with_plugin_alone(given, plugin)).kernels();
  std::erase_if(kernels, [&](const KernelFacts& k) { return k.plugin != plugin; });
  return kernels;
}

// Why a plugin cannot be taken beside those that were given; empty: it can. Throws WorkerError if a
// worker fails without it.
std::string fault_of(const WorkerOptions& given, const std::string& file) {
  std::map<std::string, std::string> taken;  // kernel, plugin
  kernels_of(given, "");
  for (const std::string& plugin : given.plugins)
    for (const KernelFacts& k : kernels_of(given, plugin)) taken[k.name] = plugin;
  try {
    for (const KernelFacts& k : kernels_of(given, file))
      if (const auto other = taken.find(k.name); other != taken.end())
        return fmt::format("plugin {}: a kernel named {} is in {} too", file, k.name,
                           other->second);
  } catch (const WorkerError& e) {
    return e.what();
  }
  return {};
}

// The given plugins less those that cannot be loaded. One line tells of each of those. If no other
// is left, the verb tells.
std::vector<std::string> usable_plugins(const WorkerOptions& given) {
  static std::map<std::vector<std::string>, std::vector<std::string>> known;
  const auto [found, is_new] = known.try_emplace(given.plugins);
  std::vector<std::string>& usable = found->second;
  if (!is_new) return usable;
  if (given.plugins.size() < 2) return usable = given.plugins;
  std::vector<std::string> faults;
  for (const std::string& plugin : given.plugins) try {
      kernels_of(given, plugin);
      usable.push_back(plugin);
    } catch (const WorkerError& e) {
      faults.emplace_back(e.what());
    }
  if (usable.empty()) return usable = given.plugins;
  for (const std::string& fault : faults)
    fmt::print(stderr, "ropewalk: left out: {}\n", printable_start(fault, 1000));
  left_a_plugin_out = !faults.empty();
  return usable;
}

// Takes a plugin that lies beside the command, or tells once why it cannot be taken and which
// option leaves it out.
void take_found(const char* name, const char* option, WorkerOptions& w) {
  static std::map<std::string, std::string> found;
  const auto [known, is_new] = found.try_emplace(name);
  std::string& file = known->second;
  if (is_new) file = file_beside_command(name);
  std::error_code error;
  for (const std::string& given : w.plugins)
    if (is_new && std::filesystem::equivalent(given_plugin(given).file, file, error)) file.clear();
  const std::string fault = is_new && !file.empty() ? fault_of(w, file) : "";
  if (!fault.empty()) {
    fmt::print(stderr, "ropewalk: SKIPPED: {} ({} leaves it out)\n", printable_start(fault, 1000),
               option);
    file.clear();
  }
  if (!file.empty()) w.plugins.push_back(file);
}

// Whether standard output is a pipe, socket or terminal with its other end closed. A full disk is
// not.
bool reader_has_left() {
  pollfd out{STDOUT_FILENO, POLLOUT, 0};
  return poll(&out, 1, 0) > 0 && (out.revents & (POLLERR | POLLHUP)) != 0;
}

bool output_fails() {
  return std::fflush(stdout) != 0 || std::ferror(stdout) != 0;
}

}  // namespace

std::string file_beside_command(const std::string& name) {
  const std::filesystem::path folder = std::filesystem::path(own_executable()).parent_path();
  std::error_code error;
  for (const std::filesystem::path& place : {folder, folder / ROPEWALK_PLUGIN_FOLDER}) {
    const std::filesystem::path file = place / name;
    if (std::filesystem::exists(file, error)) return file.lexically_normal().string();
  }
  return {};
}

RunRow run_row(const RunIdentity& run) {
  RunRow row;
  row.version = ROPEWALK_VERSION;
  row.command = run.command_line;
  row.started_at = utc_now();
  row.profile = profile_name(run.profile);
  row.seed = run.seed;
  row.margin = run.margin;
  row.environment = describe_environment();
  return row;
}

int final_exit_code(int code) {
  return left_a_plugin_out ? 2 : code;
}

WorkerOptions worker_options(const KernelChoice& choice) {
  // Shared by the whole command.
  static const auto first_lists =
      std::make_shared<std::map<std::string, std::vector<KernelFacts>>>();
  WorkerOptions w;
  w.first_lists = first_lists;
  w.plugins = choice.plugins;
  w.cpu_features = choice.cpu_features;
  w.tolerated = choice.tolerated;
  w.tolerated_plugins = choice.plugins;
  w.plugins = usable_plugins(w);
  if (!choice.no_cuda) take_found(cuda_plugin, "--no-cuda", w);
  if (choice.baselines)
    for (const char* name : baseline_plugins) take_found(name, "--no-baselines", w);
  return w;
}

VerifyPlan verify_plan(const JudgingOptions& options) {
  VerifyPlan plan;
  plan.kernels = options.kernels;
  plan.properties = options.properties;
  plan.profile = options.profile;
  plan.seed = options.seed;
  plan.cases = options.cases;
  plan.shapes.models = model_shapes(load_default_workloads());
  return plan;
}

KnownFailures known_failures(const std::string& file) {
  if (file.empty()) return {};
  return {read_text_file(file), shown_path(file),
          utc_now().substr(0, std::string_view("2021-04-20").size())};
}

void require_kernels(const std::vector<KernelFacts>& kernels, const KernelChoice& choice) {
  for (const std::string& glob : choice.kernels) {
    const auto fits = [&](const KernelFacts& k) { return glob_matches(glob, k.name); };
    if (std::ranges::any_of(kernels, fits)) continue;
    bool is_baseline = false;
    for (const char* name : {"gcc_plain", "gcc_complex", "clang_plain", "clang_complex"})
      is_baseline |= !choice.baselines && glob_matches(glob, name);
    std::string given;
    for (const KernelFacts& k : kernels)
      if (std::ranges::count(choice.plugins, k.plugin) > 0 && !given.ends_with(", ..."))
        given += (given.empty() ? "" : ", ") + (given.size() < 200 ? k.name : "...");
    throw UsageError(
        "no kernel matches '" + glob + "' (" +
        (is_baseline ? "compiler baselines: list, bench and run take them, unless --no-baselines"
         : given.empty() ? "ropewalk list shows them; one in a file is FILE::NAME"
                         : "--plugin has " + given + "; ropewalk list shows the others") +
        ")");
  }
}

void require_kernels(const KernelChoice& choice) {
  require_kernels(kernels_by_plugin(worker_options(choice)).kernels, choice);
}

void require_properties(const JudgingOptions& options) {
  for (const std::string& glob : options.properties) {
    const auto fits = [&](const Property* p) { return glob_matches(glob, std::string(p->name)); };
    if (std::ranges::none_of(all_properties(), fits))
      throw UsageError("no property matches '" + glob + "' (ropewalk list shows them)");
  }
}

double seconds_of_command() {
  static const auto start = std::chrono::steady_clock::now();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Progress::Progress(bool quiet, bool ticks)
    : enabled_(!quiet), on_terminal_(isatty(STDERR_FILENO) == 1), next_s_(on_terminal_ ? 0 : 1) {
  if (!enabled_ || !ticks) return;
  ticking_ = std::jthread([this](const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, stop, std::chrono::seconds(1), [] { return false; }) &&
           !stop.stop_requested())
      write();
  });
}

void Progress::show(const std::string& text) {
  if (!enabled_) return;
  const std::lock_guard lock(mutex_);
  text_ = text;
  write();
}

void Progress::write() {
  const double s = seconds_of_command();
  if (text_.empty() || s < next_s_) return;
  next_s_ = s + (on_terminal_ ? 0.05 : std::clamp(s / 4, 1.0, 30.0));
  winsize window{};
  const bool is_known = on_terminal_ && ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0;
  const int columns = on_terminal_ ? (is_known && window.ws_col > 0 ? window.ws_col : 80) : 200;
  std::fprintf(stderr, on_terminal_ ? "\r\033[K[%5.1f s] %.*s" : "[%5.1f s] %.*s\n", s,
               std::max(columns - 11, 1), text_.c_str());
  std::fflush(stderr);
}

void Progress::clear() {
  const std::lock_guard lock(mutex_);
  if (on_terminal_ && !text_.empty()) std::fputs("\r\033[K", stderr);
  text_.clear();
}

void flush_output() {
  if (output_fails()) throw std::runtime_error("standard output cannot be written");
}

OutputEnd output_end() {
  if (!output_fails()) return OutputEnd::written;
  return reader_has_left() ? OutputEnd::reader_left : OutputEnd::lost;
}

Recorder::Recorder(const RunIdentity& run, const std::string& folder, const char* name)
    : start_(std::chrono::steady_clock::now()) {
  if (folder.empty()) return;
  const RunRow row = run_row(run);  // made before the file, because it takes time
  std::error_code error;
  file_ = std::filesystem::path(folder) / name;
  is_new_ = !std::filesystem::exists(std::filesystem::symlink_status(file_, error));
  writer_ = std::make_unique<RecordWriter>(file_);
  bytes_before_ = std::filesystem::file_size(file_, error);
  try {
    writer_->write(row);
  } catch (...) {
    take_back();
    throw;
  }
}

Recorder::~Recorder() {
  if (writer_ && !has_result_) take_back();
}

void Recorder::take_back() {
  std::error_code error;
  if (is_new_)
    std::filesystem::remove(file_, error);
  else
    std::filesystem::resize_file(file_, bytes_before_, error);
}

void Recorder::finish(int exit_code) {
  EndRow end;
  end.exit_code = final_exit_code(exit_code);
  end.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  end.finished_at = utc_now();
  write(end);
}

}  // namespace ropewalk::tools
