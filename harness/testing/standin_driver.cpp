// A stand-in for the CUDA driver, so that the device path of the worker is judged on a machine
// without a device. It has the functions of harness/device/cuda_driver.h, and
// cuLaunchHostFunc, by which the kernels of the tests put their work on a stream.
//
// - Device memory is host memory between forbidden pages. It can be touched only while work of a
//   stream runs, so an entry that reads it is a fault.
// - A stream runs nothing before somebody waits for it, so work that was forgotten stays undone.
// - A fault in the work of a stream is the error of an illegal address, which stays.
//
// ROPEWALK_STANDIN in the environment is a list of words, separated by commas: no_device,
// old_driver, dies_in_init, exits_in_init, no_answer, vanishes=N (after N waits), memory=BYTES,
// capability=75.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <csetjmp>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using Address = unsigned long long;

// What a stream runs. A copy touches one block, and what a kernel put there may touch all.
struct Work {
  std::function<void()> function;
  Address block = 0;
};

enum StandInAnswer : int {
  success = 0,
  invalid_value = 1,
  out_of_memory = 2,
  no_device = 100,
  invalid_handle = 400,
  illegal_address = 700,
  capture_unsupported = 900,
  capture_invalidated = 901,
  unknown = 999
};

// The value of a word in ROPEWALK_STANDIN, or "" if the word stands alone, or NULL.
const char* setting(std::string_view word) {
  static std::map<std::string, std::string, std::less<>> words = [] {
    std::map<std::string, std::string, std::less<>> found;
    const char* list = std::getenv("ROPEWALK_STANDIN");
    std::string_view rest = list != nullptr ? list : "";
    while (!rest.empty()) {
      const std::string_view one = rest.substr(0, rest.find(','));
      rest.remove_prefix(std::min(one.size() + 1, rest.size()));
      const std::size_t equals = std::min(one.find('='), one.size());
      found[std::string(one.substr(0, equals))] = one.substr(std::min(equals + 1, one.size()));
    }
    return found;
  }();
  const auto at = words.find(word);
  return at == words.end() ? nullptr : at->second.c_str();
}

std::size_t number(std::string_view word, std::size_t otherwise) {
  const char* value = setting(word);
  return value != nullptr ? std::strtoull(value, nullptr, 10) : otherwise;
}

std::size_t page() {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

// Whole pages between two forbidden ones.
struct StandInBlock {
  std::byte* begin;
  std::size_t bytes, asked;
  bool is_open = false;
};

struct Stream {
  std::list<Work> work;
  std::vector<Work>* captured_to = nullptr;
  bool is_spoiled = false;  // the capture
};

struct Graph {
  std::vector<Work> work;
};

struct Context {
  int unused = 0;
};

// Everything is reached under one lock. The lock is given up while work runs, since work of
// several streams may run at once.
struct StandIn {
  std::mutex lock;
  std::map<Address, StandInBlock> blocks;
  std::size_t used = 0;
  std::list<Stream> streams;
  Stream legacy;
  Context context;
  int running = 0;
  StandInAnswer sticky = success;
  std::size_t waits = 0;
};

StandIn& stand_in() {
  static auto* const one = new StandIn;  // never destroyed: kernels may call at exit
  return *one;
}

thread_local Context* current = nullptr;
thread_local sigjmp_buf on_fault;
thread_local bool is_in_work = false;

void open_blocks(const Work& work) {
  for (auto& [address, block] : stand_in().blocks)
    if ((work.block == 0 || work.block == address) && !std::exchange(block.is_open, true))
      mprotect(block.begin, block.bytes, PROT_READ | PROT_WRITE);
}

void close_blocks() {
  for (auto& [address, block] : stand_in().blocks)
    if (std::exchange(block.is_open, false)) mprotect(block.begin, block.bytes, PROT_NONE);
}

void jump_back(int signal) {
  if (is_in_work) siglongjmp(on_fault, 1);
  std::signal(signal, SIG_DFL);
  raise(signal);
}

// Runs one piece of work. Returns false at a fault.
bool run(const Work& work) {
  struct sigaction mine {
  }, before_segv{}, before_bus{};
  mine.sa_handler = jump_back;
  mine.sa_flags = SA_NODEFER | SA_ONSTACK;
  sigaction(SIGSEGV, &mine, &before_segv);
  sigaction(SIGBUS, &mine, &before_bus);
  bool is_done = false;
  if (sigsetjmp(on_fault, 1) == 0) {
    is_in_work = true;
    work.function();
    is_done = true;
  }
  is_in_work = false;
  sigaction(SIGSEGV, &before_segv, nullptr);
  sigaction(SIGBUS, &before_bus, nullptr);
  return is_done;
}

Stream& stream_of(Stream* stream) {
  // NULL, 1 and 2 name default streams.
  return reinterpret_cast<std::uintptr_t>(stream) <= 2 ? stand_in().legacy : *stream;
}

StandInAnswer put(Stream* on, Work work) {
  const std::lock_guard held(stand_in().lock);
  if (stand_in().sticky != success) return stand_in().sticky;
  Stream& stream = stream_of(on);
  if (stream.captured_to != nullptr)
    stream.captured_to->push_back(std::move(work));
  else
    stream.work.push_back(std::move(work));
  return success;
}

StandInAnswer drain(std::unique_lock<std::mutex>& held, Stream& stream) {
  StandIn& m = stand_in();
  ++m.running;
  while (!stream.work.empty() && m.sticky == success) {
    const Work work = std::move(stream.work.front());
    stream.work.pop_front();
    open_blocks(work);
    held.unlock();
    const bool is_done = run(work);
    held.lock();
    if (!is_done) m.sticky = illegal_address;
  }
  if (--m.running == 0) close_blocks();
  return m.sticky;
}

bool is_capturing() {
  StandIn& m = stand_in();
  return std::any_of(m.streams.begin(), m.streams.end(),
                     [](const Stream& s) { return s.captured_to != nullptr; });
}

// What must not be called while a stream is captured spoils the capture.
bool spoils_a_capture() {
  for (Stream& stream : stand_in().streams)
    if (stream.captured_to != nullptr) stream.is_spoiled = true;
  return is_capturing();
}

StandInAnswer begin_wait() {
  StandIn& m = stand_in();
  if (m.sticky != success) return m.sticky;
  if (spoils_a_capture()) return capture_unsupported;
  if (setting("vanishes") != nullptr && ++m.waits > number("vanishes", 0)) m.sticky = unknown;
  return m.sticky;
}

StandInBlock* block_of(Address address, std::size_t bytes) {
  auto& blocks = stand_in().blocks;
  auto after = blocks.upper_bound(address);
  if (after == blocks.begin()) return nullptr;
  StandInBlock& block = std::prev(after)->second;
  const std::size_t into = address - std::prev(after)->first;
  return into <= block.asked && bytes <= block.asked - into ? &block : nullptr;
}

StandInAnswer copy(Stream* stream, Address device, std::size_t bytes,
                   std::function<void()> function) {
  Address at = 0;
  {
    const std::lock_guard held(stand_in().lock);
    const StandInBlock* block = block_of(device, bytes);
    if (block == nullptr) return invalid_value;
    at = reinterpret_cast<Address>(block->begin);
  }
  return put(stream, {std::move(function), at});
}

std::byte* memory(Address address) {
  return reinterpret_cast<std::byte*>(address);
}

}  // namespace

extern "C" {

// NOLINTBEGIN: the names are the driver's
StandInAnswer cuInit(unsigned) {
  if (setting("dies_in_init") != nullptr) raise(SIGSEGV);
  if (setting("exits_in_init") != nullptr) _exit(3);
  if (setting("no_answer") != nullptr) pause();
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
StandInAnswer cuDeviceGetAttribute(int* value, int attribute, int) {
  const int capability = static_cast<int>(number("capability", 90));
  *value = attribute == 75 ? capability / 10 : attribute == 76 ? capability % 10 : 0;
  return success;
}
StandInAnswer cuDevicePrimaryCtxSetFlags_v2(int, unsigned) {
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
  void* all = mmap(nullptr, pages + 2 * page(), PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (all == MAP_FAILED) return out_of_memory;
  std::byte* const begin = static_cast<std::byte*>(all) + page();
  *address = reinterpret_cast<Address>(begin);
  m.blocks[*address] = {begin, pages, bytes};
  m.used += bytes;
  return success;
}
StandInAnswer cuMemFree_v2(Address address) {
  const std::lock_guard held(stand_in().lock);
  StandIn& m = stand_in();
  const auto at = m.blocks.find(address);
  if (at == m.blocks.end()) return invalid_value;
  munmap(at->second.begin - page(), at->second.bytes + 2 * page());
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
  return copy(stream, to, bytes, [=] { std::memcpy(memory(to), from, bytes); });
}
StandInAnswer cuMemcpyDtoHAsync_v2(void* to, Address from, std::size_t bytes, Stream* stream) {
  return copy(stream, from, bytes, [=] { std::memcpy(to, memory(from), bytes); });
}
StandInAnswer cuMemsetD8Async(Address to, unsigned char value, std::size_t bytes, Stream* stream) {
  // Whole pages that are given back are zero when they are next touched.
  return copy(stream, to, bytes, [=] {
    const std::size_t pages = bytes / page() * page();
    const bool is_whole = value == 0 && to % page() == 0 && pages > 0 &&
                          madvise(memory(to), pages, MADV_DONTNEED) == 0;
    const std::size_t done = is_whole ? pages : 0;
    std::memset(memory(to) + done, value, bytes - done);
  });
}
StandInAnswer cuStreamCreate(Stream** stream, unsigned) {
  const std::lock_guard held(stand_in().lock);
  *stream = &stand_in().streams.emplace_back();
  return success;
}
StandInAnswer cuStreamSynchronize(Stream* stream) {
  std::unique_lock held(stand_in().lock);
  if (const StandInAnswer refused = begin_wait(); refused != success) return refused;
  return drain(held, stream_of(stream));
}
StandInAnswer cuStreamBeginCapture_v2(Stream* stream, int) {
  const std::lock_guard held(stand_in().lock);
  if (reinterpret_cast<std::uintptr_t>(stream) <= 2) return capture_unsupported;
  if (stream->captured_to != nullptr) return invalid_value;
  stream->captured_to = new std::vector<Work>;
  stream->is_spoiled = false;
  return success;
}
StandInAnswer cuStreamEndCapture(Stream* stream, Graph** graph) {
  const std::lock_guard held(stand_in().lock);
  const std::unique_ptr<std::vector<Work>> work(stream->captured_to);
  if (work == nullptr) return invalid_value;
  stream->captured_to = nullptr;
  *graph = stream->is_spoiled ? nullptr : new Graph{*work};
  return stream->is_spoiled ? capture_invalidated : success;
}
StandInAnswer cuGraphInstantiateWithFlags(Graph** exec, Graph* graph, unsigned long long) {
  *exec = new Graph(*graph);
  return success;
}
StandInAnswer cuGraphLaunch(Graph* exec, Stream* stream) {
  for (const Work& work : exec->work)
    if (const StandInAnswer result = put(stream, work); result != success) return result;
  return success;
}
StandInAnswer cuGraphExecDestroy(Graph* exec) {
  delete exec;
  return success;
}
StandInAnswer cuGraphDestroy(Graph* graph) {
  delete graph;
  return success;
}
StandInAnswer cuLaunchHostFunc(Stream* stream, void (*function)(void*), void* data) {
  return put(stream, {[=] { function(data); }});
}
StandInAnswer cuGetErrorString(StandInAnswer error, const char** text) {
  const std::map<int, const char*> texts{
      {success, "no error"},
      {invalid_value, "invalid argument"},
      {out_of_memory, "out of memory"},
      {no_device, "no CUDA-capable device is detected"},
      {invalid_handle, "invalid resource handle"},
      {illegal_address, "an illegal memory access was encountered"},
      {capture_unsupported, "operation not permitted when stream is capturing"},
      {capture_invalidated, "operation failed due to a previous error during capture"},
      {unknown, "unknown error"}};
  const auto at = texts.find(error);
  *text = at == texts.end() ? nullptr : at->second;
  return at == texts.end() ? invalid_value : success;
}
// NOLINTEND
}
