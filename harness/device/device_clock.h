// Times work on a stream by the device's own clock: by an event before the work and one behind it.
#pragma once
#include <cstdint>
#include <functional>

#include "harness/device/captured_graph.h"
#include "harness/device/device.h"

namespace ropewalk::harness {

struct DeviceTime {
  double device_s;  ///< between the two events
  /// Around the launch and a wait for the whole context, so work on any stream is in it.
  double host_s;
};

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

}  // namespace ropewalk::harness
