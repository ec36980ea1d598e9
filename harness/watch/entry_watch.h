// Holds the entries of a kernel to what the contract demands besides their answer. Registers, the
// floating-point unit and the memory of others must stay unchanged. What an entry allocates, runs
// and prints, and what it leaves changed in the process, is noted: it makes no result wrong.
#pragma once
#include <string>
#include <type_traits>
#include <utility>

#include "harness/process/writable_memory.h"
#include "harness/protocol.h"
#include "harness/watch/entries.h"
#include "harness/watch/left_running.h"
#include "harness/watch/output_watch.h"
#include "harness/watch/process_state.h"

namespace ropewalk::harness {

class EntryWatch {
 public:
  /// Notes the state of the process now: changes by the constructors of plugins are not blamed on
  /// an entry.
  /// `memory` is asked after each entry what the entry left changed. With a driver in the process,
  /// its threads, mappings and calls of the allocator are not the kernel's, and are not watched.
  EntryWatch(MemorySpace& memory, bool has_driver) : memory_(memory), has_driver_(has_driver) {}

  /// Names the kernel of the entries that follow.
  void about(const rope_kernel& kernel) {
    kernel_ = &kernel;
    process_.about(&kernel);
  }

  /// What the entries did since the last look.
  protocol::Conduct take_conduct() { return std::exchange(conduct_, {}); }
  bool has_conduct() const {
    return (conduct_.is_unclean | conduct_.has_left | conduct_.waits) != 0;
  }

  /// Call if an interpreted kernel waits for the device in its calls.
  void note_waits() { conduct_.waits = 1; }
  /// Call if it raises at some strides. Whatever else is unclean goes before it.
  void note_strides(const std::string& text) {
    if (conduct_.is_unclean == 0) text.copy(conduct_.text, sizeof conduct_.text - 1);
    conduct_.is_unclean = 1;
  }

  /// Accepts output printed since the last entry: it is not an entry's. A benchmark library, for
  /// example, prints.
  void accept_output() { output_.accept(); }

  /// Calls an entry while the process runs nothing else, and notes its conduct. Throws StepFailed
  /// if the entry wrote where it must not.
  template <class R, class... A>
  R enter(Entry which, R (*entry)(A...), std::type_identity_t<A>... arguments) {
    if constexpr (std::is_void_v<R>) {
      around(
          which, [&] { enter_on_thread(which, entry, arguments...); }, true);
    } else {
      R answer{};
      around(
          which, [&] { answer = enter_on_thread(which, entry, arguments...); }, true);
      return answer;
    }
  }

  /// The same around code that calls an entry many times and changes nothing else that is watched.
  template <class Code>
  void around(Entry which, Code&& code, bool is_one_call = false) {
    begin(which);
    try {
      code();
      end(which, is_one_call);
    } catch (...) {
      quiet();
      throw;
    }
  }

  /// Call after release. Compares what takes too long to compare after each entry.
  void end_state();

  /// Call after a failure of another kind. True if the process was left changed as well.
  bool left_changed(bool in_full) const;

 private:
  void begin(Entry which);
  void end(Entry which, bool is_one_call);
  void quiet();
  void note(const Deeds& done, const Deeds& left);

  MemorySpace& memory_;
  bool has_driver_;
  ProcessState process_;
  OutputWatch output_;
  const rope_kernel* kernel_ = nullptr;
  protocol::Conduct conduct_;
  int compared_in_full_[entries] = {};
  std::string unwatched_;  // entries run since the last quick comparison
  std::string entered_;    // entries run since the last full comparison
};

}  // namespace ropewalk::harness
