// The parent side of the worker: spawns it, speaks the protocol, keeps the time limits, and turns a
// crash, hang or exit into a result. A dead worker is replaced when it is next needed.
#pragma once
#include <spawn.h>
#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/fault_place.h"
#include "harness/protocol.h"

namespace ropewalk {

/// The worker could not start, or refuses its plugins: one clear line. Exit code 2.
class WorkerError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The path of the running program, also where no /proc is mounted.
std::string own_executable();

/// What is started as a worker: this program, or what ROPEWALK_WORKER in the environment names (an
/// emulator's wrapper).
std::string worker_executable();

struct WorkerOptions {
  /// Called as: EXECUTABLE worker [--cpu-features L] [--plugin F]...
  std::string executable = worker_executable();
  std::vector<std::string> plugins;
  std::string cpu_features = "all";
  static constexpr int nowhere = -1, watched = -2;
  /// What the worker's stdout is: a descriptor, /dev/null, or watched, with its stderr.
  int output_descriptor = watched;
  double load_limit_s = 60;  ///< dlopen and constructors: imports are slow
};

/// A kernel as its worker describes it.
struct KernelFacts {
  std::uint32_t index = 0;
  std::string name, summary, source, cpu_features, plugin, cannot_run;
  std::int32_t angle_contract = 0;
  std::uint32_t flags = 0;
  double error_bound = 0;
};

struct CallResult {
  enum class Kind { ok, unsupported, failed, skipped, crash, hang };
  Kind kind = Kind::ok;
  std::string text;         ///< reason, or what happened and where
  std::uint64_t count = 0;  ///< of step_repeat
};

class Worker {
 public:
  explicit Worker(WorkerOptions options);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Starts the worker if need be. Throws WorkerError.
  const std::vector<KernelFacts>& kernels();

  /// Room for buffers in the shared memory, at file offset protocol::buffers_offset. The address
  /// holds until the next reserve(). Throws WorkerError when there is no memory.
  std::byte* reserve_buffers(std::size_t bytes);

  /// Runs steps of a call. `regions` (protocol::region_count of them) name the buffers in messages.
  CallResult call(std::uint32_t kernel, const protocol::CallDescriptor& call, std::uint32_t steps,
                  const std::vector<NamedRegion>& regions) {
    return calls(kernel, {&call, 1}, steps, regions);
  }
  /// The same for the descriptors of several callers (protocol::step_repeat).
  CallResult calls(std::uint32_t kernel, std::span<const protocol::CallDescriptor> calls,
                   std::uint32_t steps, const std::vector<NamedRegion>& regions);

  struct TimeResult {
    CallResult result;
    int exit_code = 0;
    std::string now_running;  ///< of a crash or hang
  };
  /// Lets the worker time a board; on_row gets (kernel, JSON). No benchmark may go longer than
  /// `silence_limit_s` without ending.
  TimeResult time(const std::string& board, double silence_limit_s,
                  const std::function<void(const std::string&, const std::string&)>& on_row,
                  const std::function<void(const std::string&)>& on_progress);

  /// Ends the process; the next call runs in a fresh one.
  void restart() { stop(); }
  int starts() const { return starts_; }  ///< how many processes were needed so far

 private:
  void start();
  void stop();
  void open_memory();
  void watch_output(posix_spawn_file_actions_t& actions);
  std::string load_failure();
  std::string whole_path(const std::string& told) const;
  bool send(const void* data, std::size_t bytes);
  enum class Received { message, gone, late };
  Received receive(void* data, std::size_t bytes, std::chrono::steady_clock::time_point deadline,
                   std::size_t* got = nullptr);
  CallResult end_of(Received how, const std::vector<NamedRegion>& regions);
  std::string phase_text() const;
  protocol::Control& control() const;

  WorkerOptions options_;
  std::vector<KernelFacts> kernels_;
  pid_t pid_ = -1, group_ = -1;
  int socket_ = -1, memory_ = -1;
  int printed_ = -1, said_ = -1;  // the worker's stdout and stderr
  std::byte* mapped_ = nullptr;
  std::size_t mapped_bytes_ = 0;
  int starts_ = 0;
};

}  // namespace ropewalk
