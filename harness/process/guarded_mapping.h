// Memory between two guards that cannot be touched. An access one element past either end is a
// fault, and so is an access one whole row or table past it.
#pragma once
#include <cstddef>
#include <cstdint>

namespace ropewalk::harness {

class GuardedMapping {
 public:
  /// The size of each guard, in bytes. Where addresses are limited (ulimit -v), a guard is one
  /// page.
  static constexpr std::size_t widest_guard = std::size_t{16} << 20;

  GuardedMapping() = default;
  /// Maps `bytes` (whole pages) of a file, shared. Throws std::runtime_error.
  GuardedMapping(int descriptor, std::uint64_t file_offset, std::uint64_t bytes, bool writable);
  /// Maps private, writable memory of at least `bytes`. Throws std::runtime_error.
  explicit GuardedMapping(std::size_t bytes);
  GuardedMapping(GuardedMapping&& other) noexcept;
  GuardedMapping& operator=(GuardedMapping&& other) noexcept;
  ~GuardedMapping();

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }  ///< whole pages, without the guards
  void make_read_only();

 private:
  void reserve(std::size_t bytes);
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  std::size_t guard_bytes_ = 0;
};

/// The page size, and a number of bytes rounded up to whole pages (at least one page).
std::size_t page_bytes();
std::size_t whole_pages(std::size_t bytes);

}  // namespace ropewalk::harness
