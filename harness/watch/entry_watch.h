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
#include "harness/watch/heap_guard.h"
#include "harness/watch/kernel_watch.h"
#include "harness/watch/left_running.h"

namespace ropewalk::harness {

class EntryWatch : public KernelWatch {
 public:
  /// `memory` is asked after each entry what the entry left changed.
  EntryWatch(MemorySpace& memory, bool has_driver) : KernelWatch(has_driver), memory_(memory) {}

  /// What the entries did since the last look.
  protocol::Conduct take_conduct() { return std::exchange(conduct_, {}); }
  bool has_conduct() const { return (conduct_.rules | conduct_.has_left | conduct_.waits) != 0; }

  /// Call if an interpreted kernel waits for the device in its calls.
  void note_waits() { conduct_.waits = 1; }
  /// Call if it raises at some strides. Whatever else is unclean goes before it.
  void note_strides(const std::string& text) { note_unclean(protocol::at_strides, text); }

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
  void end_state() {
    if (entered_.empty()) return;
    unwatched_.clear();
    Deeds left;
    left.add_all("one of the entries " + std::exchange(entered_, {}) + " ",
                 process_.other_changes());
    note({}, left);
  }

  /// Call after a failure of another kind. True if the process was left changed as well.
  bool left_changed(bool in_full) const { return !changes("", in_full).empty(); }

 private:
  // A full comparison takes about 20 us, a quick one 3 us. A worker makes a full comparison after
  // the first calls of each entry, which names the culprit. From then on it makes a quick one after
  // prepare, apply and release, and a full one once a state.
  static constexpr int always_in_full = 8;

  static void append(std::string& to, const std::string& text) {
    if (!text.empty()) to += (to.empty() ? "" : "; ") + text;
  }

  // Adds a name to a list of entries. Returns which entry a change is blamed on: "apply", or one of
  // several.
  static std::string add_name(std::string& list, const std::string& name) {
    if (list.find(name) == std::string::npos) list += (list.empty() ? "" : ", ") + name;
    return list == name ? name : "one of the entries " + list;
  }

  // Pure entries and apply must print nothing; prepare and release may print.
  static bool may_print(Entry which) { return which == Entry::prepare || which == Entry::release; }

  void begin(Entry which) {
    if (!has_driver_) begin_heap_guard(entry_name(which));
    if (which == Entry::apply) begin_alone();
  }

  void end(Entry which, bool is_one_call) {
    end_heap_guard();
    end_copy();
    const std::string name = entry_name(which) + std::string(" ");
    Deeds done, left;
    std::uint64_t calls = 0;
    std::int64_t bytes = 0;
    if (which == Entry::apply && !has_driver_) {
      Deeds ran;
      const std::string allocated = end_alone(ran);
      calls = heap_calls();
      bytes = process_.mapped_bytes();
      done.add(ROPE_ALLOCATES, allocated.empty() ? "" : name + allocated);
      done.add_all(name, ran);
    }
    if (has_driver_ && script_host != nullptr) script_host->took(&calls, &bytes);
    if (which == Entry::apply && is_one_call) {
      ++conduct_.applies;
      conduct_.heap_calls += calls;
      conduct_.mapped_bytes += bytes;
    }
    std::string broken = heap_damage();
    if (may_print(which))
      output_.accept();
    else if (const std::string printed = output_.written(); !printed.empty())
      done.add(ROPE_PRINTS, name + printed);
    append(broken, memory_.left_changed());
    const std::string blamed = add_name(unwatched_, entry_name(which)) + " ";
    add_name(entered_, entry_name(which));
    int& compared = compared_in_full_[static_cast<int>(which)];
    const bool in_full = compared < always_in_full;
    const bool pure = which == Entry::supports || which == Entry::workspace_bytes;
    if (in_full || !pure) {
      unwatched_.clear();
      left = changes(blamed, in_full);
    }
    if (in_full) ++compared, entered_.clear();
    note(done, left);
    if (!broken.empty()) throw StepFailed{protocol::Status::failed, name + broken};
    if (may_print(which))
      memory_.wait_for_all(which == Entry::prepare ? "in prepare" : "in release");
  }

  // If an entry ended by an exception, only the exception is reported.
  void quiet() {
    end_heap_guard();
    heap_damage();  // so that the next kernel is not blamed
    end_heap_watch();
    output_.accept();
  }

  // Only the first is told.
  void note_unclean(std::uint32_t rules, const std::string& text) {
    if (conduct_.rules != 0) return;
    conduct_.rules = rules;
    text.copy(conduct_.text, sizeof conduct_.text - 1);
  }

  // What the process was left with is told once, and is usual from then on.
  void note(const Deeds& done, const Deeds& left) {
    std::uint32_t rules = 0;
    std::string text = done.beyond(allowed_, &rules);
    append(text, left.beyond(allowed_, &rules));
    note_unclean(rules, text);
    if (left.empty()) return;
    if (process_.has_lost_wire()) throw StepFailed{protocol::Status::failed, left.beyond(0), true};
    conduct_.has_left = 1;
    process_.accept();
  }

  MemorySpace& memory_;
  protocol::Conduct conduct_;
  int compared_in_full_[entries] = {};
  std::string unwatched_;  // entries run since the last quick comparison
  std::string entered_;    // entries run since the last full comparison
};

}  // namespace ropewalk::harness
