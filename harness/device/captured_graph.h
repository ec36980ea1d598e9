// What was captured of a stream, and the graph that is launched.
#pragma once
#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "harness/device/device.h"
#include "harness/process/step_failed.h"

namespace ropewalk::harness {

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

}  // namespace ropewalk::harness
