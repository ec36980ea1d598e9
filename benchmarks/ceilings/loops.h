// The loops of the ceilings, each compiled for several vector widths.
#pragma once
#include <cstdint>

namespace ropewalk::bench {

/// Rows of one tensor, in bytes. Row r goes from in + r * stride to out + r * stride. Rows that
/// touch one another are best one long row.
struct CeilingSpan {
  const void* in;
  void* out;  ///< equal to in for an update
  std::int64_t rows, row_bytes, stride;
  /// The bits that an update turns over, of as many elements as fill 8 bytes; 0 for a copy.
  std::uint64_t flips;
};

/// One loop over a span, as an update or as a copy.
struct CeilingLoop {
  const char* name;  ///< e.g. "32 bytes, 4 streams"
  void (*pass)(const CeilingSpan& span);
};

/// The loops that update or copy by vectors of so many bytes, up to one without a name. Those of 32
/// are for processors with AVX2, those of 64 for AVX-512.
const CeilingLoop* loops_of_16(bool copies);
const CeilingLoop* loops_of_32(bool copies);
const CeilingLoop* loops_of_64(bool copies);

}  // namespace ropewalk::bench
