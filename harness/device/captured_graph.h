// What was captured of a stream, and the graph that is launched.
#pragma once
#include <algorithm>
#include <cstddef>
#include <vector>

#include "harness/device/device.h"

namespace ropewalk::harness {

class CapturedGraph {
 public:
  /// Ends the capture of the stream.
  CapturedGraph(const cuda::Driver& driver, cuda::StreamHandle stream) : driver_(driver) {
    ended_ = driver.StreamEndCapture(stream, &graph_);
  }
  ~CapturedGraph() {
    if (exec_ != nullptr) driver_.GraphExecDestroy(exec_);
    if (graph_ != nullptr) driver_.GraphDestroy(graph_);
  }
  CapturedGraph(const CapturedGraph&) = delete;
  CapturedGraph& operator=(const CapturedGraph&) = delete;

  cuda::Result ended() const { return ended_; }  ///< how the capture ended

  /// True if the captured work takes or frees device memory, which a capture allows.
  bool allocates() const {
    std::size_t count = 0;
    if (driver_.GraphGetNodes(graph_, nullptr, &count) != cuda::success) return false;
    std::vector<cuda::GraphNodeHandle> nodes(count);
    if (driver_.GraphGetNodes(graph_, nodes.data(), &count) != cuda::success) return false;
    return std::any_of(nodes.begin(), nodes.end(), [&](cuda::GraphNodeHandle node) {
      int type = 0;
      return driver_.GraphNodeGetType(node, &type) == cuda::success &&
             (type == cuda::node_allocates || type == cuda::node_frees);
    });
  }
  cuda::GraphExecHandle exec(Device& device) {
    device.check(driver_.GraphInstantiateWithFlags(&exec_, graph_, 0),
                 "while apply's graph was made");
    return exec_;
  }

 private:
  const cuda::Driver& driver_;
  cuda::GraphHandle graph_ = nullptr;
  cuda::GraphExecHandle exec_ = nullptr;
  cuda::Result ended_ = cuda::success;
};

}  // namespace ropewalk::harness
