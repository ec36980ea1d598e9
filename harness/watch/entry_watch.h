// Holds the entries of a kernel to what the contract asks of them besides their answer: registers,
// the floating-point unit, the process, the heap, the output.
#pragma once
#include <exception>
#include <string>
#include <type_traits>
#include <utility>

#include "harness/process/float_state.h"
#include "harness/protocol.h"
#include "harness/watch/callee_saved.h"
#include "harness/watch/left_running.h"
#include "harness/watch/output_watch.h"
#include "harness/watch/process_state.h"

namespace ropewalk::harness {

struct StepFailed {
  protocol::Status status;
  std::string text;
  bool worker_is_spoiled = false;  ///< the next kernel would pay for it: replace the worker
};

enum class Entry { supports, workspace_bytes, prepare, apply, release };
inline constexpr int entries = 5;
const char* entry_name(Entry entry);

/// Calls an entry, and fails it where this thread's registers or floating-point unit are not left
/// as they were. For any thread.
template <class R, class... A>
R enter_on_thread(Entry which, R (*entry)(A...), std::type_identity_t<A>... arguments) {
  const FloatState before = FloatState::now();
  CalleeSaved registers{};
  const auto check = [&] {
    const FloatState after = FloatState::now();
    std::string changed = changed_registers(registers);
    if (after != before) {
      before.restore();
      changed += std::string(changed.empty() ? "" : "; ") +
                 "left the floating-point environment changed: " + before.text() + " became " +
                 after.text();
    }
    if (!changed.empty())
      throw StepFailed{protocol::Status::failed, entry_name(which) + (" " + changed)};
  };
  try {
    if constexpr (std::is_void_v<R>) {
      call_watched<R, A...>(registers, entry, arguments...);
      check();
    } else {
      const R answer = call_watched<R, A...>(registers, entry, arguments...);
      check();
      return answer;
    }
  } catch (...) {
    before.restore();
    throw;
  }
}

class EntryWatch {
 public:
  /// Notes how the process is: what constructors of plugins did is no entry's doing.
  EntryWatch() = default;

  /// The next entries are this kernel's.
  void about(const rope_kernel& kernel) { loader_ = loader_of(&kernel); }

  /// What was printed since the last entry is none's: a library that times says something.
  void accept_output() { output_.accept(); }

  /// Calls an entry alone in the process and throws StepFailed when it leaves something changed.
  template <class R, class... A>
  R enter(Entry which, R (*entry)(A...), std::type_identity_t<A>... arguments) {
    begin(which);
    try {
      if constexpr (std::is_void_v<R>) {
        enter_on_thread(which, entry, arguments...);
        end(which);
      } else {
        const R answer = enter_on_thread(which, entry, arguments...);
        end(which);
        return answer;
      }
    } catch (...) {
      quiet();
      throw;
    }
  }

  /// The same around code that calls an entry many times, and does nothing else that is watched.
  template <class Code>
  void around(Entry which, Code&& code) {
    begin(which);
    try {
      code();
      end(which);
    } catch (...) {
      quiet();
      throw;
    }
  }

  /// After release: what is too dear to compare after each entry. Throws StepFailed.
  void end_state();

  /// After a failure of another kind: whether anything was left changed as well.
  bool left_changed(bool in_full) const;

 private:
  void begin(Entry which);
  void end(Entry which);
  void quiet();

  ProcessState process_;
  OutputWatch output_;
  int loader_ = 0;
  int compared_in_full_[entries] = {};
  std::string unwatched_;  // entered since what is quick was compared
  std::string entered_;    // since all was compared
};

}  // namespace ropewalk::harness
