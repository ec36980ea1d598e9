#include "harness/testing/standin/standin.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <csetjmp>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>

namespace ropewalk::standin {

StandIn& stand_in() {
  static auto* const one = new StandIn;  // never destroyed: kernels may call at exit
  return *one;
}

namespace {

thread_local sigjmp_buf on_fault;
thread_local bool is_in_work = false;

void open_blocks() {
  for (auto& [address, block] : stand_in().blocks)
    if (!std::exchange(block.is_open, true))
      mprotect(block.begin, block.bytes, PROT_READ | PROT_WRITE);
}

void close_blocks() {
  for (auto& [address, block] : stand_in().blocks)
    if (std::exchange(block.is_open, false)) mprotect(block.begin, block.bytes, PROT_NONE);
}

void jump_back(int signal) {
  if (is_in_work) siglongjmp(on_fault, 1);
  // Somebody else's fault happens again, for the handler of before.
  const StandIn& m = stand_in();
  sigaction(signal, signal == SIGSEGV ? &m.before_segv : &m.before_bus, nullptr);
}

// Runs one piece of work. A fault is an illegal address.
StandInAnswer run(const Work& work) {
  volatile StandInAnswer answer = illegal_address;
  if (sigsetjmp(on_fault, 1) == 0) {
    is_in_work = true;
    try {
      work.function();
      answer = success;
    } catch (StandInAnswer failed) {
      answer = failed;
    }
  }
  is_in_work = false;
  return answer;
}

// While any thread runs work, faults are caught.
void begin_running() {
  StandIn& m = stand_in();
  if (m.running++ > 0) return;
  struct sigaction mine {};
  mine.sa_handler = jump_back;
  mine.sa_flags = SA_NODEFER | SA_ONSTACK;
  sigaction(SIGSEGV, &mine, &m.before_segv);
  sigaction(SIGBUS, &mine, &m.before_bus);
}

void end_running() {
  StandIn& m = stand_in();
  if (--m.running > 0) return;
  close_blocks();
  sigaction(SIGSEGV, &m.before_segv, nullptr);
  sigaction(SIGBUS, &m.before_bus, nullptr);
}

StandInBlock* block_of(Address address, std::size_t bytes) {
  auto& blocks = stand_in().blocks;
  auto after = blocks.upper_bound(address);
  if (after == blocks.begin()) return nullptr;
  StandInBlock& block = std::prev(after)->second;
  const std::size_t into = address - std::prev(after)->first;
  return into <= block.asked && bytes <= block.asked - into ? &block : nullptr;
}

// A block may have been freed since the copy was asked for.
StandInAnswer copy_now(const Work& work) {
  const StandInBlock* block = block_of(work.device, work.bytes);
  if (block == nullptr) return illegal_address;
  work.copy(block->own_view + (work.device - reinterpret_cast<Address>(block->begin)));
  return success;
}

}  // namespace

const char* setting(std::string_view word) {
  struct Settings {
    std::mutex lock;
    std::string list;
    std::map<std::string, std::string, std::less<>> words;
  };
  static auto* const settings = new Settings;  // never destroyed, as kernels may call at exit
  const std::lock_guard held(settings->lock);
  auto& words = settings->words;
  const char* now = std::getenv("ROPEWALK_STANDIN");
  if (settings->list != (now != nullptr ? now : "")) {
    settings->list = now != nullptr ? now : "";
    words.clear();
    std::string_view rest = settings->list;
    while (!rest.empty()) {
      const std::string_view one = rest.substr(0, rest.find(','));
      rest.remove_prefix(std::min(one.size() + 1, rest.size()));
      const std::size_t equals = std::min(one.find('='), one.size());
      words[std::string(one.substr(0, equals))] = one.substr(std::min(equals + 1, one.size()));
    }
  }
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

Stream& stream_of(Stream* stream) {
  return reinterpret_cast<std::uintptr_t>(stream) <= 2 ? stand_in().legacy : *stream;
}

StandInAnswer put(Stream* on, Work work) {
  const std::lock_guard held(stand_in().lock);
  if (stand_in().sticky != success) return stand_in().sticky;
  Stream& stream = stream_of(on);
  if (stream.capture == nullptr) {
    stream.work.push_back(std::move(work));
  } else if (setting("cannot_capture") != nullptr ||
             (work.is_of_kernel && setting("captures_no_functions") != nullptr)) {
    stream.capture->is_spoiled = true;
    return capture_unsupported;
  } else {
    stream.capture->work.push_back(std::move(work));
    stream.capture->unjoined.insert(&stream);
  }
  return success;
}

StandInAnswer drain(std::unique_lock<std::mutex>& held, Stream& stream, const Moment* until) {
  StandIn& m = stand_in();
  m.ended.wait(held, [&] { return !stream.is_running; });
  if (stream.work.empty()) return m.sticky;
  stream.is_running = true;
  bool began = false;
  const auto goes_on = [&] { return until == nullptr || !until->is_reached; };
  while (!stream.work.empty() && m.sticky == success && goes_on()) {
    const Work work = std::move(stream.work.front());
    stream.work.pop_front();
    if (work.graph != nullptr) {
      stream.work.insert(stream.work.begin(), work.graph->begin(), work.graph->end());
      continue;
    }
    if (work.awaited != nullptr) {
      if (!work.awaited->is_reached) drain(held, *work.other, work.awaited.get());
      continue;
    }
    if (work.reached != nullptr) {
      *work.reached = {true, std::chrono::steady_clock::now()};
      continue;
    }
    if (work.copy != nullptr) {
      m.sticky = copy_now(work);
      continue;
    }
    if (!std::exchange(began, true)) begin_running();
    open_blocks();
    held.unlock();
    const StandInAnswer answer = run(work);
    held.lock();
    if (answer != success) m.sticky = answer;
  }
  if (began) end_running();
  stream.is_running = false;
  m.ended.notify_all();
  return m.sticky;
}

void run_ahead(std::unique_lock<std::mutex>& held, const Stream& awaited) {
  constexpr std::size_t much = std::size_t{1} << 20;
  if (setting("runs_ahead") == nullptr) return;
  auto& streams = stand_in().streams;
  const auto is_long = [](const Work& work) { return work.bytes >= much; };
  const bool is_busy = std::ranges::any_of(
      streams, [&](const Stream& s) { return std::ranges::any_of(s.work, is_long); });
  if (is_busy) return;
  for (Stream& stream : streams)
    if (&stream != &awaited) drain(held, stream);
}

bool spoils_a_capture() {
  bool any = false;
  for (Stream& stream : stand_in().streams)
    if (stream.capture != nullptr) any = stream.capture->is_spoiled = true;
  return any;
}

StandInAnswer begin_wait() {
  StandIn& m = stand_in();
  if (m.sticky != success) return m.sticky;
  if (spoils_a_capture()) return capture_unsupported;
  if (setting("vanishes") != nullptr && ++m.waits > number("vanishes", 0)) m.sticky = unknown;
  return m.sticky;
}

StandInAnswer put_copy(Stream* stream, Address device, std::size_t bytes,
                       std::function<void(std::byte*)> copy) {
  {
    const std::lock_guard held(stand_in().lock);
    if (block_of(device, bytes) == nullptr) return invalid_value;
  }
  return put(stream, {nullptr, std::move(copy), device, bytes});
}

}  // namespace ropewalk::standin
