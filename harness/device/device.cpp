#include "harness/device/device.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/preprocessor/seq/for_each.hpp>
#include <boost/preprocessor/stringize.hpp>
#include <boost/preprocessor/variadic/to_seq.hpp>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/system/signal_name.h"
#include "harness/process/script_host.h"
#include "harness/process/time_limits.h"
#include "kernels/api/cpu_features.h"

namespace ropewalk::harness {
namespace {

using namespace cuda;

constexpr const char* timed = "while work was timed";

// Fills the members of `d` from the library. Returns the first symbol that is missing.
std::string find_all(void* library, Driver& d) {
  std::string missing;
  const auto find = [&]<class Function>(Function*& function, const char* symbol) {
    function = reinterpret_cast<Function*>(dlsym(library, symbol));
    if (function == nullptr && missing.empty()) missing = symbol;
  };
#define FIND(r, ending, name) find(d.name, "cu" BOOST_PP_STRINGIZE(name) ending);
#define FIND_ALL(ending, ...) \
  BOOST_PP_SEQ_FOR_EACH(FIND, ending, BOOST_PP_VARIADIC_TO_SEQ(__VA_ARGS__))
  FIND_ALL("", Init, DriverGetVersion, DeviceGetCount, DeviceGet, DeviceGetName, DeviceGetPCIBusId,
           DeviceGetAttribute, DevicePrimaryCtxRetain, CtxSetCurrent, CtxGetCurrent, CtxSynchronize,
           MemsetD8Async, StreamCreate, StreamSynchronize, StreamQuery, EventCreate, EventRecord,
           EventSynchronize, EventElapsedTime, ModuleLoadDataEx, ModuleGetFunction, ModuleUnload,
           LaunchKernel, StreamEndCapture, GraphGetNodes, GraphNodeGetType,
           GraphInstantiateWithFlags, GraphUpload, GraphLaunch, GraphExecDestroy, GraphDestroy,
           GetErrorString)
  FIND_ALL("_v2", MemAlloc, MemFree, MemGetInfo, MemcpyHtoDAsync, MemcpyDtoHAsync, MemcpyDtoDAsync,
           EventDestroy, StreamBeginCapture)
  return missing;
}

constexpr int sm_clock = 1;  // nvmlClockType_t

// Calls a function of the library. Returns false if there is none or if it fails.
template <class... Arguments>
bool call(void* library, const char* name, Arguments... arguments) {
  if (library == nullptr) return false;
  auto* const function = reinterpret_cast<int (*)(Arguments...)>(dlsym(library, name));
  return function != nullptr && function(arguments...) == 0;
}

// nvmlClocksThrottleReason...: bits 0 and 1 are an idle device and clocks of an application.
constexpr struct {
  unsigned long long bits;
  const char* words;
} slow_reasons[] = {{0x4, "power cap"},           {0x8, "hardware slowdown"},
                    {0x10, "sync boost"},         {0x20 | 0x40, "thermal"},
                    {0x80, "power brake"},        {0x100, "display clock"},
                    {~0x1ffULL, "another reason"}};

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

std::string cuda::load_driver(Driver& driver) {
  const char* named = std::getenv("ROPEWALK_CUDA_DRIVER");
  const std::string file = named != nullptr && *named != 0 ? named : "libcuda.so.1";
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* why = dlerror();
    return fmt::format("no CUDA driver: {}", why != nullptr ? why : file);
  }
  const std::string missing = find_all(library, driver);
  if (!missing.empty())
    return fmt::format("the CUDA driver {} is too old: it has no {}", file, missing);
  return {};
}

std::string cuda::error_text(const Driver& driver, Result error) {
  const char* text = nullptr;
  if (driver.GetErrorString(error, &text) != success || text == nullptr)
    return fmt::format("CUDA error {}", error);
  return fmt::format("CUDA error {} ({})", error, text);
}

DeviceHealth DeviceHealth::open(const std::string& bus_id) {
  DeviceHealth health;
  const char* const named = std::getenv("ROPEWALK_NVML");
  health.library_ =
      dlopen(named != nullptr && *named != 0 ? named : "libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!call(health.library_, "nvmlInit_v2")) return health;
  char version[96] = {};
  if (call(health.library_, "nvmlSystemGetDriverVersion", &version[0], 95U))
    health.driver_version_ = version;
  void* device = nullptr;
  if (call(health.library_, "nvmlDeviceGetHandleByPciBusId_v2", bus_id.c_str(), &device))
    health.device_ = device;
  return health;
}

DeviceHealth::Now DeviceHealth::now() const {
  Now now;
  if (device_ == nullptr) return now;
  unsigned mhz = 0;
  if (call(library_, "nvmlDeviceGetClockInfo", device_, sm_clock, &mhz))
    now.sm_mhz = static_cast<int>(mhz);
  unsigned long long reasons = 0;
  if (call(library_, "nvmlDeviceGetCurrentClocksThrottleReasons", device_, &reasons))
    for (const auto& reason : slow_reasons)
      if ((reasons & reason.bits) != 0)
        now.throttled += (now.throttled.empty() ? "" : ", ") + std::string(reason.words);
  return now;
}

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
  const std::string text =
      fmt::format("{} {}{}", error_text(driver_, result), when, why_failed().text);
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

DeviceClock::DeviceClock(Device& device, cuda::StreamHandle stream)
    : device_(&device), stream_(stream), begin_(make_event()), end_(make_event()) {}

cuda::Owned<cuda::EventTag> DeviceClock::make_event() {
  cuda::EventHandle event = nullptr;
  device_->check(device_->driver().EventCreate(&event, 0), "while an event was made");
  return {event, device_->driver().EventDestroy};
}

CapturedGraph DeviceClock::record(const std::function<void()>& put) {
  const cuda::Driver& d = device_->driver();
  device_->check(d.StreamBeginCapture(stream_, cuda::capture_global), "while a capture began");
  try {
    put();
  } catch (...) {
    const CapturedGraph dropped(d, stream_);
    throw;
  }
  CapturedGraph graph(d, stream_);
  graph.check("the work");
  device_->check(d.GraphUpload(graph.exec(*device_), stream_), "while a graph was made ready");
  return graph;
}

DeviceTime DeviceClock::replay(CapturedGraph& graph, std::int64_t launches) {
  const cuda::GraphExecHandle exec = graph.exec(*device_);
  return time([&] {
    for (std::int64_t launch = 0; launch < launches; ++launch)
      device_->check(device_->driver().GraphLaunch(exec, stream_), "while a graph was launched");
  });
}

DeviceTime DeviceClock::time(const std::function<void()>& put) {
  using Clock = std::chrono::steady_clock;
  const cuda::Driver& d = device_->driver();
  device_->wait_for_all("before work was timed");
  const Clock::time_point began = Clock::now();
  device_->check(d.EventRecord(begin_.get(), stream_), timed);
  put();
  device_->check(d.EventRecord(end_.get(), stream_), timed);
  device_->check(d.EventSynchronize(end_.get()), timed);
  device_->wait_for_all(timed);
  const std::chrono::duration<double> host = Clock::now() - began;
  float ms = 0;
  device_->check(d.EventElapsedTime(&ms, begin_.get(), end_.get()), timed);
  return {ms / 1e3, host.count()};
}

DeviceBlock::DeviceBlock(Device& device, std::size_t bytes, const std::string& name,
                         std::size_t before, std::size_t behind, unsigned char pattern)
    : device_(&device), before_(before), bytes_(bytes), behind_(behind), pattern_(pattern) {
  const std::size_t all = before + bytes + behind;
  begin_ = device.allocate(all);
  if (begin_ == 0) {
    const int shift = all >> 20 == 0 ? 0 : 20;
    throw StepFailed{
        protocol::Status::skipped,
        fmt::format("{} needs {} {} of device memory, and {} are free", name, all >> shift,
                    shift == 0 ? "bytes" : "MiB", device.free_bytes() >> shift)};
  }
  if (before > 0) device.queue_fill(begin_, pattern, before);
  if (behind > 0) device.queue_fill(data() + bytes, pattern, behind);
}

DeviceBlock::~DeviceBlock() {
  if (begin_ != 0) device_->release(begin_);
}

DeviceBlock& DeviceBlock::operator=(DeviceBlock&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(begin_, other.begin_);
  std::swap(before_, other.before_);
  std::swap(bytes_, other.bytes_);
  std::swap(behind_, other.behind_);
  std::swap(pattern_, other.pattern_);
  return *this;
}

void* DeviceBlock::pointer() const {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the driver's addresses are integers
  return begin_ == 0 ? nullptr : reinterpret_cast<void*>(data());
}

std::string DeviceBlock::touched() const {
  if (begin_ == 0) return {};
  const auto is_touched = [&](unsigned char byte) { return byte != pattern_; };
  std::vector<unsigned char> zone(before_);
  if (before_ > 0) device_->read(zone.data(), begin_, before_);
  if (const auto last = std::find_if(zone.rbegin(), zone.rend(), is_touched); last != zone.rend()) {
    device_->fill(begin_, pattern_, before_);
    return fmt::format("{} bytes before", last - zone.rbegin() + 1);
  }
  zone.resize(behind_);
  if (behind_ > 0) device_->read(zone.data(), data() + bytes_, behind_);
  const auto first = std::find_if(zone.begin(), zone.end(), is_touched);
  if (first == zone.end()) return {};
  device_->fill(data() + bytes_, pattern_, behind_);
  return fmt::format("{} bytes behind", first - zone.begin());
}

}  // namespace ropewalk::harness
