// The buffers of a problem in the shared memory: their places, the poison in and around them, and
// checks of what a kernel changed.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "harness/cases/poison.h"
#include "harness/judge/executor.h"

namespace ropewalk::harness {

/// The place of a buffer in the shared memory. The buffer begins `lead` bytes behind the first of
/// its pages.
struct Placed {
  std::uint64_t offset = 0, pages_bytes = 0, lead = 0;
  std::uint64_t past = 0;  ///< bytes behind an input that the kernel may read
};

/// With at_end, the buffer ends where its last page ends, so one element more is a fault. A kernel
/// that asked for 64-byte alignment gets an aligned buffer instead, with poison in the gap. An
/// input ends so much earlier that the bytes of reads_past are there.
std::vector<Placed> place_buffers(const Problem& problem, const Call& call,
                                  const KernelFacts& facts, std::uint64_t next);

/// The bits of each element around the rows of a buffer, in gaps between them, and in unused rows
/// of a table: poison in the first call of a case, a number in the second, and one of both in a
/// lone call. A kernel may ignore NaN where it would use a number.
std::uint64_t gap_bits(const Problem& p, const Buffer& b, int placement);

/// Writes the content that a placement is given, and the `gaps` around it.
void write_buffer(const Buffer& b, const std::vector<std::byte>& content, const Placed& at,
                  std::byte* memory, Poison poison, std::uint64_t gaps);

/// Kept inputs must be those of `content`, and everything else around the owned elements must still
/// be `gaps`. Returns the first element that is not, in words.
std::string find_stray_write(const Buffer& b, const std::vector<std::byte>& content,
                             const Placed& at, const std::byte* memory, std::uint64_t gaps);

/// Notes the owned elements that are still poison.
void find_unwritten(const Buffer& b, const std::vector<std::byte>& bytes, Poison poison,
                    Execution& out);

}  // namespace ropewalk::harness
