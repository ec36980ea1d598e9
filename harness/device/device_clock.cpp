#include "harness/device/device_clock.h"

#include <chrono>

namespace ropewalk::harness {
namespace {

constexpr const char* timed = "while work was timed";

}  // namespace

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

}  // namespace ropewalk::harness
