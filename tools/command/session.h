// What the verbs share: the worker with the given options, progress on a terminal, the results
// folder.
#pragma once
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>

#include "harness/expected/expected.h"
#include "harness/worker/worker.h"
#include "properties/search/verify.h"
#include "reports/record/record.h"
#include "tools/command/options.h"

namespace ropewalk::tools {

/// Bad input, in one line that names the culprit. The command exits with 2.
class UsageError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The path of a file in the folder of the command, or where `cmake --install` puts plugins; empty
/// if there is none.
std::string file_beside_command(const std::string& name);

/// Includes the plugins that lie beside the command, unless --no-cuda or --no-baselines. One is
/// SKIPPED, in a line on standard error, if its own worker does not load it, or if a given plugin
/// has a kernel of the same name. Leaves out given plugins that cannot be loaded, with a line each,
/// if others can.
harness::WorkerOptions worker_options(const KernelChoice& choice);
/// The exit code of a verb: 2 if a plugin was left out.
int final_exit_code(int code);
properties::VerifyPlan verify_plan(const JudgingOptions& options);

/// The row with which the results of a run begin. Describing the machine takes time.
report::RunRow run_row(const RunIdentity& run);

/// The file of --known-failures, judged by today's date (UTC). Throws BadFile.
harness::KnownFailures known_failures(const std::string& file);

/// Throws UsageError unless every --kernel glob matches a kernel.
void require_kernels(const std::vector<harness::KernelFacts>& kernels, const KernelChoice& choice);
void require_kernels(const KernelChoice& choice);
/// Throws UsageError unless every --property glob matches a property.
void require_properties(const JudgingOptions& options);

/// Flushes what was printed. Throws if that fails, so that no run prints for hours to a lost
/// output.
void flush_output();

enum class OutputEnd { written, reader_left, lost };
/// The state of standard output when a verb is done.
OutputEnd output_end();

double seconds_of_command();  ///< since the first call, which main() makes

/// What is going on, on standard error, with the seconds since the command began. On a terminal it
/// is one line that is rewritten in place. Elsewhere it is a line after one second, and then ever
/// more seldom, down to two a minute.
class Progress {
 public:
  /// `ticks`: the line is written anew each second, from a thread. Without, only show() writes, so
  /// that nothing disturbs what is being timed.
  explicit Progress(bool quiet, bool ticks = false);
  ~Progress() { clear(); }
  void show(const std::string& text);
  void clear();

 private:
  void write();

  const bool enabled_, on_terminal_;
  std::mutex mutex_;  // of what follows
  std::string text_;  // empty: nothing is shown
  double next_s_;
  std::condition_variable_any wake_;
  std::jthread ticking_;
};

/// Writes DIR/results.jsonl with a run row at its beginning and an end row at its end. The run row
/// is written at once, so that a run that is killed before its first result tells its command. A
/// run that is refused before its first result takes its row back, and leaves no file if there was
/// none. Throws std::runtime_error if the file cannot be written.
class Recorder {
 public:
  /// An empty `folder` records nothing.
  Recorder(const RunIdentity& run, const std::string& folder, const char* name = "results.jsonl");
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;
  template <class Row>
  void write(const Row& row) {
    if (!writer_) return;
    has_result_ = true;
    writer_->write(row);
  }
  /// Writes the end row. It is not called after an exception, so that such a run reads as cut off.
  void finish(int exit_code);
  const std::filesystem::path& file() const { return file_; }

 private:
  void take_back();
  std::filesystem::path file_;
  std::unique_ptr<report::RecordWriter> writer_;
  bool is_new_ = false, has_result_ = false;
  std::uintmax_t bytes_before_ = 0;
  std::chrono::steady_clock::time_point start_;
};
}  // namespace ropewalk::tools
