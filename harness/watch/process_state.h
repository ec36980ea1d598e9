// What an entry of a kernel must leave unchanged in the process, and what it must not start.
#pragma once
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/types.h>
#include <unistd.h>

#include <array>
#include <bitset>
#include <clocale>
#include <csignal>
#include <cstdint>
#include <locale>
#include <string>
#include <utility>
#include <vector>

#include "base/system/descriptor.h"
#include "harness/protocol.h"
#include "harness/watch/left_running.h"

namespace ropewalk::harness {

/// How a process is scheduled, which a kernel could change by one call. Each is one number.
inline constexpr std::array trait_names{"nice value", "scheduling policy", "CPU affinity"};

/// What code of a kernel did besides its answer, each with the exceptions (rope_kernel.h) of which
/// one allows it. 0: none does.
class Deeds {
 public:
  /// An empty text is no deed.
  void add(std::uint32_t any_of, const std::string& text) {
    if (!text.empty()) deeds_.emplace_back(any_of, text);
  }
  void add(const std::string& text) { add(0, text); }
  /// Adds those of another, each behind `prefix`.
  void add_all(const std::string& prefix, const Deeds& others) {
    for (const auto& [any_of, text] : others.deeds_) add(any_of, prefix + text);
  }
  bool empty() const { return deeds_.empty(); }

  /// What these exceptions do not allow: "ran another thread; left a child process".
  /// `rules` gets bits of Conduct::rules; NULL: none.
  std::string beyond(std::uint32_t exceptions, std::uint32_t* rules = nullptr) const {
    std::string out;
    for (const auto& [any_of, text] : deeds_) {
      if ((any_of & exceptions) != 0) continue;
      out += (out.empty() ? "" : "; ") + text;
      if (rules != nullptr) *rules |= any_of == 0 ? protocol::leaves_changed : any_of;
    }
    return out;
  }

 private:
  std::vector<std::pair<std::uint32_t, std::string>> deeds_;
};

/// Notes the state of the process, and reports what has changed since. An aspect that the system
/// does not tell (no /proc, an emulator) is left out.
class ProcessState {
 public:
  ProcessState();
  ~ProcessState();
  ProcessState(const ProcessState&) = delete;
  ProcessState& operator=(const ProcessState&) = delete;

  /// Compares signal mask, interval timers, descriptors below 64, locale, directory, umask, threads
  /// and children. Takes about 3 us. A deed is like "left descriptor 7 open". Leaves threads out
  /// where others than the kernels begin some.
  Deeds quick_changes(bool with_threads = true) const;

  /// Compares the rest: handlers of all signals, POSIX timers, higher descriptors, the files of
  /// descriptors 0 to 4, environment, tables of kernels, process_traits(). Takes about 20 us.
  Deeds other_changes() const;

  /// True if descriptors 3 or 4, by which the worker speaks, are not the files that they were.
  bool has_lost_wire() const;

  /// Takes the process as it is now for unchanged, and ends new child processes. The threads that
  /// it runs are the kernel's from now on.
  void accept();

  /// Names the kernel of what follows; NULL: none.
  void about(const rope_kernel* kernel);

  /// Between these calls no thread or process may run and no memory may be mapped, even if it is
  /// gone by the end. Tasks that another loading left running (loader_of) may run.
  void begin_alone();
  Deeds end_alone();
  /// The bytes by which the mapped memory changed in between; 0 if the system does not tell.
  std::int64_t mapped_bytes() const { return mapped_bytes_; }
  /// True if such a task ran since begin_alone(). Its effects look like those of the kernel.
  bool others_ran() const { return others_ran_; }

  /// True in a process that a kernel forked off.
  bool is_copy() const { return getpid() != process_; }

 private:
  struct File {
    dev_t device;
    ino_t inode;
    int flags;  ///< of the open file: O_NONBLOCK, O_APPEND
    bool operator==(const File&) const = default;
  };
  struct Handler {
    void* function;
    int flags;
    bool operator==(const Handler&) const = default;
  };
  struct Usage {
    /// CPU time of all other threads: lower and upper limit
    std::int64_t other_low_ns, other_high_ns;
    std::int64_t children;  ///< page faults and time of those waited for
    std::int64_t pages;     ///< mapped; -1: not known
    std::int64_t threads;
    std::vector<std::int64_t> tasks;  ///< CPU time of each of tasks_; -1: it has ended
  };
  static constexpr int signals = 65, files = 5, descriptors_low = 64, descriptors_all = 1024;

  struct Descriptors {
    std::bitset<descriptors_all> open;
    std::size_t count = 0;  ///< of the descriptors in the range
  };

  void note();
  void end_new_children() const;
  std::int64_t threads() const;
  std::int64_t tasks_alive() const;
  std::vector<std::int64_t> times_of_tasks() const;
  bool left_a_child() const;
  void add_tasks_that_ran(const Usage& now, Deeds& to);
  void wait_for_rest();
  Usage usage() const;
  static Descriptors open_descriptors(int count);
  static std::array<File, files> first_files();
  static std::array<Handler, signals> handlers();
  static std::vector<std::string> environment();
  std::string posix_timers() const;
  int processes_beside() const;

  pid_t process_;
  int task_ = -1;
  KeptFile memory_{"/proc/self/statm"};
  KeptFile posix_timers_file_{"/proc/self/timers"};  ///< only if the system has this file
  KeptFile children_of_keeper_;
  sigset_t mask_;
  std::array<itimerval, 3> timers_;
  std::string locale_, directory_, posix_timers_;
  locale_t thread_locale_;
  std::locale cpp_locale_;
  mode_t umask_;
  std::int64_t threads_ = -1;
  std::vector<Task> tasks_;  ///< left running when kernels were loaded
  std::int64_t tasks_alive_ = 0;
  bool has_children_ = false;
  std::vector<pid_t> children_;
  std::array<std::int64_t, trait_names.size()> traits_;
  bool is_known_to_keep_ = false;  ///< the kernel has left a thread, or says that it does
  Descriptors open_;
  std::array<File, files> files_;
  std::array<Handler, signals> handlers_;
  std::vector<std::string> environment_;
  std::size_t environment_sum_ = 0;
  int beside_ = 0;  ///< processes_beside()
  Usage begun_{};
  const rope_kernel* kernel_ = nullptr;  ///< of about()
  int loader_ = 0;
  std::int64_t mapped_bytes_ = 0;
  bool others_ran_ = false;
  std::int64_t stack_pages_ = 0;
  int grown_ = 0;  ///< number of calls of apply that left more memory mapped
};

}  // namespace ropewalk::harness
