#include "harness/watch/heap_guard.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <mutex>

#include "harness/process/guarded_mapping.h"

namespace ropewalk::harness {
namespace {

// Finds the block of any address in guarded memory. HeapBlocks hands out addresses in rising order
// and records each block, freed ones too.

struct HeapBlock {
  std::byte *begin, *end;    ///< the block and the pattern around it
  std::byte* at;             ///< the address that the kernel got
  std::size_t bytes;         ///< the size that the kernel asked for
  const char* function;      ///< "malloc"
  const char* allocated_in;  ///< "prepare"
  const char* freed_in;      ///< the entry that freed it; nullptr: it is alive
  HeapBlock *older, *newer;  ///< neighbours in the list of living blocks
};

/// How many bytes a write went past each of the two ends of a block.
struct Overrun {
  std::size_t before = 0, after = 0;
  explicit operator bool() const { return before + after != 0; }
};

class HeapBlocks {
 public:
  /// between_pages puts each block between forbidden pages. There a write past the pages is a
  /// fault, and so is every use after free.
  enum class Kind { between_pages, between_patterns };

  /// Reserves addresses without memory. Returns false if the system refuses.
  bool reserve(Kind kind, std::size_t bytes);

  bool holds(const void* memory) const {
    return static_cast<std::size_t>(static_cast<const std::byte*>(memory) - base_) < bytes_;
  }
  /// Returns nullptr if there is no room. at_end: the block ends at a forbidden page, as far as its
  /// alignment allows.
  HeapBlock* add(std::size_t bytes, std::size_t alignment, bool at_end);
  /// Returns the freed block of that size which ended last, at its old address, as most allocators
  /// do. Returns nullptr if none of the last few blocks has that size.
  HeapBlock* add_again(std::size_t bytes, std::size_t alignment);
  void end(HeapBlock& block);
  /// The block nearest to an address in this memory; nullptr if there is no block.
  const HeapBlock* near(const void* address) const;
  HeapBlock* near(const void* address) {
    return const_cast<HeapBlock*>(static_cast<const HeapBlocks*>(this)->near(address));
  }

 private:
  bool lay_out(HeapBlock& block, std::size_t bytes, std::size_t alignment, bool at_end);
  void begin_anew();

  static constexpr std::size_t most_ended = 32;

  Kind kind_{};
  std::byte *base_ = nullptr, *next_ = nullptr;
  std::size_t bytes_ = 0;
  HeapBlock* blocks_ = nullptr;
  std::size_t count_ = 0, living_ = 0;
  HeapBlock* ended_[most_ended] = {};  ///< the last freed blocks, in the order of their end
  std::size_t ended_count_ = 0;
};

constexpr std::byte pattern{0xa7};
constexpr std::size_t most_blocks = std::size_t{1} << 20;
// If no block is alive after this many blocks, recording starts anew, and the records' memory is
// freed.
constexpr std::size_t enough_blocks = std::size_t{1} << 16;
// The guard before and behind each block, in bytes. A kernel that misses by whole rows hits it too.
constexpr std::size_t guard_bytes = std::size_t{16} << 10;
constexpr std::size_t zone_bytes = 32;  // pattern at either end of a block without pages
constexpr std::size_t most_patterned_bytes = std::size_t{64} << 10;
// Each block takes two mappings of the 65,530 that a process may have. The kernel needs some as
// well.
constexpr std::size_t most_between_pages = 8192;

std::byte* aligned_up(std::byte* at, std::size_t alignment) {
  const auto off = reinterpret_cast<std::uintptr_t>(at) & (alignment - 1);
  return off == 0 ? at : at + (alignment - off);
}

std::byte* aligned_down(std::byte* at, std::size_t alignment) {
  return at - (reinterpret_cast<std::uintptr_t>(at) & (alignment - 1));
}

std::byte* reserved(std::size_t bytes, int protection) {
  void* const all =
      mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return all == MAP_FAILED ? nullptr : static_cast<std::byte*>(all);
}

// Frees the memory and forbids its addresses, in one call.
void forbid(std::byte* begin, std::size_t bytes) {
  (void)mmap(begin, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
             0);
}

bool is_pattern(std::byte b) {
  return b == pattern;
}

void paint_around(HeapBlock& block) {
  std::fill(block.begin, block.at, pattern);
  std::fill(block.at + block.bytes, block.end, pattern);
}

Overrun overrun_of(const HeapBlock& block) {
  Overrun out;
  std::byte* const block_end = block.at + block.bytes;
  // A range of one repeated byte equals itself shifted by one byte.
  const auto untouched = [](const std::byte* from, const std::byte* to) {
    return from == to ||
           (*from == pattern &&
            std::memcmp(from, from + 1, static_cast<std::size_t>(to - from) - 1) == 0);
  };
  if (!untouched(block.begin, block.at))
    out.before =
        static_cast<std::size_t>(block.at - std::find_if_not(block.begin, block.at, is_pattern));
  if (!untouched(block_end, block.end)) {
    const std::byte* last = block.end - 1;
    while (*last == pattern) --last;
    out.after = static_cast<std::size_t>(last + 1 - block_end);
  }
  return out;
}

bool HeapBlocks::reserve(Kind kind, std::size_t bytes) {
  kind_ = kind;
  std::byte* const blocks = reserved(most_blocks * sizeof(HeapBlock), PROT_READ | PROT_WRITE);
  std::byte* const base =
      reserved(bytes, kind == Kind::between_pages ? PROT_NONE : PROT_READ | PROT_WRITE);
  if (blocks == nullptr || base == nullptr) return false;
  blocks_ = reinterpret_cast<HeapBlock*>(blocks);
  base_ = next_ = base;
  bytes_ = bytes;
  return true;
}

HeapBlock* HeapBlocks::add(std::size_t bytes, std::size_t alignment, bool at_end) {
  if (living_ == 0 &&
      (count_ >= enough_blocks || next_ - base_ > static_cast<std::ptrdiff_t>(bytes_ / 4)))
    begin_anew();
  if (count_ == most_blocks || bytes > bytes_ / 4 || alignment > bytes_ / 64) return nullptr;
  HeapBlock& block = blocks_[count_];
  block = {};
  if (!lay_out(block, bytes, alignment, at_end)) return nullptr;
  block.bytes = bytes;
  ++count_;
  ++living_;
  return &block;
}

bool HeapBlocks::lay_out(HeapBlock& block, std::size_t bytes, std::size_t alignment, bool at_end) {
  if (kind_ == Kind::between_patterns) {
    if (bytes > most_patterned_bytes) return false;
    block.begin = next_;
    block.at = aligned_up(next_ + zone_bytes, alignment);
    block.end = aligned_up(block.at + bytes + zone_bytes, zone_bytes);
    if (block.end > base_ + bytes_) return false;
  } else {
    if (living_ >= most_between_pages) return false;
    const std::size_t pages = whole_pages(bytes);
    block.begin = aligned_up(next_ + guard_bytes, std::max(alignment, page_bytes()));
    block.end = block.begin + pages;
    if (block.end + guard_bytes > base_ + bytes_) return false;
    if (mprotect(block.begin, pages, PROT_READ | PROT_WRITE) != 0) return false;
    const bool can_end = at_end && alignment <= page_bytes();
    block.at = can_end ? aligned_down(block.end - std::max<std::size_t>(bytes, 1), alignment)
                       : block.begin;
  }
  next_ = block.end;
  return true;
}

HeapBlock* HeapBlocks::add_again(std::size_t bytes, std::size_t alignment) {
  for (std::size_t i = ended_count_; i-- > 0;) {
    HeapBlock& block = *ended_[i];
    if (block.bytes != bytes || aligned_up(block.at, alignment) != block.at) continue;
    if (kind_ == Kind::between_pages &&
        mprotect(block.begin, static_cast<std::size_t>(block.end - block.begin),
                 PROT_READ | PROT_WRITE) != 0)
      return nullptr;
    std::copy(ended_ + i + 1, ended_ + ended_count_, ended_ + i);
    --ended_count_;
    ++living_;
    block.freed_in = nullptr;
    block.older = block.newer = nullptr;
    return &block;
  }
  return nullptr;
}

void HeapBlocks::end(HeapBlock& block) {
  --living_;
  if (ended_count_ == most_ended) {
    std::copy(ended_ + 1, ended_ + most_ended, ended_);
    --ended_count_;
  }
  ended_[ended_count_++] = &block;
  if (kind_ == Kind::between_pages)
    forbid(block.begin, static_cast<std::size_t>(block.end - block.begin));
}

void HeapBlocks::begin_anew() {
  if (kind_ == Kind::between_pages)
    forbid(base_, static_cast<std::size_t>(next_ - base_));
  else
    madvise(base_, static_cast<std::size_t>(next_ - base_), MADV_DONTNEED);
  madvise(blocks_, count_ * sizeof(HeapBlock), MADV_DONTNEED);
  next_ = base_;
  count_ = ended_count_ = 0;
}

const HeapBlock* HeapBlocks::near(const void* address) const {
  const auto* const at = static_cast<const std::byte*>(address);
  const HeapBlock* const begin = blocks_;
  const HeapBlock* const end = begin + count_;
  const HeapBlock* const behind = std::upper_bound(
      begin, end, at, [](const std::byte* a, const HeapBlock& b) { return a < b.begin; });
  const HeapBlock* const before = behind == begin ? nullptr : behind - 1;
  if (behind == end || (before != nullptr && at < before->end)) return before;
  if (before == nullptr) return behind;
  // The address lies in the guard between two blocks. A living block is chosen first, else the
  // block with the nearer bytes.
  if ((before->freed_in == nullptr) != (behind->freed_in == nullptr))
    return before->freed_in == nullptr ? before : behind;
  return at - (before->at + before->bytes) <= behind->at - at ? before : behind;
}

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
