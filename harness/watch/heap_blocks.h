// Finds the block of any address in guarded memory. HeapBlocks hands out addresses in rising order
// and records each block, freed ones too.
#pragma once
#include <cstddef>

namespace ropewalk::harness {

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

void paint_around(HeapBlock& block);
Overrun overrun_of(const HeapBlock& block);

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

}  // namespace ropewalk::harness
