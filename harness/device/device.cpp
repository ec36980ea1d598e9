#include "harness/device/device.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/system/signal_name.h"
#include "harness/device/captured_graph.h"
#include "harness/process/script_host.h"
#include "harness/process/step_failed.h"
#include "harness/process/time_limits.h"
#include "kernels/api/cpu_features.h"

namespace ropewalk::harness {
namespace {

using namespace cuda;

// Initializes the driver in a child process. Returns how the child ended, in words; empty: it
// exited by itself, and the worker may do the same.
std::string trial_failure(const Driver& driver) {
  const pid_t child = fork();
  if (child < 0) return {};
  if (child == 0) {
    driver.Init(0);
    _exit(0);
  }
  constexpr int pause_us = 1000;
  int status = 0;
  for (std::int64_t left = pauses_in(60 * slowness(), pause_us); left > 0; --left) {
    const pid_t ended = waitpid(child, &status, WNOHANG);
    if (ended < 0 && errno != EINTR) return {};
    if (ended == child) {
      if (WIFSIGNALED(status))
        return fmt::format("its cuInit ends the process by {}", signal_name(WTERMSIG(status)));
      return WEXITSTATUS(status) == 0 ? "" : "its cuInit exits the process";
    }
    usleep(pause_us);
  }
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  return "its cuInit does not return";
}

// What a kernel needs and this machine lacks, in words; empty: nothing. A word like sm_80 asks for
// at least that compute capability, and other words for features of the processor.
std::string missing_on(const Device& device, const char* features) {
  std::string_view rest = features != nullptr ? features : "";
  while (!rest.empty()) {
    const std::string_view word = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(word.size() + 1, rest.size()));
    if (word.starts_with("sm_")) {
      int needed = 0;
      const char* const end = word.data() + word.size();
      const auto read = std::from_chars(word.data() + 3, end, needed);
      const bool is_number = read.ec == std::errc{} && read.ptr == end && needed > 0;
      if (!is_number || device.capability() < needed)
        return fmt::format("the device {} is sm_{}, and the kernel needs {}", device.name(),
                           device.capability(), word);
    } else if (const std::string missing = missing_cpu_feature(std::string(word).c_str());
               !missing.empty()) {
      return "this machine has no " + missing;
    }
  }
  return {};
}

}  // namespace

std::unique_ptr<Device> Device::open(std::string& why) {
  // A kernel's code is loaded with its module, so a later call takes no memory for it.
  setenv("CUDA_MODULE_LOADING", "EAGER", 0);
  std::unique_ptr<Device> device(new Device);
  why = load_driver(device->driver_);
  if (!why.empty()) return nullptr;
  if (const std::string trial = trial_failure(device->driver_); !trial.empty()) {
    why = "the CUDA driver is broken: " + trial;
    return nullptr;
  }
  why = device->open_first();
  return why.empty() ? std::move(device) : nullptr;
}

std::string Device::open_first() {
  const Driver& d = driver_;
  int version = 0, count = 0, major = 0, minor = 0;
  DeviceIndex device = 0;
  char name[128] = {}, bus_id[32] = {};
  if (const Result error = d.Init(0); error != success)
    return error == no_device ? "the CUDA driver finds no device"
                              : "the CUDA driver does not start: " + error_text(d, error);
  d.DriverGetVersion(&version);
  if (version < oldest_version)
    return fmt::format("the CUDA driver is too old: it is for CUDA {}.{}, and {}.{} is needed",
                       version / 1000, version % 1000 / 10, oldest_version / 1000,
                       oldest_version % 1000 / 10);
  if (d.DeviceGetCount(&count) != success || count == 0) return "the CUDA driver finds no device";
  const auto fail = [&](Result error) {
    return "the CUDA device cannot be used: " + error_text(d, error);
  };
  Result error = d.DeviceGet(&device, 0);
  if (error == success) error = d.DeviceGetName(name, sizeof name - 1, device);
  if (error == success) error = d.DeviceGetPCIBusId(bus_id, sizeof bus_id - 1, device);
  for (const auto& [attribute, value] : {std::pair{capability_major, &major},
                                         {capability_minor, &minor},
                                         {multiprocessor_count, &multiprocessors_},
                                         {l2_cache_bytes, &l2_bytes_}})
    if (error == success) error = d.DeviceGetAttribute(value, attribute, device);
  if (error != success) return fail(error);
  name_ = name;
  bus_id_ = bus_id;
  capability_ = 10 * major + minor;
  error = d.DevicePrimaryCtxRetain(&context_, device);
  if (error == success) error = d.CtxSetCurrent(context_);
  if (error == success) error = d.StreamCreate(&copies_, stream_non_blocking);
  if (error != success) return fail(error);
  error = d.StreamBeginCapture(copies_, capture_global);
  if (error == success) error = CapturedGraph(d, copies_).ended();
  if (error != success) return "the CUDA driver captures no graphs: " + error_text(d, error);
  health_ = DeviceHealth::open(bus_id_);
  try {
    const DeviceAddress first = allocate(64);
    if (first == 0) return "the CUDA device has no memory left";
    write(first, name, 64);
    release(first);
  } catch (const StepFailed& failure) {
    return failure.text;
  }
  return {};
}

void Device::check(Result result, const char* when) {
  if (result == success) return;
  const std::string text = fmt::format("{} {}{}", error_text(driver_, result), when, why_failed());
  // Only an error that stays ends the context. A capture that is not ended refuses the wait.
  const Result state = driver_.CtxSynchronize();
  if (state != success && state != capture_unsupported) lost_ = true;
  const bool has_room = result != out_of_memory;
  throw StepFailed{has_room ? protocol::Status::failed : protocol::Status::skipped, text, lost_};
}

void Device::make_current() {
  check(driver_.CtxSetCurrent(context_), "while a thread of the suite began");
}

std::string Device::left_changed() {
  ContextHandle current = nullptr;
  if (driver_.CtxGetCurrent(&current) != success || current == context_) return {};
  driver_.CtxSetCurrent(context_);
  return current == nullptr ? "left no CUDA context current" : "left another CUDA context current";
}

DeviceAddress Device::allocate(std::size_t bytes) {
  DeviceAddress address = 0;
  const Result result = driver_.MemAlloc(&address, bytes);
  if (result == out_of_memory) return 0;
  check(result, "while device memory was allocated");
  return address;
}

void Device::release(DeviceAddress address) {
  if (lost_) return;
  driver_.StreamSynchronize(copies_);  // what is queued may be for this memory
  driver_.MemFree(address);
}

std::size_t Device::free_bytes() {
  std::size_t free = 0, total = 0;
  check(driver_.MemGetInfo(&free, &total), "while free device memory was asked");
  return free;
}

bool Device::is_used_by_others() {
  constexpr int looks = 20, pause_us = 10'000;
  const std::size_t first = free_bytes();
  for (int look = 0; look < looks; ++look) {
    usleep(pause_us);
    if (free_bytes() != first) return true;
  }
  return false;
}

void Device::queue_write(DeviceAddress to, const void* from, std::size_t bytes) {
  check(driver_.MemcpyHtoDAsync(to, from, bytes, copies_), "while a buffer was copied in");
}

void Device::queue_fill(DeviceAddress to, unsigned char value, std::size_t bytes) {
  check(driver_.MemsetD8Async(to, value, bytes, copies_), "while a buffer was filled");
}

void Device::write(DeviceAddress to, const void* from, std::size_t bytes) {
  queue_write(to, from, bytes);
  wait_for_queued();
}

void Device::read(void* to, DeviceAddress from, std::size_t bytes) {
  check(driver_.MemcpyDtoHAsync(to, from, bytes, copies_), "while a buffer was copied out");
  wait(copies_, "while a buffer was copied out");
}

void Device::fill(DeviceAddress to, unsigned char value, std::size_t bytes) {
  queue_fill(to, value, bytes);
  wait_for_queued();
}

StreamHandle Device::make_stream() {
  StreamHandle stream = nullptr;
  check(driver_.StreamCreate(&stream, stream_non_blocking), "while a stream was made");
  return stream;
}

void Device::wait(StreamHandle stream, const char* when) {
  check(driver_.StreamSynchronize(stream), when);
}

void Device::wait_for_all(const char* when) {
  check(driver_.CtxSynchronize(), when);
}

std::unique_ptr<Device> open_device_for(std::vector<LoadedKernel>& kernels) {
  const auto needs_one = [](const LoadedKernel& k) { return k.kernel->memory == ROPE_CUDA; };
  if (std::none_of(kernels.begin(), kernels.end(), needs_one)) return nullptr;
  std::string why;
  std::unique_ptr<Device> device = Device::open(why);
  for (LoadedKernel& k : kernels)
    if (needs_one(k))
      k.cannot_run = device == nullptr ? why : missing_on(*device, k.kernel->cpu_features);
  return device;
}

}  // namespace ropewalk::harness
