#include "harness/process/guarded_mapping.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

namespace ropewalk::harness {
namespace {

[[noreturn]] void fail(const char* what) {
  throw std::runtime_error(std::string("memory for a guarded buffer: ") + what + ": " +
                           strerror(errno));
}

// Where addresses are limited (ulimit -v), they are left to the kernels.
std::size_t guard_for_now() {
  rlimit limit{};
  const bool limited = getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  return limited ? page_bytes() : GuardedMapping::widest_guard;
}

}  // namespace

std::size_t page_bytes() {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

std::size_t whole_pages(std::size_t bytes) {
  const std::size_t pages = bytes == 0 ? 1 : (bytes - 1) / page_bytes() + 1;
  return pages * page_bytes();
}

void GuardedMapping::reserve(std::size_t bytes) {
  bytes_ = whole_pages(bytes);
  guard_bytes_ = guard_for_now();
  void* all = mmap(nullptr, bytes_ + 2 * guard_bytes_, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (all == MAP_FAILED) fail("mmap");
  data_ = static_cast<std::byte*>(all) + guard_bytes_;
}

GuardedMapping::GuardedMapping(int descriptor, std::uint64_t file_offset, std::uint64_t bytes,
                               bool writable) {
  reserve(bytes);
  const int protection = writable ? PROT_READ | PROT_WRITE : PROT_READ;
  // One call maps all pages, instead of a fault for each. A mapping of gigabytes may never be
  // touched.
  constexpr std::size_t small = std::size_t{64} << 20;
  const int populate = bytes_ <= small ? MAP_POPULATE : 0;
  if (mmap(data_, bytes_, protection, MAP_SHARED | MAP_FIXED | populate, descriptor,
           static_cast<off_t>(file_offset)) == MAP_FAILED)
    fail("mmap of shared memory");
}

GuardedMapping::GuardedMapping(std::size_t bytes) {
  reserve(bytes);
  if (mprotect(data_, bytes_, PROT_READ | PROT_WRITE) != 0) fail("mprotect");
}

GuardedMapping::GuardedMapping(GuardedMapping&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      guard_bytes_(std::exchange(other.guard_bytes_, 0)) {}

GuardedMapping& GuardedMapping::operator=(GuardedMapping&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(guard_bytes_, other.guard_bytes_);
  return *this;
}

GuardedMapping::~GuardedMapping() {
  if (data_ != nullptr) munmap(data_ - guard_bytes_, bytes_ + 2 * guard_bytes_);
}

void GuardedMapping::make_read_only() {
  if (mprotect(data_, bytes_, PROT_READ) != 0) fail("mprotect");
}

}  // namespace ropewalk::harness
