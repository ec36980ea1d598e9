#include "harness/device/shared_bytes.h"

#include <unistd.h>

#include <cerrno>

#include "harness/process/step_failed.h"
#include "harness/protocol.h"

namespace ropewalk::harness {
namespace {

using protocol::memory_descriptor;

// Calls move(done) until all bytes are moved. It returns what pread and pwrite return.
template <class Move>
void move_all(std::size_t bytes, const char* failure, Move&& move) {
  for (std::size_t done = 0; done < bytes;) {
    const ssize_t n = move(done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) throw StepFailed{protocol::Status::failed, failure};
    done += static_cast<std::size_t>(n);
  }
}

}  // namespace

std::vector<ByteRange> held_parts(std::uint64_t offset, std::uint64_t bytes) {
  std::vector<ByteRange> parts;
  if (bytes < least_with_holes) return {{0, bytes}};
  const auto end = static_cast<off_t>(offset + bytes);
  for (auto at = static_cast<off_t>(offset); at < end;) {
    const off_t data = lseek(memory_descriptor, at, SEEK_DATA);
    if (data < 0 || data >= end) break;
    const off_t hole = lseek(memory_descriptor, data, SEEK_HOLE);
    at = hole < 0 || hole > end ? end : hole;
    parts.push_back(
        {static_cast<std::uint64_t>(data) - offset, static_cast<std::uint64_t>(at) - offset});
  }
  return parts;
}

std::vector<std::byte> read_shared(std::uint64_t offset, std::size_t bytes) {
  std::vector<std::byte> to(bytes);
  move_all(bytes, "the shared memory cannot be read", [&](std::size_t done) {
    return pread(memory_descriptor, to.data() + done, bytes - done,
                 static_cast<off_t>(offset + done));
  });
  return to;
}

void write_shared(const std::vector<std::byte>& from, std::uint64_t offset) {
  move_all(from.size(), "the shared memory cannot be written", [&](std::size_t done) {
    return pwrite(memory_descriptor, from.data() + done, from.size() - done,
                  static_cast<off_t>(offset + done));
  });
}

}  // namespace ropewalk::harness
