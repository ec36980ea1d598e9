#include "harness/watch/heap_guard.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>

#include "harness/watch/heap_blocks.h"

namespace ropewalk::harness {
namespace {

#if defined(__GLIBC__) && !defined(ROPEWALK_SANITIZED)
constexpr bool possible = true;
#else
constexpr bool possible = false;  // a sanitizer defines the allocator's names there
#endif

// Reserved addresses. They get memory block by block.
constexpr std::size_t paged_bytes = std::size_t{16} << 30, patterned_bytes = std::size_t{256} << 20;
// A block between pages takes two system calls and one page of memory.
constexpr int most_paged_an_entry = 32;
// Fresh memory reads as NaN in every type. In a large block only both ends do, and the rest is 0.
constexpr int fresh = 0xff, freed = 0xdf;
constexpr std::size_t filled_at_ends = std::size_t{256} << 10;
// A fault this far from every block, in bytes, belongs to none.
constexpr std::ptrdiff_t farthest_fault = std::ptrdiff_t{1} << 20;
// The number of bytes that are compared after an entry: the newest blocks, then the others in turn.
// It takes about 10 us for a kernel that allocates.
constexpr std::size_t compared_bytes = std::size_t{128} << 10;

// Any thread of a kernel may allocate, and so may a process that it forks.
class SpinLock {
 public:
  void lock() {
    while (taken_.test_and_set(std::memory_order_acquire)) sched_yield();
  }
  void unlock() { taken_.clear(std::memory_order_release); }

 private:
  std::atomic_flag taken_ = ATOMIC_FLAG_INIT;
};

constinit SpinLock lock;
constinit HeapBlocks paged, patterned;
constinit std::atomic<bool> guarding{false};
constinit std::atomic<bool> asked{false};  // true: there may be something to report or compare
constinit std::atomic<const char*> entry_now{nullptr};
constinit bool end_first = true;
constinit int allocated_in_entry = 0;
constinit HeapBlock *newest = nullptr, *in_turn = nullptr;
constinit char noted[200] = "";  // the first error found when a block was freed

// Neither of these allocates.
template <class... Args>
void write_text(char* to, std::size_t size, fmt::format_string<Args...> words, Args&&... args) {
  const auto end = fmt::format_to_n(to, size - 1, words, std::forward<Args>(args)...);
  *end.out = 0;
}
template <class... Args>
void note(fmt::format_string<Args...> words, Args&&... args) {
  if (noted[0] == 0) write_text(noted, sizeof noted, words, std::forward<Args>(args)...);
  asked = true;
}

void note_overrun(HeapBlock& block) {
  const Overrun overrun = overrun_of(block);
  if (!overrun) return;
  const bool past = overrun.after != 0;
  note("wrote up to {} bytes {} a {} of {} bytes in {}", past ? overrun.after : overrun.before,
       past ? "past the end of" : "before", block.function, block.bytes, block.allocated_in);
  paint_around(block);
}

bool reserve_once() {
  static const bool reserved = [] {
    rlimit limit{};
    for (const auto which : {RLIMIT_AS, RLIMIT_DATA})
      if (getrlimit(which, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY) return false;
    pthread_atfork([] { lock.lock(); }, [] { lock.unlock(); }, [] { lock.unlock(); });
    return paged.reserve(HeapBlocks::Kind::between_pages, paged_bytes) &&
           patterned.reserve(HeapBlocks::Kind::between_patterns, patterned_bytes);
  }();
  return reserved;
}

void link(HeapBlock& block) {
  block.older = newest;
  if (newest != nullptr) newest->newer = &block;
  newest = &block;
  asked = true;
}

void unlink(HeapBlock& block) {
  if (in_turn == &block) in_turn = block.older;
  if (newest == &block) newest = block.older;
  if (block.older != nullptr) block.older->newer = block.newer;
  if (block.newer != nullptr) block.newer->older = block.older;
}

void fill_fresh(const HeapBlock& block) {
  const std::size_t filled = std::min(block.bytes, filled_at_ends);
  std::memset(block.at, fresh, filled);
  if (block.bytes > filled) {
    const std::size_t rest = std::min(block.bytes - filled, filled_at_ends);
    std::memset(block.at + block.bytes - rest, fresh, rest);
  }
}

HeapBlocks& blocks_with(const void* memory) {
  return paged.holds(memory) ? paged : patterned;
}

// An address that is never used again shows every use after free. An address that is used again at
// once shows a kernel that recognizes a state by its address.
HeapBlock* add_to(HeapBlocks& blocks, std::size_t bytes, std::size_t alignment, bool at_end) {
  HeapBlock* const again = end_first ? nullptr : blocks.add_again(bytes, alignment);
  return again != nullptr ? again : blocks.add(bytes, alignment, at_end);
}

// The living block that begins there. Otherwise returns nullptr and notes what is wrong.
HeapBlock* living_block(void* memory) {
  HeapBlock* const block = blocks_with(memory).near(memory);
  if (block == nullptr) {
    note("freed an address that no allocation gave");
  } else if (block->at != memory) {
    note("freed byte offset {} of a {} of {} bytes in {}, which is not its beginning",
         static_cast<std::byte*>(memory) - block->at, block->function, block->bytes,
         block->allocated_in);
  } else if (block->freed_in != nullptr) {
    note("freed a {} of {} bytes in {} twice", block->function, block->bytes, block->allocated_in);
  } else {
    return block;
  }
  return nullptr;
}

// Compares blocks from this one on towards older ones. Returns the block at which it stopped.
HeapBlock* compare_from(HeapBlock* block) {
  for (std::size_t compared = 0; block != nullptr && compared < compared_bytes;
       block = block->older) {
    note_overrun(*block);
    compared += static_cast<std::size_t>(block->end - block->begin) - block->bytes;
  }
  return block;
}

}  // namespace

void begin_heap_guard(const char* entry) {
  if (!possible || !reserve_once()) return;
  entry_now = entry;
  allocated_in_entry = 0;
  guarding = true;
}

void end_heap_guard() {
  guarding = false;
}

void choose_heap_placement(bool first_at_end) {
  end_first = first_at_end;
}

std::string heap_damage() {
  if (!asked) return {};
  char text[sizeof noted];
  {
    const std::lock_guard held(lock);
    const HeapBlock* const stopped = compare_from(newest);
    if (stopped != nullptr) in_turn = compare_from(in_turn != nullptr ? in_turn : newest);
    asked = newest != nullptr;
    std::memcpy(text, noted, sizeof text);
    noted[0] = 0;
  }
  return text;
}

bool place_in_heap(std::uintptr_t address, bool is_write, char* text, std::size_t size) {
  const auto* const at = reinterpret_cast<const std::byte*>(address);  // NOLINT: a number is given
  if (!paged.holds(at)) return false;
  const HeapBlock* const block = paged.near(at);
  if (block == nullptr) return false;
  const std::ptrdiff_t offset = at - block->at;
  const auto bytes = static_cast<std::ptrdiff_t>(block->bytes);
  if (offset < -farthest_fault || offset >= bytes + farthest_fault) return false;
  const char* const where = offset < 0 ? "before" : offset >= bytes ? "past the end of" : "inside";
  write_text(text, size, "{} {} a {} of {} bytes in {}, byte offset {}{}{}",
             is_write ? "wrote" : "read", where, block->function, block->bytes, block->allocated_in,
             offset, block->freed_in != nullptr ? ", after it was freed in " : "",
             block->freed_in != nullptr ? block->freed_in : "");
  return true;
}

namespace heap_guard {

bool is_on() {
  return guarding.load(std::memory_order_relaxed);
}

bool holds(const void* memory) {
  return paged.holds(memory) || patterned.holds(memory);
}

void* allocate(const char* function, std::size_t bytes, std::size_t alignment, bool zero) {
  const int errno_before = errno;
  const std::lock_guard held(lock);
  alignment = std::max(alignment, alignof(std::max_align_t));
  const int number = allocated_in_entry++;
  const bool at_end = (number % 2 == 0) == end_first;
  HeapBlock* block =
      number < most_paged_an_entry ? add_to(paged, bytes, alignment, at_end) : nullptr;
  const bool is_paged = block != nullptr;
  if (!is_paged) block = add_to(patterned, bytes, alignment, at_end);
  errno = errno_before;
  if (block == nullptr) return nullptr;
  block->function = function;
  block->allocated_in = entry_now;
  paint_around(*block);
  if (!zero) fill_fresh(*block);
  if (zero && !is_paged) std::memset(block->at, 0, bytes);
  link(*block);
  return block->at;
}

void release(void* memory) {
  const int errno_before = errno;
  const std::lock_guard held(lock);
  HeapBlock* const block = living_block(memory);
  if (block == nullptr) return;
  note_overrun(*block);
  unlink(*block);
  block->freed_in = is_on() ? entry_now.load() : "later code";
  HeapBlocks& blocks = blocks_with(memory);
  if (&blocks == &patterned) std::memset(block->at, freed, block->bytes);
  blocks.end(*block);
  errno = errno_before;
}

std::size_t size_of(void* memory) {
  const std::lock_guard held(lock);
  const HeapBlock* const block = living_block(memory);
  return block != nullptr ? block->bytes : 0;
}

}  // namespace heap_guard
}  // namespace ropewalk::harness
