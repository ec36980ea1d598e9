// The frame of a kernel of a device: the state, the work on a stream, and hooks for what a mutant
// does otherwise. It needs the functions of a driver, which the stand-in has.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>

#include "properties/mutants/planted.h"

extern "C" {  // NOLINTBEGIN: the names are the driver's
int cuLaunchHostFunc(void* stream, void (*function)(void*), void* data);
int cuStreamCreate(void** stream, unsigned flags);
int cuStreamSynchronize(void* stream);
int cuStreamIsCapturing(void* stream, int* is_capturing);
int cuMemAlloc_v2(unsigned long long* address, std::size_t bytes);
int cuMemFree_v2(unsigned long long address);
int cuMemAllocAsync(unsigned long long* address, std::size_t bytes, void* stream);
int cuMemFreeAsync(unsigned long long address, void* stream);
int cuCtxSetCurrent(void* context);
int cuEventCreate(void** event, unsigned flags);
int cuEventDestroy_v2(void* event);
int cuEventRecord(void* event, void* stream);
int cuStreamWaitEvent(void* stream, void* event, unsigned flags);
}  // NOLINTEND

namespace ropewalk::mutants {

inline void* pointer_of(unsigned long long address) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the driver's addresses are integers
  return reinterpret_cast<void*>(address);
}

/// A state keeps what its calls put on a stream until release, as a captured call may be launched
/// again.
struct Launched {
  void (*run)(const Launched&);
  rope_problem problem;
  rope_operands operands;
  void* kept;        ///< what prepare kept
  rope_axes axes{};  ///< a copy of the chain's, which may move
};

struct DeviceState {
  std::mutex lock;
  std::deque<Launched> calls;
  void* own_stream = nullptr;
  void* events[2] = {};
  void* kept = nullptr;
};

/// The hooks of an entry, each with the correct behaviour. They are static: the body runs later,
/// and what it needs is in Launched.
struct CorrectDevice {
  static int prepare(const rope_problem&, DeviceState&) { return ROPE_OK; }
  static void release(DeviceState&) {}
  /// Runs in apply, before the work is put on the stream.
  static int before(const rope_problem&, const rope_operands&, DeviceState&) { return ROPE_OK; }
  static void* stream(const rope_operands& o, DeviceState&) { return o.stream; }
  static void body(const Launched& call) {
    Correct hooks;
    run(hooks, call.problem, call.operands);
  }
};

inline void run_launched(void* data) {
  const auto& call = *static_cast<const Launched*>(data);
  call.run(call);
}

/// Puts a call on a stream. Returns the driver's answer.
inline int put_on(void* stream, const Launched& call, DeviceState& state) {
  Launched* kept = nullptr;
  {
    const std::lock_guard held(state.lock);
    kept = &state.calls.emplace_back(call);
    if (const rope_axes* axes = axes_of(call.problem); axes != nullptr) kept->axes = *axes;
    if (kept->axes.axes != 0) kept->problem.next = &kept->axes.ext;
  }
  return cuLaunchHostFunc(stream, run_launched, kept);
}

template <class Hooks>
std::int32_t prepare_on_device(const rope_problem* p, void** state) {
  auto* made = new DeviceState;
  *state = made;
  return Hooks::prepare(*p, *made);
}

template <class Hooks>
void release_on_device(void* state) {
  auto* made = static_cast<DeviceState*>(state);
  Hooks::release(*made);
  delete made;
}

template <class Hooks>
std::int32_t apply_on_device(const rope_problem* p, const rope_operands* o, void* state) {
  auto& made = *static_cast<DeviceState*>(state);
  if (Hooks::before(*p, *o, made) != ROPE_OK) return ROPE_FAILED;
  const Launched call{Hooks::body, *p, *o, made.kept};
  return put_on(Hooks::stream(*o, made), call, made) == 0 ? ROPE_OK : ROPE_FAILED;
}

/// The description of a kernel of a device with these hooks.
template <class Hooks>
KernelInfo device_info(const char* name) {
  KernelInfo info = info_of<Correct>(name);
  info.memory = ROPE_CUDA;
  info.workspace_bytes = nullptr;
  info.prepare = prepare_on_device<Hooks>;
  info.apply = apply_on_device<Hooks>;
  info.release = release_on_device<Hooks>;
  return info;
}

template <class Hooks>
RegisteredKernel on_device(const char* name, std::uint32_t more_flags = 0,
                           const char* cpu_features = nullptr) {
  KernelInfo info = device_info<Hooks>(name);
  info.cpu_features = cpu_features;
  info.flags |= more_flags;
  return RegisteredKernel(info);
}

// One hook each: what apply does before the work is put on the stream, and what the work does after
// it has turned everything.
template <class F>
struct Before : CorrectDevice {
  static int before(const rope_problem&, const rope_operands& o, DeviceState& state) {
    return F{}(o, state);
  }
};
template <class F>
struct After : CorrectDevice {
  static void body(const Launched& call) {
    CorrectDevice::body(call);
    F{}(call);
  }
};
template <template <class> class Hook, class F>
RegisteredKernel on_device(const char* name, F, std::uint32_t more_flags = 0) {
  return on_device<Hook<F>>(name, more_flags);
}

}  // namespace ropewalk::mutants
