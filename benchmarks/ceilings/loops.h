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

/// Of a width in bytes: the loops that update or copy, up to one without a name. Only for
/// processors that have vectors of this width (AVX2, AVX-512); the first for every one.
template <int width>
struct CeilingLoops {
  static const CeilingLoop update[], copy[];
};
template <>
const CeilingLoop CeilingLoops<16>::update[];
template <>
const CeilingLoop CeilingLoops<16>::copy[];
template <>
const CeilingLoop CeilingLoops<32>::update[];
template <>
const CeilingLoop CeilingLoops<32>::copy[];
template <>
const CeilingLoop CeilingLoops<64>::update[];
template <>
const CeilingLoop CeilingLoops<64>::copy[];

}  // namespace ropewalk::bench
