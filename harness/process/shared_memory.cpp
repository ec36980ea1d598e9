#include "harness/process/shared_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace ropewalk::harness {
namespace {

constexpr std::size_t bytes_at_first = 1 << 20;

std::size_t size_of(int file) {
  struct stat s {};
  return fstat(file, &s) == 0 ? static_cast<std::size_t>(s.st_size) : 0;
}

}  // namespace

void SharedMemory::close() {
  if (data_ != nullptr) munmap(data_, bytes_);
  if (file_ >= 0) ::close(file_);
  data_ = nullptr;
  file_ = -1;
  bytes_ = 0;
}

void SharedMemory::open() {
  close();
  // memfd needs no /dev/shm. The seal keeps a kernel from shrinking the file under the parent. A
  // kernel can grow the file, as the parent must be able to.
  file_ = memfd_create("ropewalk", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (file_ < 0) throw WorkerError(fmt::format("shared memory: memfd_create: {}", strerror(errno)));
  if (fcntl(file_, F_ADD_SEALS, F_SEAL_SHRINK) != 0)
    throw WorkerError(fmt::format("shared memory: sealing: {}", strerror(errno)));
  reserve(bytes_at_first);
}

std::byte* SharedMemory::reserve(std::size_t bytes) {
  if (bytes <= bytes_) return data_;
  const std::size_t size = std::max(bytes, 2 * bytes_);
  const auto fail = [&] {
    throw WorkerError(fmt::format("shared memory of {} bytes: {}", size, strerror(errno)));
  };
  // A file that a kernel has already grown cannot be cut to size; damage() reports it.
  if (ftruncate(file_, static_cast<off_t>(size)) != 0 && size_of(file_) < size) fail();
  if (data_ != nullptr) munmap(std::exchange(data_, nullptr), bytes_);
  bytes_ = 0;
  void* all = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
  if (all == MAP_FAILED) fail();
  data_ = static_cast<std::byte*>(all);
  bytes_ = size;
  return data_;
}

std::string SharedMemory::damage() const {
  const std::size_t now = size_of(file_);
  if (now == bytes_) return {};
  return fmt::format("grew the worker's shared memory (descriptor 4) from {} to {} bytes", bytes_,
                     now);
}

}  // namespace ropewalk::harness
