// What a parent and its worker say to each other. Kernels, plugins included, run in the worker, a
// process of its own: `ropewalk worker --cpu-features LIST [--plugin FILE]... [--device cuda]`, or
// the program that ROPEWALK_WORKER in the environment names, as an emulator's wrapper. The parent
// makes the cases, keeps the oracle and compares. It never loads a plugin, not even to list it.
//
// The worker's descriptors: 0 is /dev/null; 1 and 2 are memfds that keep what kernels print; 3 is
// one end of a SOCK_SEQPACKET socket, which carries Request and Reply; 4 is a memfd with everything
// large: a control page, a call descriptor, then the buffers. It cannot shrink, so that reading it
// cannot fault. Each worker has its own.
//
// The parent never has two requests under way. It takes only packets of the exact size and version,
// cuts texts at their field, and shows them as one escaped line. It reads Control only to word a
// message, to choose a time limit (time_limits.h), and to ask how long the worker ran. Inputs and
// expected values are in its own memory, and outputs are copied out of the shared memory once. So
// no accident of a kernel ends or misleads it; a kernel may forge an answer on purpose
// (SECURITY.md).
//
// What is seen: a signal, an exit, a closed socket or a foreign packet is a CRASH; a passed limit
// is a HANG; a grown memfd or a failed step is a FAIL. Trouble in the first load is no verdict: one
// line names the plugin, exit code 2.
#pragma once
#include <cstdint>
#include <cstring>
#include <string>

#include "kernels/api/rope_kernel.h"

namespace ropewalk::harness::protocol {

inline constexpr std::uint32_t version = 15;
inline constexpr int socket_descriptor = 3, memory_descriptor = 4;

/// The exit code of a worker that cannot send its answer.
inline constexpr int exit_unheard = 86;

/// The longest text that answers `time`, in bytes. Lines of a results file have the same limit.
inline constexpr std::size_t timed_text_most = std::size_t{16} << 20;

/// Byte offsets in the memfd.
inline constexpr std::uint64_t control_offset = 0, call_offset = 8192, buffers_offset = 131072;

enum class Command : std::uint32_t {
  hello = 1,  ///< answered once the plugins are loaded: Reply.kernels, or status failed
  list = 2,   ///< asks about Request.kernel; answered by KernelEntry
  call = 3,   ///< runs Request.steps of the CallDescriptor (call/descriptor.h) at call_offset with
              ///< Request.kernel
  /// The board is a text of Request.text_bytes at buffers_offset. Answered by TimedRow, then Reply.
  time = 4,
};

inline constexpr double repeat_limit_s = 2;

/// Steps of a call, in this order. A call with `prepare` begins a new state, and `release` ends the
/// state.
/// With step_repeat, `callers` descriptors follow, each of a prepared state. Each caller applies
/// its descriptor alone, then all apply theirs at once, again and again. Every call must give the
/// bits of the first. Reply.repeated is the number of calls made (one caller, in repeat_limit_s of
/// its thread's processor time), or of calls that overlapped another call.
/// With step_supports alone, `callers` problems may follow. They are asked about in turn until one
/// is answered otherwise than with the refusal sent last. Reply.repeated is the index of that one.
/// With `keep_mapped`, all regions stay mapped for the next call. Without it only small regions may
/// stay, since mapping costs more than a small call. A write to an address that the kernel kept
/// then shows as a changed buffer, or as elements that were not written.
enum Step : std::uint32_t {
  step_supports = 1,
  step_prepare = 2,
  step_apply = 4,
  step_release = 8,
  step_repeat = 16,
  step_keep_mapped = 32
};

struct Request {
  std::uint32_t version = protocol::version;
  Command command = Command::hello;
  std::uint32_t kernel = 0;      ///< for list and call: the kernel's index
  std::uint32_t steps = 0;       ///< for call: values of Step, or-ed
  std::uint64_t text_bytes = 0;  ///< for time: the length of the board
};

/// The first fields of every packet that a worker sends.
struct AnswerHead {
  std::uint32_t version, about;  ///< each packet type names `about` differently
};

enum class Status : std::uint32_t {
  ok = 0,           ///< every step answered ROPE_OK
  unsupported = 1,  ///< supports answered ROPE_UNSUPPORTED: `text` is the reason
  /// a step answered something else, or broke a clause the worker checks; see `text`
  failed = 2,
  skipped = 3,  ///< the worker cannot do it here (workspace too large, ...); see `text`
};

/// Rules without an exception: to leave the process as it was, and to raise at no strides.
inline constexpr std::uint32_t leaves_changed = 1U << 30, at_strides = 1U << 31;

/// What the entries of a call did to the process besides their answers.
struct Conduct {
  std::uint32_t rules;        ///< broken ones, which neither the kernel nor the command line
                              ///< excepts: exceptions of rope_kernel.h and the above; 0: none
  std::uint32_t has_left;     ///< 1: the process is not as it was, in a way that stays
  std::uint64_t applies;      ///< calls of apply that the next two count
  std::uint64_t heap_calls;   ///< calls of the allocator
  std::int64_t mapped_bytes;  ///< by which the mapped memory grew
  std::uint32_t waits;        ///< 1: an interpreted call waits for the device, so it is in no graph
  char text[224];             ///< what is unclean, in words
};

struct Reply {
  std::uint32_t version = protocol::version;
  Status status = Status::ok;
  std::uint64_t repeated = 0;             ///< for step_repeat and step_supports, see Step
  std::uint32_t kernels = 0;              ///< for hello: the number of kernels
  std::uint32_t exit_code = 0;            ///< for time
  std::uint32_t is_spoiled = 0;           ///< for call that failed: 1 asks for a new worker
  char text[484] = {}, raised[128] = {};  ///< raised: the identifier of an entry's exception
  Conduct conduct{};                      ///< for call
};

/// One kernel of the worker. Strings are cut to fit and end with 0.
struct KernelEntry {
  std::uint32_t version, kernel;
  char name[64], summary[160], source[160], cpu_features[128];
  char plugin[256];      ///< as given to --plugin; empty for an in-tree kernel
  char cannot_run[256];  ///< why it cannot run on this machine; empty when it can
  /// the device that the worker opened for it, or the interpreter that runs it; else empty
  char device[128];
  std::int32_t memory, angle_contract;
  std::uint32_t flags, extensions;
  double error_bound;
  std::uint32_t exceptions, reads_past;  ///< exceptions: those tolerated included
  std::uint32_t tolerated;               ///< exceptions that the kernel does not declare
};

/// The content of a TimedRow.
enum class Timed : std::uint32_t {
  row = 0,     ///< a timing row as JSON
  end = 1,     ///< nothing: the board has ended, and the Reply follows
  shown = 2,   ///< text of the benchmark library for the user
  remark = 3,  ///< the same for standard error
};

/// Sent while a board runs. A text too long for one packet continues in the next.
struct TimedRow {
  std::uint32_t version, bytes;  ///< bytes: length of the text from here to its end
  std::uint32_t kind;            ///< Timed
  char text[32768];
};

/// The place of a buffer. `mapped_bytes` (whole pages) at `file_offset` are mapped between two
/// guards that cannot be touched. The pointer lies `at` bytes behind the first mapped byte. Regions
/// with the same place and permission are one mapping.
struct Region {
  std::uint64_t file_offset, mapped_bytes, at;
  std::uint32_t writable, reserved;
};

/// The most operands of a call, without the workspace.
inline constexpr std::uint32_t most_operands = 32;
inline constexpr std::uint32_t most_states = 32, most_callers = 4, most_questions = 32;

/// The rope_problem and rope_operands that a kernel is shown: those of the header, or longer ones,
/// as a later version of the header may have. step_repeat shows those of the header.
enum Growth : std::uint32_t {
  as_in_header = 0,
  zeros_behind = 1,  ///< the fields behind those of the header say "as before"
  values_behind = 2  ///< they ask for something that this version does not know
};

/// What the worker is doing. The parent reads it when a call takes too long or the worker is gone.
enum class Phase : std::uint32_t {
  idle,
  loading,
  listing,
  supports,
  workspace,
  prepare,
  apply,
  release,
  timing,
  supports_without_reason,
  copying  ///< the worker copies buffers to a device or from it
};

struct MappedRegion {
  /// Address in the worker and length in bytes, without the guards. Those of the workspace, and of
  /// what a problem points to, are exact to the byte.
  std::uint64_t begin, bytes;
};

struct Control {
  std::uint32_t version, phase;
  char now_running[128];         ///< the plugin being loaded, or the benchmark being timed
  std::uint32_t fault_signal;    ///< 0: none yet
  std::uint32_t fault_is_write;  ///< for SIGSEGV, if the machine tells
  std::uint64_t fault_address;
  /// By operand of the call, in the order of its descriptor; the workspace is the last.
  MappedRegion mapped[most_operands + 1];
  char last_words[256];      ///< the answer that a worker could not send before it exited
  std::uint32_t worker;      ///< the process that runs kernels; 0: the started process does
  std::uint32_t stopped_by;  ///< the signal that stopped the worker; 0: none
  std::uint32_t question;    ///< the index of the problem that supports is asked about
};
static_assert(sizeof(Control) <= call_offset - control_offset);

/// Reads a text field that another process wrote.
template <std::size_t N>
std::string text_of(const char (&field)[N]) {
  return std::string(field, strnlen(field, N));
}

}  // namespace ropewalk::harness::protocol
