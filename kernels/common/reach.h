// What the vector kernels do beside loads and stores. It is chosen in `prepare`, from the sizes of
// the problem and the second level of cache of this machine. Nothing is timed.
#pragma once
#include <unistd.h>

#include <algorithm>
#include <cstdint>

#include "kernels/api/kernel.h"

namespace ropewalk {

/// near: what the call reads and writes fits the first level of cache. cos and sin of some pairs
/// stay in registers, and a long window takes several walks over all heads.
/// far: more than that. A head is finished before the next, since each walk would fetch every line
/// of the token anew; cos and sin are then loaded for each head.
/// past: more than 8 MiB and than four times the second level of cache is written out of place.
/// What is out of place and in whole lines is then stored past the caches, which reads no line to
/// overwrite it; without a norm and an append, if that is all. The 16-bit forms of `avx2` in
/// half_split store half lines, and never do.
///
/// On a Xeon with 48 KiB and 2 MiB, 40 heads of 128 f32, ns a token. `avx2` in place, 20, 41, 82
/// and 328 KB: near 270, 580, 688, 589; far 340, 690, 688, 464. `avx512` out of place, three runs:
/// 8 MB written, far 1,961, 2,430, 2,636; past 2,384, 2,509, 2,635. 10 MB: 1,912, 2,730, 3,097;
/// 2,384, 2,566, 2,640. 21 MB: 3,130, 3,676, 3,696; 2,261, 2,379, 2,275. So near the threshold
/// either may lose. On a Zen 4 with 1 MiB, past took 744 for 538 at 5 MB.
enum class Reach { near, far, past };

/// Bytes that a call reads and does not write to the same place, and bytes that it writes.
struct Traffic {
  double read = 0, written = 0;
};
inline Traffic traffic_of(const rope_problem& p) {
  Traffic sum;
  for (std::uint32_t i = 0; i < p.tensor_count; ++i) {
    const rope_tensor& t = p.tensor[i];
    const double bytes = static_cast<double>(p.batch) * static_cast<double>(p.tokens) *
                         static_cast<double>(t.heads) * static_cast<double>(t.head_dim) *
                         static_cast<double>(data_type(Dtype{t.out_dtype}).bytes);
    sum.written += bytes;
    if (t.in_place == 0) sum.read += bytes;
  }
  return sum;
}
inline double cache_bytes(int name, long usual) {
  const long told = sysconf(name);
  return static_cast<double>(told > 0 ? told : usual);
}
inline double second_level_bytes() {
  return cache_bytes(_SC_LEVEL2_CACHE_SIZE, 1 << 20);
}

inline Reach reach_of(const rope_problem& p) {
  const auto [read, written] = traffic_of(p);
  if (read + written <= cache_bytes(_SC_LEVEL1_DCACHE_SIZE, 32 << 10)) return Reach::near;
  const double past = std::max(4 * second_level_bytes(), 0x1p23);
  return read > past ? Reach::past : Reach::far;
}

/// There a norm waits for memory, and fewer heads at once let reads and writes take turns. On a Zen
/// 5 with 1 MiB, 40 heads of 128 in place, ns a token, at 16, 8 and 4 heads at once: f32, 42 MB
/// 896, 850, 719; 20 KB 289, 328, 425; bf16, 21 MB 465, 485, 509.
inline bool is_beyond_second_level(const rope_problem& p) {
  const auto [read, written] = traffic_of(p);
  return read + written > second_level_bytes();
}

}  // namespace ropewalk
