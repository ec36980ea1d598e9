// Calls the entries of a kernel, and holds each to what the contract demands of its thread. Each
// call of a kernel, to verify or to time it, is made here.
#pragma once
#include <cxxabi.h>

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <type_traits>

#include "base/printable.h"
#include "harness/process/float_state.h"
#include "harness/process/script_host.h"
#include "harness/process/step_failed.h"
#include "kernels/api/rope_kernel.h"

namespace ropewalk::harness {

// Calls a function pointer in assembly, to compare the registers that belong to the caller before
// and after. Compiled code around the call would save and restore these registers, and hide a
// change.

/// What a called function left in the registers that it must keep: on x86-64 rbx, rbp, r12 to r15
/// and the direction flag. On other processors no register is compared.
struct CalleeSaved {
  std::uint64_t registers[6];
  std::uint64_t flags;
};

#if defined(__x86_64__)

extern "C" std::uint64_t ropewalk_call_watched(const void* entry, std::uint64_t a, std::uint64_t b,
                                               std::uint64_t c, CalleeSaved* after);

/// What changed, in words; empty if nothing did.
std::string changed_registers(const CalleeSaved& after);

/// Calls `entry`. All its arguments are pointers, three at most.
template <class R, class... A>
R call_watched(CalleeSaved& after, R (*entry)(A...), A... arguments) {
  static_assert(sizeof...(A) <= 3 && (std::is_pointer_v<A> && ...));
  static_assert(std::is_void_v<R> || std::is_integral_v<R>);
  std::uint64_t words[3] = {};
  std::size_t next = 0;
  ((words[next++] = reinterpret_cast<std::uint64_t>(arguments)), ...);
  const std::uint64_t result = ropewalk_call_watched(reinterpret_cast<const void*>(entry), words[0],
                                                     words[1], words[2], &after);
  if constexpr (!std::is_void_v<R>) return static_cast<R>(result);
}

#else

inline std::string changed_registers(const CalleeSaved&) {
  return {};
}

template <class R, class... A>
R call_watched(CalleeSaved&, R (*entry)(A...), A... arguments) {
  return entry(arguments...);
}

#endif

enum class Entry { supports, workspace_bytes, prepare, apply, release };
inline constexpr int entries = 5;
inline const char* entry_name(Entry entry) {
  constexpr const char* names[entries] = {"supports", "workspace_bytes", "prepare", "apply",
                                          "release"};
  return names[static_cast<int>(entry)];
}

/// Throws StepFailed: the entry did `what`.
[[noreturn]] inline void entry_failed(Entry which, const std::string& what,
                                      const std::string& raised = {}) {
  throw StepFailed{protocol::Status::failed, entry_name(which) + (" " + what), false, raised};
}
/// Throws StepFailed unless the entry answered ROPE_OK.
inline void hold_answer(Entry which, std::int32_t answer) {
  if (answer == ROPE_OK) return;
  const WhyFailed why = why_failed();
  entry_failed(which, "answered " + std::to_string(answer) + why.text, why.raised);
}

/// Runs code that calls an entry, once or many times. Throws StepFailed if that left this thread's
/// floating-point unit changed, or the registers that `others` names.
template <class Code>
void hold_thread(Entry which, Code&& code, const CalleeSaved* others = nullptr) {
  const FloatState before = FloatState::now();
  try {
    code();
    std::string changed = others == nullptr ? "" : changed_registers(*others);
    if (const FloatState after = FloatState::now(); after != before) {
      before.restore();
      changed += std::string(changed.empty() ? "" : "; ") +
                 "left the floating-point environment changed: " + before.text() + " became " +
                 after.text();
    }
    if (!changed.empty()) entry_failed(which, changed);
  } catch (...) {
    before.restore();
    throw;
  }
}

/// Calls an entry. Throws StepFailed if it changed this thread's registers or floating-point unit.
/// Any thread may call this.
template <class R, class... A>
R enter_on_thread(Entry which, R (*entry)(A...), std::type_identity_t<A>... arguments) {
  CalleeSaved registers{};
  const auto call = [&] { return call_watched<R, A...>(registers, entry, arguments...); };
  if constexpr (std::is_void_v<R>) {
    hold_thread(which, call, &registers);
  } else {
    R answer{};
    hold_thread(
        which, [&] { answer = call(); }, &registers);
    return answer;
  }
}

/// Runs code in which entries are called. Returns what failed: a StepFailed, or an exception that
/// left a kernel.
template <class Code>
std::optional<StepFailed> failure_of(Code&& code) {
  try {
    code();
    return {};
  } catch (const StepFailed& failed) {
    return failed;
  } catch (const abi::__forced_unwind&) {  // must be rethrown
    throw;
  } catch (const std::exception& e) {
    return StepFailed{protocol::Status::failed,
                      "an exception left the kernel: " + printable_start(e.what(), 400)};
  } catch (...) {
    return StepFailed{protocol::Status::failed, "an exception left the kernel"};
  }
}

}  // namespace ropewalk::harness
