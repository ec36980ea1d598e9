// The CUDA device of a worker: its primary context, which kernels of the runtime API share, and
// what the worker does with its memory.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "harness/process/loaded_kernels.h"
#include "harness/process/step_failed.h"

namespace ropewalk::harness {

// The functions of the CUDA driver that the worker calls. They are looked up at run time in
// libcuda.so.1, so neither the build nor a machine without a device needs anything of CUDA.
//
// The types and constants are lines of our own, from the driver API's documentation: a dozen lines
// are less than a package, and Debian's libffmpeg-nvenc-dev has no graphs.
namespace cuda {

using Result = int;  ///< CUresult
using DeviceAddress = unsigned long long;
using DeviceIndex = int;
using ContextHandle = struct ContextTag*;
using StreamHandle = struct StreamTag*;
using GraphHandle = struct GraphTag*;
using GraphNodeHandle = struct GraphNodeTag*;
using GraphExecHandle = struct GraphExecTag*;
using EventHandle = struct EventTag*;
using ModuleHandle = struct ModuleTag*;
using FunctionHandle = struct FunctionTag*;

/// A handle with the driver's function that gives it back.
template <class Tag>
using Owned = std::unique_ptr<Tag, Result (*)(Tag*)>;

inline constexpr Result success = 0, out_of_memory = 2, no_device = 100;
inline constexpr Result capture_unsupported = 900;  ///< also what waits while a stream is captured
inline constexpr unsigned stream_non_blocking = 1;  ///< CU_STREAM_NON_BLOCKING
inline constexpr int node_allocates = 10, node_frees = 11;  ///< CUgraphNodeType
inline constexpr int capture_global = 0;                    ///< CU_STREAM_CAPTURE_MODE_GLOBAL
inline constexpr int multiprocessor_count = 16, l2_cache_bytes = 38;  ///< CUdevice_attribute
inline constexpr int capability_major = 75, capability_minor = 76;    ///< CUdevice_attribute
/// Graphs as they are used here need the driver of CUDA 11.4.
inline constexpr int oldest_version = 11040;

// NOLINTBEGIN(readability-identifier-naming)
/// Each member is named as the driver's function without the prefix cu. A comment gives the symbol
/// where it differs.
struct Driver {
  Result (*Init)(unsigned flags);
  Result (*DriverGetVersion)(int* version);
  Result (*DeviceGetCount)(int* count);
  Result (*DeviceGet)(DeviceIndex* device, int ordinal);
  Result (*DeviceGetName)(char* name, int bytes, DeviceIndex device);
  Result (*DeviceGetPCIBusId)(char* id, int bytes, DeviceIndex device);
  Result (*DeviceGetAttribute)(int* value, int attribute, DeviceIndex device);
  Result (*DevicePrimaryCtxRetain)(ContextHandle* context, DeviceIndex device);
  Result (*CtxSetCurrent)(ContextHandle context);
  Result (*CtxGetCurrent)(ContextHandle* context);
  Result (*CtxSynchronize)();
  Result (*MemAlloc)(DeviceAddress* address, std::size_t bytes);  // _v2
  Result (*MemFree)(DeviceAddress address);                       // _v2
  Result (*MemGetInfo)(std::size_t* free, std::size_t* total);    // _v2
  Result (*MemcpyHtoDAsync)(DeviceAddress to, const void* from, std::size_t bytes,
                            StreamHandle stream);  // _v2
  Result (*MemcpyDtoHAsync)(void* to, DeviceAddress from, std::size_t bytes,
                            StreamHandle stream);  // _v2
  Result (*MemcpyDtoDAsync)(DeviceAddress to, DeviceAddress from, std::size_t bytes,
                            StreamHandle stream);  // _v2
  Result (*MemsetD8Async)(DeviceAddress to, unsigned char value, std::size_t bytes,
                          StreamHandle stream);
  Result (*StreamCreate)(StreamHandle* stream, unsigned flags);
  Result (*StreamSynchronize)(StreamHandle stream);
  Result (*StreamQuery)(StreamHandle stream);
  Result (*EventCreate)(EventHandle* event, unsigned flags);
  Result (*EventRecord)(EventHandle event, StreamHandle stream);
  Result (*EventSynchronize)(EventHandle event);
  Result (*EventElapsedTime)(float* ms, EventHandle from, EventHandle to);
  Result (*EventDestroy)(EventHandle event);  // _v2
  Result (*ModuleLoadDataEx)(ModuleHandle* module, const void* image, unsigned options,
                             const int* names, void** values);
  Result (*ModuleGetFunction)(FunctionHandle* function, ModuleHandle module, const char* name);
  Result (*ModuleUnload)(ModuleHandle module);
  Result (*LaunchKernel)(FunctionHandle function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                         unsigned block_x, unsigned block_y, unsigned block_z,
                         unsigned shared_bytes, StreamHandle stream, void** parameters,
                         void** extra);
  Result (*StreamBeginCapture)(StreamHandle stream, int mode);  // _v2
  Result (*StreamEndCapture)(StreamHandle stream, GraphHandle* graph);
  Result (*GraphGetNodes)(GraphHandle graph, GraphNodeHandle* nodes, std::size_t* count);
  Result (*GraphNodeGetType)(GraphNodeHandle node, int* type);
  Result (*GraphInstantiateWithFlags)(GraphExecHandle* exec, GraphHandle graph,
                                      unsigned long long flags);
  Result (*GraphUpload)(GraphExecHandle exec, StreamHandle stream);
  Result (*GraphLaunch)(GraphExecHandle exec, StreamHandle stream);
  Result (*GraphExecDestroy)(GraphExecHandle exec);
  Result (*GraphDestroy)(GraphHandle graph);
  Result (*GetErrorString)(Result error, const char** text);
};
// NOLINTEND(readability-identifier-naming)

/// Loads the library that ROPEWALK_CUDA_DRIVER in the environment names, or else libcuda.so.1, and
/// fills `driver`. Returns what is missing, in words; empty: nothing.
std::string load_driver(Driver& driver);

/// Returns a text like "CUDA error 700 (an illegal memory access was encountered)".
std::string error_text(const Driver& driver, Result error);

}  // namespace cuda

/// The clocks of a device, from the driver's library NVML. They are read and never set. What is
/// missing is an empty answer and no error: many machines have a driver without NVML.
class DeviceHealth {
 public:
  /// Loads the library that ROPEWALK_NVML in the environment names, or else libnvidia-ml.so.1.
  /// `bus_id` is that of Device::bus_id().
  static DeviceHealth open(const std::string& bus_id);

  struct Now {
    int sm_mhz = 0;  ///< of the multiprocessors; 0: not known
    /// The reasons that slow the clocks, like "power cap, thermal". An idle device and clocks that
    /// a user has set are none.
    std::string throttled;
  };
  Now now() const;
  const std::string& driver_version() const { return driver_version_; }  ///< like 580.82.07

 private:
  void* library_ = nullptr;  // never unloaded
  void* device_ = nullptr;   // NULL: not found
  std::string driver_version_;
};

class Device {
 public:
  /// Opens the first device. Returns NULL and says in `why` what is missing: the driver's library,
  /// a device, graphs, or a driver that is new enough. The driver is first tried in a process of
  /// its own, as it may end the process or hang. One allocation and one copy are made, so that the
  /// threads and descriptors of the driver are there before the worker notes what its process looks
  /// like.
  static std::unique_ptr<Device> open(std::string& why);

  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const std::string& name() const { return name_; }      ///< as the driver tells it
  const std::string& bus_id() const { return bus_id_; }  ///< on PCI, like 0000:3b:00.0
  int capability() const { return capability_; }         ///< 90: compute capability 9.0
  int multiprocessors() const { return multiprocessors_; }
  int l2_bytes() const { return l2_bytes_; }
  const cuda::Driver& driver() const { return driver_; }
  /// Opened with the device, as it takes descriptors.
  const DeviceHealth& health() const { return health_; }

  /// Throws StepFailed if a function of the driver failed. `when` is like "in apply".
  void check(cuda::Result result, const char* when);
  /// True after an error that leaves the context useless.
  bool is_lost() const { return lost_; }

  void make_current();
  /// The name of what an entry changed, in words; then it is put back.
  std::string left_changed();

  /// Returns 0 if the device has no room. `bytes` > 0.
  cuda::DeviceAddress allocate(std::size_t bytes);
  void release(cuda::DeviceAddress address);
  std::size_t free_bytes();
  /// Looks for 0.2 s. True if free memory changes, which is another process as no entry runs.
  bool is_used_by_others();

  /// These three are done when they return, and all that was queued before.
  void write(cuda::DeviceAddress to, const void* from, std::size_t bytes);
  void read(void* to, cuda::DeviceAddress from, std::size_t bytes);
  void fill(cuda::DeviceAddress to, unsigned char value, std::size_t bytes);
  /// These are done after a wait_for_queued(). `from` is free when they return.
  void queue_write(cuda::DeviceAddress to, const void* from, std::size_t bytes);
  void queue_fill(cuda::DeviceAddress to, unsigned char value, std::size_t bytes);
  void wait_for_queued() { wait(copies_, "while buffers were copied in"); }

  cuda::StreamHandle make_stream();
  void wait(cuda::StreamHandle stream, const char* when);
  /// Waits for the work of all streams.
  void wait_for_all(const char* when);

 private:
  Device() = default;
  std::string open_first();

  cuda::Driver driver_{};
  cuda::ContextHandle context_ = nullptr;
  cuda::StreamHandle copies_ = nullptr;
  std::string name_, bus_id_;
  int capability_ = 0, multiprocessors_ = 0, l2_bytes_ = 0;
  DeviceHealth health_;
  std::atomic<bool> lost_{false};  // any thread may meet the error
};

/// Opens the device if a kernel needs one, else returns NULL. Sets what each such kernel cannot run
/// for, or clears it.
std::unique_ptr<Device> open_device_for(std::vector<LoadedKernel>& kernels);

/// What was captured of a stream, and the graph that is launched.
class CapturedGraph {
 public:
  /// Ends the capture of the stream. The driver outlives the graph.
  CapturedGraph(const cuda::Driver& driver, cuda::StreamHandle stream)
      : driver_(&driver),
        graph_(nullptr, driver.GraphDestroy),
        exec_(nullptr, driver.GraphExecDestroy) {
    cuda::GraphHandle graph = nullptr;
    ended_ = driver.StreamEndCapture(stream, &graph);
    graph_.reset(graph);
  }

  cuda::Result ended() const { return ended_; }  ///< how the capture ended
  /// Throws StepFailed if the capture failed. `what` is like "apply".
  void check(const std::string& what) const {
    if (ended_ != cuda::success)
      throw StepFailed{protocol::Status::failed,
                       what + " cannot be captured into a graph: " + error_text(*driver_, ended_),
                       true};
  }

  std::size_t nodes() const {
    std::size_t count = 0;
    driver_->GraphGetNodes(graph_.get(), nullptr, &count);
    return count;
  }
  /// True if the captured work takes or frees device memory, which a capture allows.
  bool allocates() const {
    std::size_t count = 0;
    if (driver_->GraphGetNodes(graph_.get(), nullptr, &count) != cuda::success) return false;
    std::vector<cuda::GraphNodeHandle> nodes(count);
    if (driver_->GraphGetNodes(graph_.get(), nodes.data(), &count) != cuda::success) return false;
    return std::any_of(nodes.begin(), nodes.end(), [&](cuda::GraphNodeHandle node) {
      int type = 0;
      return driver_->GraphNodeGetType(node, &type) == cuda::success &&
             (type == cuda::node_allocates || type == cuda::node_frees);
    });
  }
  /// The graph as it is launched. The first call makes it.
  cuda::GraphExecHandle exec(Device& device) {
    if (exec_ == nullptr) {
      cuda::GraphExecHandle exec = nullptr;
      device.check(driver_->GraphInstantiateWithFlags(&exec, graph_.get(), 0),
                   "while a graph was made");
      exec_.reset(exec);
    }
    return exec_.get();
  }

 private:
  const cuda::Driver* driver_;
  cuda::Owned<cuda::GraphTag> graph_;
  cuda::Owned<cuda::GraphExecTag> exec_;
  cuda::Result ended_ = cuda::success;
};

struct DeviceTime {
  double device_s;  ///< between the two events
  /// Around the launch and a wait for the whole context, so work on any stream is in it.
  double host_s;
};

/// Times work on a stream by the device's own clock: by an event before the work and one behind it.
/// Its functions throw StepFailed. The device outlives the clock and its graphs.
class DeviceClock {
 public:
  DeviceClock(Device& device, cuda::StreamHandle stream);

  /// Makes a graph of what `put` puts on the stream. Nothing of it runs. While `put` runs, the
  /// driver refuses waits and allocations.
  CapturedGraph record(const std::function<void()>& put);
  /// Launches the graph `launches` times, one behind the other.
  DeviceTime replay(CapturedGraph& graph, std::int64_t launches);
  /// The same for what `put` puts on the stream without a graph.
  DeviceTime time(const std::function<void()>& put);

 private:
  cuda::Owned<cuda::EventTag> make_event();

  Device* device_;
  cuda::StreamHandle stream_;
  cuda::Owned<cuda::EventTag> begin_, end_;
};

/// Memory of a device between zones of poison, as no page protects it.
class DeviceBlock {
 public:
  DeviceBlock() = default;
  /// The zones are there after a wait_for_queued(). Throws StepFailed, as skipped if the device has
  /// no room. The device outlives the memory. `before`, `behind`: bytes of the zones, all
  /// `pattern`: a finite number, as what is computed from a NaN is the same NaN, or 0xff, which is
  /// one.
  DeviceBlock(Device& device, std::size_t bytes, const std::string& name, std::size_t before = 0,
              std::size_t behind = 256, unsigned char pattern = 0xa5);
  ~DeviceBlock();
  DeviceBlock(DeviceBlock&& other) noexcept { *this = static_cast<DeviceBlock&&>(other); }
  DeviceBlock& operator=(DeviceBlock&& other) noexcept;

  cuda::DeviceAddress data() const { return begin_ + before_; }
  void* pointer() const;  ///< NULL if there is no memory
  std::size_t bytes() const { return bytes_; }
  /// Where something was written into a zone: "1 bytes before", "0 bytes behind"; empty: nowhere.
  /// It says so once, so that no other kernel is blamed.
  std::string touched() const;

 private:
  Device* device_ = nullptr;
  cuda::DeviceAddress begin_ = 0;  ///< of the zone before
  std::size_t before_ = 0, bytes_ = 0, behind_ = 0;
  unsigned char pattern_ = 0;
};

}  // namespace ropewalk::harness
