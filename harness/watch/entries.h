// Calls the entries of a kernel, and holds each to what the contract demands of its thread. Whoever
// calls a kernel, to verify or to time it, does so here.
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
#include "harness/watch/callee_saved.h"
#include "kernels/api/rope_kernel.h"

namespace ropewalk::harness {

enum class Entry { supports, workspace_bytes, prepare, apply, release };
inline constexpr int entries = 5;
const char* entry_name(Entry entry);

/// Throws StepFailed: the entry did `what`.
[[noreturn]] inline void entry_failed(Entry which, const std::string& what) {
  throw StepFailed{protocol::Status::failed, entry_name(which) + (" " + what)};
}
/// Throws StepFailed unless the entry answered ROPE_OK.
inline void hold_answer(Entry which, std::int32_t answer) {
  if (answer != ROPE_OK) entry_failed(which, "answered " + std::to_string(answer) + why_failed());
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
