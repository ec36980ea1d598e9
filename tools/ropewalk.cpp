// The command: picks the verb, and turns errors into one line and an exit code.
#include <fmt/format.h>
#include <malloc.h>
#include <sys/file.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <variant>
#include <vector>

#include "base/printable.h"
#include "base/system/descriptor.h"
#include "base/system/memory_limits.h"
#include "harness/worker/python_process.h"
#include "tools/command/options.h"
#include "tools/command/session.h"
#include "tools/command/targets.h"
#include "tools/launches/board.h"
#include "tools/launches/launches.h"
#include "tools/verbs/verbs.h"

namespace ropewalk::tools {
namespace {

namespace fs = std::filesystem;

// The exit code that a shell gives to a program that ended by SIGPIPE.
constexpr int reader_left = 128 + SIGPIPE;

// Prints one line, whatever bytes the names in it hold.
void print_error(const std::string& what) {
  constexpr std::size_t length_max = 1000;
  std::fprintf(stderr, "ropewalk: %s\n", printable_start(what, length_max).c_str());
}

// The next file that is opened must not get the number of a closed standard stream, else printed
// text would go into that file. Reading from the stand-in and writing to it fail.
void hold_standard_streams() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(descriptor, F_GETFD) < 0)
      (void)::open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

// The least memory that judging needs, as measured: the command, a judge and its worker. With less
// memory the system would kill the run without a message.
template <class Options>
void require_memory(const std::string& verb, const Options&) {
  constexpr std::int64_t least = std::int64_t{64} << 20;
  constexpr bool judges =
      std::is_base_of_v<RunIdentity, Options> || std::is_same_v<Options, RunOptions>;
  const MemoryLeft left = judges ? memory_left() : MemoryLeft{};
  if (left.bytes < least)
    throw std::runtime_error(verb + " needs " + std::to_string(least >> 20) + " MiB of memory, " +
                             std::to_string(left.bytes >> 20) + " MiB are left " + left.by);
}

constexpr const char* out_of_memory =
    "out of memory; give it more, or fewer kernels, workloads or rows";

std::string in_words(const std::exception& e) {
  constexpr std::string_view needless = "filesystem error: ";
  if (dynamic_cast<const std::bad_alloc*>(&e) != nullptr) return out_of_memory;
  const std::string what = e.what();
  return what.starts_with(needless) ? what.substr(needless.size()) : what;
}

// Memory may also end in a thread, or where nothing may be thrown. No text can be made then.
[[noreturn]] void end_at_once() {
  try {
    if (std::current_exception()) throw;
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "ropewalk: %s\n", out_of_memory);
    _exit(2);
  } catch (...) {
  }
  std::abort();
}

// The folder to which a verb writes; empty: none.
template <class Options>
fs::path folder_of(const Options& options) {
  if constexpr (requires { options.results_file; }) {
    if (!options.out.empty()) return options.out;
    const fs::path file = fs::absolute(options.results_file);  // the report lies beside it
    return fs::exists(file) ? file.parent_path() : "";
  } else if constexpr (requires { options.out; }) {
    return options.out;
  } else {
    return {};
  }
}

// Gives one run the folder to which it writes. Makes the folder if it is missing, and removes it
// again if the run leaves it empty. The lock is the kernel's (flock) and on the folder itself: it
// ends with the process that holds it, even if that is killed, and workers do not inherit it.
// Throws UsageError if another run writes there. If folders cannot be locked (NFS), it prints that
// on standard error and goes on.
class FolderLock {
 public:
  explicit FolderLock(fs::path folder) : folder_(std::move(folder)) {
    if (folder_.empty()) return;
    std::error_code error;
    is_new_ = fs::create_directories(folder_, error);
    if (error)
      throw UsageError("cannot make the folder " + folder_.string() + ": " + error.message());
    lock_.emplace(open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!lock_->is_open()) return;  // a file in its place, of which the verb tells
    if (flock(lock_->number(), LOCK_EX | LOCK_NB) == 0) return;
    if (errno == EWOULDBLOCK)
      throw UsageError(folder_.string() +
                       ": another run writes there; wait until it ends, or give this run a folder "
                       "of its own with --out");
    fmt::print(stderr, "ropewalk: {} cannot be locked ({}): do not let another run write there\n",
               folder_.string(), std::generic_category().message(errno));
  }
  ~FolderLock() {
    std::error_code error;
    if (is_new_) fs::remove(folder_, error);  // removes an empty folder only
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  fs::path folder_;
  bool is_new_ = false;
  std::optional<Descriptor> lock_;
};

void take_targets_of(VerbOptions& options) {
  const std::vector<std::string> beside{"plain", "avx2", "avx512"};
  if (auto* verify = std::get_if<VerifyOptions>(&options)) take_targets(*verify, {}, true);
  if (auto* bench = std::get_if<BenchOptions>(&options)) take_targets(*bench, beside);
  if (auto* run = std::get_if<RunOptions>(&options)) {
    take_targets(run->verify);
    take_targets(run->bench, beside);
  }
}

int run_verb(Parsed& parsed) {
  try {
    take_targets_of(parsed.options);
    return std::visit(
        [&](const auto& options) {
          require_memory(parsed.verb, options);
          const FolderLock folder(folder_of(options));
          return final_exit_code(run(options));
        },
        parsed.options);
  } catch (const std::exception& e) {
    // If nothing can be printed, main reports that once.
    if (output_end() == OutputEnd::written) print_error(in_words(e));
    return dynamic_cast<const BoardLost*>(&e) != nullptr ? 1 : 2;
  }
}

}  // namespace
}  // namespace ropewalk::tools

int main(int argc, char** argv) {
  using namespace ropewalk::tools;
  // Buffers of a few megabytes come and go with every case. Keeping them avoids page faults.
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  // The hidden verb by which a parent starts its workers.
  if (argc > 1 && std::strcmp(argv[1], "worker") == 0) {
    auto arguments = ropewalk::harness::worker_arguments(argc - 2, argv + 2);
    arguments.library = file_beside_command("libropewalk_worker.so");
    ropewalk::harness::worker_main(arguments, timing_handler());
  }
  // And the one by which it starts Python.
  if (argc > 2 && std::strcmp(argv[1], "python") == 0)
    ropewalk::harness::become_kept_program(argv + 2);
  std::set_terminate(end_at_once);
  // A closed pipe and a file size limit must be reported as errors; their signals would kill the
  // process.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  hold_standard_streams();
  seconds_of_command();
  Parsed parsed = parse_command_line(argc, argv);
  if (!parsed.error.empty()) print_error(parsed.error);
  const int code = parsed.run ? run_verb(parsed) : parsed.exit_code;
  switch (output_end()) {
    case OutputEnd::written:
      return code;
    case OutputEnd::reader_left:
      return reader_left;
    case OutputEnd::lost:
      print_error("standard output cannot be written");
  }
  return 2;
}
