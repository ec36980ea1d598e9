#include "harness/watch/heap_blocks.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "harness/process/guarded_mapping.h"

namespace ropewalk::harness {
namespace {

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

}  // namespace

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

}  // namespace ropewalk::harness
