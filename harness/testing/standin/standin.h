// A stand-in for the CUDA driver, so that the device path of the worker is judged on a machine
// without a device. standin_api.cpp has the functions of harness/device/device.h, and
// cuLaunchHostFunc, by which the kernels of the tests put their work on a stream. Those in Python
// do it by ropewalk_standin_launch (python/ropewalk/on_device.py). standin_modules.cpp has modules,
// whose functions are functions of the host. nvml.cpp has clocks.
//
// - Device memory is host memory between forbidden pages. It can be touched only while work of a
//   stream runs, so an entry that reads it is a fault.
// - A stream runs nothing before somebody waits for it, so work that was forgotten stays undone.
//   With the word runs_ahead a wait runs the work of the other streams first, as a device with room
//   does. A device on which a fill or a write of a MiB lies is busy, and has no room.
// - A fault in the work of a stream is the error of an illegal address, which stays.
// - An event has the time of the host's clock at which its stream reached it.
//
// ROPEWALK_STANDIN in the environment is a list of words, separated by commas: no_device,
// old_driver, dies_in_init, exits_in_init, vanishes=N (after N waits), memory=BYTES, capability=75,
// l2=BYTES, multiprocessors=N, no_graphs (no capture begins), cannot_capture (a capture is spoiled
// by all that is put on its stream), captures_no_functions (by what kernels put there), runs_ahead.
#pragma once
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string_view>
#include <vector>

namespace ropewalk::standin {

using Address = unsigned long long;

inline constexpr const char* bus_id_of_device = "0000:07:00.0";

struct Stream;

// When a stream reached an event.
struct Moment {
  bool is_reached = false;
  std::chrono::steady_clock::time_point at;
};

// What a stream runs. What a kernel put there may touch all blocks. A copy has no function and
// touches `bytes` of one block. Work that waits for an event runs what lies on another stream
// before the event.
struct Work {
  std::function<void()> function;
  std::function<void(std::byte*)> copy = nullptr;
  Address device = 0;
  std::size_t bytes = 0;
  std::shared_ptr<const Moment> awaited = nullptr;
  Stream* other = nullptr;
  std::shared_ptr<Moment> reached = nullptr;
  bool allocates = false, is_of_kernel = false;
  std::shared_ptr<const std::vector<Work>> graph = nullptr;  ///< of a launch: all that it runs
};

// The work of a stream that is captured, and of streams that were forked from it.
struct Capture {
  std::vector<Work> work;
  bool is_spoiled = false;
  std::set<const Stream*> unjoined;
};

enum StandInAnswer : int {
  success = 0,
  invalid_value = 1,
  out_of_memory = 2,
  no_device = 100,
  invalid_handle = 400,
  not_found = 500,
  not_ready = 600,
  illegal_address = 700,
  launch_failed = 719,
  not_supported = 801,
  capture_unsupported = 900,
  capture_invalidated = 901,
  capture_unjoined = 904,
  captured_event = 907,
  unknown = 999
};

// Whole pages between two forbidden ones. The driver copies through a view of its own, so only what
// a kernel runs opens the pages.
struct StandInBlock {
  std::byte *begin, *own_view;
  std::size_t bytes, asked;
  bool is_open = false;
};

struct Stream {
  std::list<Work> work;
  std::shared_ptr<Capture> capture;
  bool is_running = false;  ///< a thread runs its work; others that wait for the stream wait
};

struct Event {
  Stream* stream = nullptr;
  std::shared_ptr<Moment> moment;
  std::shared_ptr<Capture> capture;
};

struct Graph {
  std::shared_ptr<const std::vector<Work>> work;
};

struct Context {
  int unused = 0;
};

// Everything is reached under one lock. The lock is given up while work runs, since work of
// several streams may run at once.
struct StandIn {
  std::mutex lock;
  std::map<Address, StandInBlock> blocks;
  std::size_t used = 0;
  std::list<Stream> streams;
  Stream legacy;
  Context context;
  int running = 0;
  StandInAnswer sticky = success;
  std::size_t waits = 0;
  std::condition_variable ended;  ///< a thread has run the work of a stream
  struct sigaction before_segv {
  }, before_bus{};
};

StandIn& stand_in();

/// The value of a word in ROPEWALK_STANDIN, or "" if the word stands alone, or NULL. It holds until
/// the variable has changed.
const char* setting(std::string_view word);
std::size_t number(std::string_view word, std::size_t otherwise);
std::size_t page();

/// NULL, 1 and 2 name default streams.
Stream& stream_of(Stream* stream);
/// Puts work on a stream, or into what is captured of it.
StandInAnswer put(Stream* on, Work work);
/// The same for a copy. Refuses an address that no block has.
StandInAnswer put_copy(Stream* stream, Address device, std::size_t bytes,
                       std::function<void(std::byte*)> copy);
/// Runs what lies on a stream, or until an event is reached. `held` is given up while work runs.
StandInAnswer drain(std::unique_lock<std::mutex>& held, Stream& stream,
                    const Moment* until = nullptr);
/// With the word runs_ahead, runs what lies on all other streams, unless the device is busy.
void run_ahead(std::unique_lock<std::mutex>& held, const Stream& awaited);
/// What must not be called while a stream is captured spoils the capture. True if there is one.
bool spoils_a_capture();
/// Why nobody can wait now.
StandInAnswer begin_wait();

}  // namespace ropewalk::standin
