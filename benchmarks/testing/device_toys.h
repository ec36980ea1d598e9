// Toy kernels of a device, and the device: the stand-in for the driver, which runs them.
#pragma once
#include <gtest/gtest.h>

#include <cstdlib>
#include <deque>
#include <memory>
#include <string>
#include <utility>

#include "benchmarks/cells/device_cells.h"
#include "benchmarks/testing/filled.h"
#include "benchmarks/testing/toys.h"

extern "C" {  // NOLINTBEGIN: the names are the driver's
int cuLaunchHostFunc(void* stream, void (*function)(void*), void* data);
int cuStreamCreate(void** stream, unsigned flags);
int cuStreamSynchronize(void* stream);
}  // NOLINTEND

namespace ropewalk::bench {

/// `words`: ROPEWALK_STANDIN of harness/testing/standin/standin.h, from now on.
inline std::unique_ptr<harness::Device> open_stand_in(const std::string& words) {
  setenv("ROPEWALK_CUDA_DRIVER", STANDIN_DRIVER, 1);
  setenv("ROPEWALK_STANDIN", words.c_str(), 1);
  std::string why;
  auto device = harness::Device::open(why);
  EXPECT_NE(device, nullptr) << why;
  return device;
}

/// The buffers of a workload there. A small_workload() has six sets in a cache of 1,024 bytes.
struct StandInSets {
  explicit StandInSets(Workload w, const std::string& words = "l2=1024")
      : device(open_stand_in(words)), workload(std::move(w)) {}
  std::unique_ptr<harness::Device> device;
  Workload workload;
  DeviceModule module{*device};
  LazyDeviceSets sets{workload, 1, module};
};

/// What a call does when its stream reaches it.
using DeviceBody = void (*)(const rope_problem&, const rope_operands&);

/// Puts a call on a stream. It is kept for ever, as a graph may run it again.
inline std::int32_t put_on(void* stream, DeviceBody body, const rope_problem& p,
                           const rope_operands& o) {
  struct Call {
    DeviceBody body;
    rope_problem problem;
    rope_operands operands;
  };
  static std::deque<Call> calls;
  calls.push_back({body, p, o});
  const auto run = [](void* data) {
    const auto& call = *static_cast<const Call*>(data);
    call.body(call.problem, call.operands);
  };
  return cuLaunchHostFunc(stream, run, &calls.back()) == 0 ? ROPE_OK : ROPE_FAILED;
}
template <DeviceBody body>
std::int32_t apply_there(const rope_problem* p, const rope_operands* o, void*) {
  return put_on(o->stream, body, *p, *o);
}

inline void turn(const rope_problem& p, const rope_operands& o) {
  apply_toy(&p, &o, nullptr);
}
inline void turn_nothing(const rope_problem&, const rope_operands&) {}

inline rope_kernel device_toy(const char* name, Apply apply = apply_there<turn>) {
  rope_kernel kernel = toy_kernel(name, apply);
  kernel.memory = ROPE_CUDA;
  return kernel;
}

/// Calls check(head, i, given, left) for each element of all sets.
template <class Check>
void for_each_element_there(DeviceSets& sets, const Workload& w, Check&& check) {
  std::uint64_t random = 1;
  for (std::int64_t set = 0; set < sets.count(); ++set) {
    sets.choose(set, random);
    for_each_element(sets, w, check);
  }
}

}  // namespace ropewalk::bench
