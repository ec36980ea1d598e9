// Kernels in an interpreter's language. The interpreter hosts the worker: it loads the worker as a
// library (tools/host/worker_library.cpp), and hands these functions over.
#pragma once
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "kernels/api/rope_kernel.h"

// Plain data, as the interpreter fills it in (python/ropewalk/worker.py).
extern "C" struct ropewalk_script_host {
  /// Runs a file. Returns its kernels, or NULL with one line in `error`.
  const rope_kernel_list* (*load)(const char* file, char* error, std::size_t error_bytes);
  /// The reason of the calling thread's last ROPE_FAILED; or what the function raised in a call
  /// that answered ROPE_OK (raises_at_strides); empty: none. Behind its 0 stands the identifier of
  /// the exception: its type and place. Asking forgets it.
  void (*why)(char* text, std::size_t bytes);
  /// Static text like "python 3.11.7, numpy 2.4.6".
  const char* (*runs_in)(const rope_kernel* kernel);
  /// The first call of a state with these operands: makes the arrays over their memory.
  std::int32_t (*apply)(const rope_problem* p, const rope_operands* o, std::int64_t state_number);
  const void* none;  ///< the object None
  /// Of a state on a device: gathers the rows of all its calls, on their streams. From now on its
  /// calls gather none.
  std::int32_t (*rows)(const void* state);
  /// Adds what the pools of libraries on a device gave out and took of it since the last question.
  void (*took)(std::uint64_t* calls, std::int64_t* bytes);
  /// An empty function on a device. NULL: no file of this process has a kernel there.
  const rope_kernel* (*floor)();
};

namespace ropewalk::harness {

/// NULL in the command itself.
inline const ropewalk_script_host* script_host = nullptr;

/// ": " and the reason of this thread's last failure, and its identifier; empty: none.
struct WhyFailed {
  std::string text, raised;
};
inline WhyFailed why_failed() {
  if (script_host == nullptr) return {};
  char text[480] = "";
  script_host->why(text, sizeof text - 1);
  return {text[0] == 0 ? "" : std::string(": ") + text, text + strlen(text) + 1};
}

/// What a call did whose function raised at strides that no model's tensor has, and did not with
/// contiguous copies: a matter of contract. why_failed() says which exception it was.
inline constexpr std::string_view raises_at_strides =
    "raises where a stride is no multiple of a head's length, or that length is odd";

inline bool is_script(std::string_view file) {
  return file.ends_with(".py");
}

/// The interpreter of scripts, as --python or the user's environment names it.
inline constexpr const char* script_interpreter_variable = "ROPEWALK_PYTHON";
inline std::string script_interpreter() {
  const char* given = std::getenv(script_interpreter_variable);
  return given != nullptr && *given != 0 ? given : "python3";
}

}  // namespace ropewalk::harness
