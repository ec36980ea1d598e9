// The parent side of the worker. It starts the process, speaks the protocol, keeps the time limits,
// and turns a crash, hang or exit into a result. A dead worker is replaced when it is next needed.
#pragma once
#include <spawn.h>
#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/call/descriptor.h"
#include "harness/process/time_limits.h"
#include "harness/protocol.h"
#include "harness/worker/own_executable.h"

namespace ropewalk::harness {

// The memory that a parent shares with one worker. Each worker gets a file of its own, because a
// kernel may change the file in any way.

/// The worker could not start, or it refuses its plugins. The text is one clear line. The command
/// exits with 2.
class WorkerError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

class SharedMemory {
 public:
  SharedMemory() = default;
  ~SharedMemory() { close(); }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  /// Opens a fresh file. Closes the file that was open before, and its addresses become invalid.
  /// Throws WorkerError.
  void open();
  /// Makes room for at least `bytes`. The address is valid until the next reserve() or open(). The
  /// file keeps its content. Throws WorkerError if there is no memory.
  std::byte* reserve(std::size_t bytes);

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  int descriptor() const { return file_; }
  /// What another process did to the file, in words; empty: nothing.
  std::string damage() const;

 private:
  void close();

  int file_ = -1;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// A kernel as its worker describes it.
struct KernelFacts {
  std::uint32_t index = 0;
  std::string name, summary, source, cpu_features, plugin;
  std::string cannot_run;  ///< on this machine; empty if it can
  /// the name of the device that it runs on, or the interpreter and its library; empty for the host
  std::string device;
  std::int32_t memory = ROPE_HOST;
  std::int32_t angle_contract = 0;
  std::uint32_t flags = 0, extensions = 0;
  double error_bound = 0;
  std::uint32_t exceptions = 0;  ///< declared or tolerated
  std::uint32_t reads_past = 0;
  std::uint32_t tolerated = 0;  ///< exceptions that it does not declare
  /// True if both describe one kernel. Whether it can run may differ between workers.
  bool is_same_as(const KernelFacts& other) const;
};

/// What a verdict on the kernel rests on: "native", "host launcher", "framework: " with the
/// exceptions that the kernel declares or is tolerated ("framework: python 3.11.7, numpy 2.4.6;
/// allocates"), or "cuda: NAME" with the name of the device, or "cuda" if no device was opened.
std::string judged_on(const KernelFacts& kernel);

struct WorkerOptions {
  /// Started as: EXECUTABLE worker [--cpu-features L] [--plugin F]...
  std::string executable = worker_executable();
  std::vector<std::string> plugins;
  std::uint32_t tolerated = 0;  ///< exceptions (rope_kernel.h), of these plugins:
  std::vector<std::string> tolerated_plugins;
  std::string cpu_features = "all";
  std::vector<int> processors;  ///< those that the process may use; empty: those of this one
  bool with_device = false;     ///< adds --device cuda, so kernels of memory ROPE_CUDA can run
  std::optional<double> load_limit_s;  ///< none: those of time_limits.h
  /// What each plugin listed in the first of several workers. Every other worker must list the
  /// same. If NULL, a worker is compared only with its own first process.
  std::shared_ptr<std::map<std::string, std::vector<KernelFacts>>> first_lists;
};

struct CallResult {
  enum class Kind { ok, unsupported, failed, skipped, crash, hang };
  Kind kind = Kind::ok;
  std::string text;            ///< the reason, or what happened and where
  std::string id = {};         ///< of a crash or hang its kind and place; of failed what was raised
  std::uint64_t repeated = 0;  ///< for step_repeat and step_supports: protocol::Step
  protocol::Conduct conduct{};
  bool killed = false;  ///< of a crash: by SIGKILL, which is rarely the kernel's doing
};

class Worker {
 public:
  /// `known`: the kernels of an earlier worker with the same options.
  explicit Worker(WorkerOptions options, std::vector<KernelFacts> known = {});
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Starts the worker if needed. Throws WorkerError unless the kernels are known already. If they
  /// are known, a start that fails counts as a crash of the call that follows.
  const std::vector<KernelFacts>& kernels();

  /// Makes room for buffers in the worker's shared memory, at file offset protocol::buffers_offset.
  /// Starts the worker if needed. The address is valid until the next reserve_buffers() and while
  /// this worker lives: the next worker has memory of its own. Throws WorkerError if there is no
  /// memory.
  std::byte* reserve_buffers(std::size_t bytes);

  /// Runs steps of a call, or of the calls of several callers (protocol::step_repeat).
  CallResult calls(std::uint32_t kernel, std::span<const protocol::CallDescriptor> calls,
                   std::uint32_t steps);
  CallResult call(std::uint32_t kernel, const protocol::CallDescriptor& call, std::uint32_t steps) {
    return calls(kernel, {&call, 1}, steps);
  }

  struct TimeResult {
    CallResult result;
    int exit_code = 0;
    /// Set for a failure: KERNEL|WORKLOAD of the code that ran; empty: no kernel's.
    std::string now_running;
  };
  struct BoardSinks {
    /// Takes a row as JSON. Returns what is wrong with it; empty: the row is accepted.
    std::function<std::string(const std::string& json)> row;
    std::function<void(const std::string& label)> progress;
    /// Takes text of Google Benchmark for the user. `remark`: the text belongs on standard error.
    std::function<void(const std::string& text, bool remark)> show;
  };
  /// Lets the worker time a board. If no benchmark ends within `silence_limit_s` seconds, the
  /// worker counts as hung.
  TimeResult time(const std::string& board, double silence_limit_s, const BoardSinks& sinks);

  /// What the worker's process cannot watch and what loading a plugin changed in it, in words;
  /// empty: nothing.
  const std::string& remarks() const { return remarks_; }

  /// A worker with the same options and kernels. Its process starts when it is first needed.
  Worker another() const { return Worker(options_, kernels_); }

  /// Ends the process. The next call starts a new one.
  void restart() { stop(); }
  /// True if a kernel has left the process changed, in a way that made no call fail.
  bool has_been_changed() const { return is_changed_; }
  int starts() const { return starts_; }  ///< number of processes started so far

 private:
  /// The parent waits by counting looks of this interval, not by the clock. Time in which the
  /// parent was stopped (^Z) does not count.
  static constexpr long look_every_ms = 100;
  static constexpr double look_every_s = 1e-3 * look_every_ms;

  using Deadline = std::chrono::steady_clock::time_point;
  static Deadline after(double seconds);
  enum class Received { message, gone, late, foreign };
  void start();
  std::string start_once();
  void spawn();
  void stop();
  int bury();
  bool ends_within(double seconds, bool alive_too) const;
  bool is_alive() const;
  void wake_keeper() const;
  pid_t running() const;
  void watch_output(posix_spawn_file_actions_t& actions);
  std::string load_failure();
  void note_remarks(const std::string& text);
  double load_limit_s() const;
  std::string list_failure(std::size_t count);
  std::string changed_plugin(const std::vector<KernelFacts>& listed) const;
  std::string blame(const std::string& text, bool of_the_one_loading) const;
  std::string whole_path(const std::string& told, std::size_t field_bytes) const;
  Received send_request(const protocol::Request& request);
  Received receive(void* data, std::size_t bytes, Deadline deadline, std::size_t* got = nullptr);
  bool is_answer(const void* data, std::size_t length, std::size_t expected);
  bool receive_rest(std::string& text, protocol::TimedRow& message, double limit_s);
  double limit_by_part_s(std::uint32_t kernel, const protocol::CallDescriptor& call,
                         double usual_s);
  CallResult end_of(Received how, const protocol::CallDescriptor& call = {});
  CallResult damaged(const std::string& how);
  std::string phase_text() const;
  protocol::Control& control() const;

  WorkerOptions options_;
  std::vector<KernelFacts> kernels_;
  std::string cannot_start_;  // why the last start failed
  std::string remarks_;
  SharedMemory memory_;
  pid_t pid_ = -1;      // the started process: the keeper, which ends the way the worker does
  pid_t running_ = -1;  // the process that runs kernels
  int socket_ = -1;
  int printed_ = -1, said_ = -1;  // the worker's stdout and stderr
  std::string foreign_;           // packets that did not answer a request
  int starts_ = 0;
  bool is_changed_ = false;
  bool runs_parts_ = false;  // of the calls of another worker, which are late there
};

}  // namespace ropewalk::harness
