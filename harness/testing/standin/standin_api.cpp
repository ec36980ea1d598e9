// The functions of the driver. Their names and numbers are the driver's.
#include <unistd.h>

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "harness/testing/standin/standin.h"

using namespace ropewalk::standin;

namespace {

thread_local Context* current = nullptr;

// Two views of the same pages: one that only a kernel's work may touch, between forbidden pages,
// and the driver's own. False: there is no memory.
bool map_block(std::size_t pages, StandInBlock& block) {
  const int file = memfd_create("stand-in", MFD_CLOEXEC);
  void* const own = file >= 0 && ftruncate(file, static_cast<off_t>(pages)) == 0
                        ? mmap(nullptr, pages, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
                        : MAP_FAILED;
  void* const all = own != MAP_FAILED ? mmap(nullptr, pages + 2 * page(), PROT_NONE,
                                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
                                      : MAP_FAILED;
  const bool is_mapped =
      all != MAP_FAILED && mmap(static_cast<std::byte*>(all) + page(), pages, PROT_NONE,
                                MAP_SHARED | MAP_FIXED, file, 0) != MAP_FAILED;
  if (file >= 0) close(file);
  if (is_mapped) {
    block.begin = static_cast<std::byte*>(all) + page();
    block.own_view = static_cast<std::byte*>(own);
    return true;
  }
  if (own != MAP_FAILED) munmap(own, pages);
  if (all != MAP_FAILED) munmap(all, pages + 2 * page());
  return false;
}

}  // namespace

extern "C" {

// NOLINTBEGIN
StandInAnswer cuInit(unsigned) {
  if (setting("dies_in_init") != nullptr) raise(SIGSEGV);
  if (setting("exits_in_init") != nullptr) _exit(3);
  return setting("no_device") != nullptr ? no_device : success;
}
StandInAnswer cuDriverGetVersion(int* version) {
  *version = setting("old_driver") != nullptr ? 10020 : 13000;
  return success;
}
StandInAnswer cuDeviceGetCount(int* count) {
  *count = 1;
  return success;
}
StandInAnswer cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return ordinal == 0 ? success : invalid_value;
}
StandInAnswer cuDeviceGetName(char* name, int bytes, int) {
  std::strncpy(name, "stand-in", static_cast<std::size_t>(bytes));
  return success;
}
StandInAnswer cuDeviceGetPCIBusId(char* id, int bytes, int) {
  std::strncpy(id, bus_id_of_device, static_cast<std::size_t>(bytes));
  return success;
}
StandInAnswer cuDeviceGetAttribute(int* value, int attribute, int) {
  const std::size_t capability = number("capability", 90);
  const std::map<int, std::size_t> values{{16, number("multiprocessors", 4)},
                                          {38, number("l2", std::size_t{1} << 20)},
                                          {75, capability / 10},
                                          {76, capability % 10}};
  const auto at = values.find(attribute);
  *value = at == values.end() ? 0 : static_cast<int>(at->second);
  return success;
}
StandInAnswer cuDevicePrimaryCtxRetain(Context** context, int) {
  *context = &stand_in().context;
  return success;
}
StandInAnswer cuCtxSetCurrent(Context* context) {
  current = context;
  return success;
}
StandInAnswer cuCtxGetCurrent(Context** context) {
  *context = current;
  return success;
}
StandInAnswer cuCtxSynchronize() {
  std::unique_lock held(stand_in().lock);
  if (const StandInAnswer refused = begin_wait(); refused != success) return refused;
  StandInAnswer result = drain(held, stand_in().legacy);
  for (Stream& stream : stand_in().streams)
    if (result == success) result = drain(held, stream);
  return result;
}
StandInAnswer cuMemAlloc_v2(Address* address, std::size_t bytes) {
  const std::lock_guard held(stand_in().lock);
  StandIn& m = stand_in();
  if (m.sticky != success) return m.sticky;
  if (spoils_a_capture()) return capture_unsupported;
  if (bytes == 0) return invalid_value;
  const std::size_t limit = number("memory", std::size_t{1} << 30);
  if (bytes > limit || m.used > limit - bytes) return out_of_memory;
  const std::size_t pages = (bytes + page() - 1) / page() * page();
  StandInBlock block{nullptr, nullptr, pages, bytes};
  if (!map_block(pages, block)) return out_of_memory;
  *address = reinterpret_cast<Address>(block.begin);
  m.blocks[*address] = block;
  m.used += bytes;
  return success;
}
StandInAnswer cuMemFree_v2(Address address) {
  const std::lock_guard held(stand_in().lock);
  StandIn& m = stand_in();
  if (m.sticky != success) return m.sticky;
  if (spoils_a_capture()) return capture_unsupported;
  const auto at = m.blocks.find(address);
  if (at == m.blocks.end()) return invalid_value;
  munmap(at->second.begin - page(), at->second.bytes + 2 * page());
  munmap(at->second.own_view, at->second.bytes);
  m.used -= at->second.asked;
  m.blocks.erase(at);
  return success;
}
StandInAnswer cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  const std::lock_guard held(stand_in().lock);
  if (stand_in().sticky != success) return stand_in().sticky;
  *total = number("memory", std::size_t{1} << 30);
  *free = *total - stand_in().used;
  return success;
}
StandInAnswer cuMemcpyHtoDAsync_v2(Address to, const void* from, std::size_t bytes,
                                   Stream* stream) {
  const auto* first = static_cast<const std::byte*>(from);
  const auto staged = std::make_shared<std::vector<std::byte>>(first, first + bytes);
  return put_copy(stream, to, bytes,
                  [=](std::byte* to_view) { std::memcpy(to_view, staged->data(), bytes); });
}
StandInAnswer cuMemcpyDtoHAsync_v2(void* to, Address from, std::size_t bytes, Stream* stream) {
  return put_copy(stream, from, bytes,
                  [=](std::byte* from_view) { std::memcpy(to, from_view, bytes); });
}
StandInAnswer cuMemcpyDtoDAsync_v2(Address to, Address from, std::size_t bytes, Stream* stream) {
  return put(stream, {[=] {
               std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
             }});
}
StandInAnswer cuMemsetD8Async(Address to, unsigned char value, std::size_t bytes, Stream* stream) {
  return put_copy(stream, to, bytes, [=](std::byte* view) { std::memset(view, value, bytes); });
}
StandInAnswer cuStreamCreate(Stream** stream, unsigned) {
  const std::lock_guard held(stand_in().lock);
  *stream = &stand_in().streams.emplace_back();
  return success;
}
StandInAnswer cuStreamSynchronize(Stream* stream) {
  std::unique_lock held(stand_in().lock);
  if (const StandInAnswer refused = begin_wait(); refused != success) return refused;
  run_ahead(held, stream_of(stream));
  return drain(held, stream_of(stream));
}
StandInAnswer cuStreamQuery(Stream* stream) {
  const std::lock_guard held(stand_in().lock);
  if (stand_in().sticky != success) return stand_in().sticky;
  return stream_of(stream).work.empty() ? success : not_ready;
}
StandInAnswer cuStreamIsCapturing(Stream* stream, int* is_capturing) {
  const std::lock_guard held(stand_in().lock);
  *is_capturing = stream_of(stream).capture != nullptr ? 1 : 0;
  return success;
}
StandInAnswer cuStreamBeginCapture_v2(Stream* stream, int) {
  const std::lock_guard held(stand_in().lock);
  if (reinterpret_cast<std::uintptr_t>(stream) <= 2) return capture_unsupported;
  if (setting("no_graphs") != nullptr) return not_supported;
  if (stream->capture != nullptr) return invalid_value;
  stream->capture = std::make_shared<Capture>();
  return success;
}
StandInAnswer cuStreamEndCapture(Stream* stream, Graph** graph) {
  const std::lock_guard held(stand_in().lock);
  const std::shared_ptr<Capture> capture = std::exchange(stream->capture, nullptr);
  if (capture == nullptr) return invalid_value;
  capture->unjoined.erase(stream);
  for (Stream& other : stand_in().streams)
    if (other.capture == capture) other.capture = nullptr;
  *graph = nullptr;
  if (capture->is_spoiled) return capture_invalidated;
  if (!capture->unjoined.empty()) return capture_unjoined;
  *graph = new Graph{std::make_shared<const std::vector<Work>>(std::move(capture->work))};
  return success;
}
StandInAnswer cuEventCreate(Event** event, unsigned) {
  *event = new Event;
  return success;
}
StandInAnswer cuEventDestroy_v2(Event* event) {
  delete event;
  return success;
}
StandInAnswer cuEventRecord(Event* event, Stream* stream) {
  {
    const std::lock_guard held(stand_in().lock);
    *event = {&stream_of(stream), std::make_shared<Moment>(), stream_of(stream).capture};
    if (event->capture != nullptr) return success;
  }
  Work work;
  work.reached = event->moment;
  return put(stream, std::move(work));
}
StandInAnswer cuEventSynchronize(Event* event) {
  std::unique_lock held(stand_in().lock);
  if (const StandInAnswer refused = begin_wait(); refused != success) return refused;
  if (event->capture != nullptr) return captured_event;
  return event->stream == nullptr ? success : drain(held, *event->stream);
}
StandInAnswer cuEventElapsedTime(float* ms, Event* from, Event* to) {
  const std::lock_guard held(stand_in().lock);
  if (stand_in().sticky != success) return stand_in().sticky;
  if (from->stream == nullptr || to->stream == nullptr) return invalid_handle;
  if (from->capture != nullptr || to->capture != nullptr) return captured_event;
  if (!from->moment->is_reached || !to->moment->is_reached) return not_ready;
  *ms = std::chrono::duration<float, std::milli>(to->moment->at - from->moment->at).count();
  return success;
}
StandInAnswer cuStreamWaitEvent(Stream* stream, Event* event, unsigned) {
  {
    const std::lock_guard held(stand_in().lock);
    if (event->stream == nullptr) return success;
    if (event->capture != nullptr) {
      Stream& waiting = stream_of(stream);
      if (waiting.capture == nullptr) waiting.capture = event->capture;
      event->capture->unjoined.erase(event->stream);
      return success;
    }
  }
  Work work;
  work.awaited = event->moment;
  work.other = event->stream;
  return put(stream, std::move(work));
}
StandInAnswer cuGraphGetNodes(Graph* graph, const Work** nodes, std::size_t* count) {
  *count = graph->work->size();
  for (std::size_t i = 0; nodes != nullptr && i < *count; ++i) nodes[i] = &(*graph->work)[i];
  return success;
}
StandInAnswer cuGraphNodeGetType(const Work* node, int* type) {
  constexpr int host_function = 3, allocates = 10;
  *type = node->allocates ? allocates : host_function;
  return success;
}
StandInAnswer cuGraphInstantiateWithFlags(Graph** exec, Graph* graph, unsigned long long) {
  if (graph == nullptr) return invalid_value;
  *exec = new Graph(*graph);
  return success;
}
StandInAnswer cuGraphUpload(Graph*, Stream*) {
  return success;
}
StandInAnswer cuGraphLaunch(Graph* exec, Stream* stream) {
  Work all;
  all.graph = exec->work;
  return put(stream, std::move(all));
}
StandInAnswer cuGraphExecDestroy(Graph* exec) {
  delete exec;
  return success;
}
StandInAnswer cuGraphDestroy(Graph* graph) {
  delete graph;
  return success;
}
// Memory that is never touched: what a kernel would do with it is not the question.
StandInAnswer cuMemAllocAsync(Address* address, std::size_t, Stream* stream) {
  *address = page();
  Work work{[] {}};
  work.allocates = true;
  return put(stream, std::move(work));
}
StandInAnswer cuMemFreeAsync(Address, Stream* stream) {
  return put(stream, {[] {}});
}
StandInAnswer cuLaunchHostFunc(Stream* stream, void (*function)(void*), void* data) {
  return put(stream, {.function = [=] { function(data); }, .is_of_kernel = true});
}
// For an interpreter: a function that tells of an error by another answer than 0.
StandInAnswer ropewalk_standin_launch(Stream* stream, int (*function)(void*), void* data) {
  const auto run = [=] {
    if (function(data) != 0) throw launch_failed;
  };
  return put(stream, {.function = run, .is_of_kernel = true});
}
StandInAnswer cuGetErrorString(StandInAnswer error, const char** text) {
  const std::map<int, const char*> texts{
      {success, "no error"},
      {invalid_value, "invalid argument"},
      {out_of_memory, "out of memory"},
      {no_device, "no CUDA-capable device is detected"},
      {invalid_handle, "invalid resource handle"},
      {not_found, "named symbol not found"},
      {not_ready, "device not ready"},
      {illegal_address, "an illegal memory access was encountered"},
      {launch_failed, "unspecified launch failure"},
      {not_supported, "operation not supported"},
      {capture_unsupported, "operation not permitted when stream is capturing"},
      {capture_invalidated, "operation failed due to a previous error during capture"},
      {capture_unjoined, "capture was not ended in a state that joins all forked work"},
      {captured_event, "operation not permitted on an event last recorded in a capturing stream"},
      {unknown, "unknown error"}};
  const auto at = texts.find(error);
  *text = at == texts.end() ? nullptr : at->second;
  return at == texts.end() ? invalid_value : success;
}
// NOLINTEND
}
