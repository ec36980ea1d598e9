// The bytes of the shared memory, reached without mapping it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ropewalk::harness {

struct ByteRange {
  std::uint64_t begin, end;
};

/// To look for a hole, the kernel walks the pages up to it, also those behind the range. So smaller
/// ranges count as held: their holes are few, and are read without being filled.
inline constexpr std::uint64_t least_with_holes = std::uint64_t{64} << 20;

/// The parts of a range of the file that the shared memory holds, from the range's first byte. What
/// lies between them are holes, which are zero. Reading a hole through a mapping would fill it.
std::vector<ByteRange> held_parts(std::uint64_t offset, std::uint64_t bytes);

/// Both take the offset in the file, and throw StepFailed.
std::vector<std::byte> read_shared(std::uint64_t offset, std::size_t bytes);
void write_shared(const std::vector<std::byte>& from, std::uint64_t offset);

}  // namespace ropewalk::harness
