// Kernels of a device, for the stand-in driver of the tests (harness/testing/standin).
// Each puts the correct scalar kernel on its stream by cuLaunchHostFunc, and a mutant breaks one
// clause of the contract for ROPE_CUDA.
#include <bit>
#include <cstdint>
#include <thread>

#include "properties/mutants/on_device.h"

namespace ropewalk::mutants {
namespace {

const auto control = on_device<CorrectDevice>("control_device_table", ROPE_THREAD_SAFE, "sm_80");

// Memory that prepare takes is the kernel's until release.
struct OwnMemory : CorrectDevice {
  static int prepare(const rope_problem&, DeviceState& s) {
    unsigned long long address = 0;
    const int answer = cuMemAlloc_v2(&address, 4096);
    s.kept = pointer_of(address);
    return answer;
  }
  static void release(DeviceState& s) {
    cuMemFree_v2(reinterpret_cast<unsigned long long>(s.kept));
  }
};
const auto own_memory = on_device<OwnMemory>("control_device_own_memory_table");

struct DefaultStream : CorrectDevice {
  static void* stream(const rope_operands&, DeviceState&) { return nullptr; }
};
const auto default_stream = on_device<DefaultStream>("mutant_device_default_stream_table");

// Each call first keeps its first input in device memory of the state. The work behind it writes a
// wrong output if it finds another value there.
struct Staged : OwnMemory {
  static int keep_on(void* stream, const rope_problem& p, const rope_operands& o, DeviceState& s) {
    return put_on(stream, Launched{keep, p, o, s.kept}, s);
  }
  static void keep(const Launched& call) {
    *static_cast<float*>(call.kept) = *static_cast<const float*>(call.operands.tensor[0].in);
  }
  static void body(const Launched& call) {
    const float first = *static_cast<const float*>(call.operands.tensor[0].in);
    const float kept = *static_cast<const float*>(call.kept);
    CorrectDevice::body(call);
    if (std::bit_cast<std::uint32_t>(kept) != std::bit_cast<std::uint32_t>(first))
      *static_cast<float*>(call.operands.tensor[0].out) = -kept;
  }
};

// Calls on several streams find what other calls kept.
struct SharesScratch : Staged {
  static int before(const rope_problem& p, const rope_operands& o, DeviceState& s) {
    return keep_on(o.stream, p, o, s);
  }
};
const auto scratch_of_one = on_device<SharesScratch>("control_device_staged_table");
const auto shares =
    on_device<SharesScratch>("mutant_device_shares_scratch_table", ROPE_THREAD_SAFE);

// The value is kept by another stream, and nothing joins the two.
struct Unjoined : Staged {
  static int prepare(const rope_problem& p, DeviceState& s) {
    return OwnMemory::prepare(p, s) | cuStreamCreate(&s.own_stream, 1) |
           cuEventCreate(&s.events[0], 0) | cuEventCreate(&s.events[1], 0);
  }
  static void release(DeviceState& s) {
    for (void* event : s.events) cuEventDestroy_v2(event);
    OwnMemory::release(s);
  }
  static int before(const rope_problem& p, const rope_operands& o, DeviceState& s) {
    return keep_on(s.own_stream, p, o, s);
  }
};
const auto unjoined = on_device<Unjoined>("mutant_device_streams_not_joined_table");

// The same, forked from the caller's stream and joined to it.
struct Joined : Unjoined {
  static int before(const rope_problem& p, const rope_operands& o, DeviceState& s) {
    return cuEventRecord(s.events[0], o.stream) | cuStreamWaitEvent(s.own_stream, s.events[0], 0) |
           keep_on(s.own_stream, p, o, s) | cuEventRecord(s.events[1], s.own_stream) |
           cuStreamWaitEvent(o.stream, s.events[1], 0);
  }
};
const auto joined = on_device<Joined>("control_device_streams_joined_table");

// The same where a graph is captured, which needs it. Other calls trust in an idle device, which
// keeps the value in time. Each call uses it up.
struct JoinedInGraphs : Joined {
  static int before(const rope_problem& p, const rope_operands& o, DeviceState& s) {
    int is_captured = 0;
    if (cuStreamIsCapturing(o.stream, &is_captured) != 0) return ROPE_FAILED;
    return is_captured != 0 ? Joined::before(p, o, s) : Unjoined::before(p, o, s);
  }
  static void body(const Launched& call) {
    Joined::body(call);
    *static_cast<float*>(call.kept) = 0;
  }
};
const auto joined_in_graphs = on_device<JoinedInGraphs>("mutant_device_joined_in_graphs_table");

const auto waits = on_device<Before>("mutant_device_waits_table", [](auto& o, DeviceState&) {
  return cuStreamSynchronize(o.stream);
});

// Allocated in the order of the stream, which a capture allows.
const auto allocates_on_stream =
    on_device<Before>("mutant_device_allocates_on_stream_table", [](auto& o, DeviceState&) {
      unsigned long long memory = 0;
      return cuMemAllocAsync(&memory, 4096, o.stream) | cuMemFreeAsync(memory, o.stream);
    });

// What a state needs is made at its first call, not in prepare.
struct AllocatesAtFirstCall : OwnMemory {
  static int prepare(const rope_problem&, DeviceState&) { return ROPE_OK; }
  static int before(const rope_problem& p, const rope_operands&, DeviceState& s) {
    return s.kept != nullptr ? ROPE_OK : OwnMemory::prepare(p, s);
  }
};
const auto allocates_at_first_call =
    on_device<AllocatesAtFirstCall>("mutant_device_allocates_at_first_call_table");

// Keeps memory of late calls only, which are repeated and not captured.
const auto keeps = on_device<Before>("mutant_device_keeps_memory_table", [](auto&, DeviceState& s) {
  unsigned long long memory = 0;
  if (s.calls.size() >= 100) cuMemAlloc_v2(&memory, 4096);
  return ROPE_OK;
});

struct ReleaseForgets : OwnMemory {
  static void release(DeviceState&) {}
};
const auto forgets = on_device<ReleaseForgets>("mutant_device_release_forgets_table");

const auto writes_input =
    on_device<After>("mutant_device_writes_input_table", [](const Launched& call) {
      if (call.problem.tensor[0].in_place == 0)
        *const_cast<float*>(static_cast<const float*>(call.operands.tensor[0].in)) = 1;
    });

// One page past the region's end, so within the zone behind it.
const auto writes_past =
    on_device<After>("mutant_device_writes_past_table", [](const Launched& call) {
      const rope_problem& p = call.problem;
      const rope_tensor& t = p.tensor[0];
      out_row(p, call.operands, 0, p.batch - 1, p.tokens - 1, t.heads - 1)[t.head_dim + 1024] = 0;
    });

// So far that no zone is met: the address is illegal.
const auto writes_far =
    on_device<After>("mutant_device_illegal_address_table", [](const Launched& call) {
      static_cast<float*>(call.operands.tensor[0].out)[std::int64_t{1} << 36] = 0;
    });

// A fault: the memory is the device's.
const auto reads = on_device<Before>("mutant_device_host_reads_table", [](auto& o, DeviceState&) {
  if (o.positions != nullptr) (void)*static_cast<const volatile char*>(o.positions);
  return ROPE_OK;
});

// The work of the third launch differs from that of the first two.
const auto counts =
    on_device<After>("mutant_device_counts_launches_table", [](const Launched& call) {
      static int launches = 0;
      if (++launches % 3 == 0) static_cast<float*>(call.operands.tensor[0].out)[0] += 1;
    });

const auto no_context =
    on_device<Before>("mutant_device_no_context_table", [](auto&, DeviceState&) {
      cuCtxSetCurrent(nullptr);
      return ROPE_OK;
    });

// Only on threads that are not the first one which called.
const auto no_context_on_threads = on_device<Before>(
    "mutant_device_no_context_on_threads_table",
    [](auto&, DeviceState&) {
      static const auto first = std::this_thread::get_id();
      if (std::this_thread::get_id() != first) cuCtxSetCurrent(nullptr);
      return ROPE_OK;
    },
    ROPE_THREAD_SAFE);

// Takes a workspace for a multiple of 256 bytes, as cudaMalloc's addresses are.
struct WidelyAligned : CorrectDevice {
  static void body(const Launched& call) {
    CorrectDevice::body(call);
    if (reinterpret_cast<std::uintptr_t>(call.operands.workspace) % 256 != 0)
      *static_cast<float*>(call.operands.tensor[0].out) = 77;
  }
};
template <class Hooks>
RegisteredKernel with_workspace(const char* name) {
  KernelInfo info = device_info<Hooks>(name);
  info.workspace_bytes = [](const rope_problem* p) { return 256 + row_bytes(p); };
  return RegisteredKernel(info);
}
const auto widely_aligned = with_workspace<WidelyAligned>("mutant_device_workspace_at_256_table");

// Writes into the workspace of the state's first call, at each call.
struct KeepsWorkspace : CorrectDevice {
  static int before(const rope_problem&, const rope_operands& o, DeviceState& s) {
    if (s.kept == nullptr) s.kept = o.workspace;
    return ROPE_OK;
  }
  static void body(const Launched& call) {
    CorrectDevice::body(call);
    *static_cast<float*>(call.kept) = 1;
  }
};
const auto keeps_workspace = with_workspace<KeepsWorkspace>("mutant_device_keeps_workspace_table");

// The fault of what prepare put on a stream is not a fault of apply.
struct PrepareFaults : CorrectDevice {
  static void fault(const Launched&) { *static_cast<volatile int*>(pointer_of(4096)) = 1; }
  static int prepare(const rope_problem& p, DeviceState& s) {
    return put_on(nullptr, Launched{fault, p, {}, nullptr}, s);
  }
};
const auto prepare_faults = on_device<PrepareFaults>("mutant_device_prepare_faults_table");

}  // namespace
}  // namespace ropewalk::mutants
