// What the vector kernels do beside loads and stores. It is chosen in `prepare`, from the sizes of
// the problem and the second level of cache of this machine. Nothing is timed.
#pragma once
#include <unistd.h>

#include <cstdint>

#include "kernels/api/kernel.h"

namespace ropewalk {

/// | what the call writes                                     |       |
/// |----------------------------------------------------------|-------|
/// | up to four times the second level of cache               | near  |
/// | more, in place                                           | ahead |
/// | more, out of place, if all that is written is whole lines | past  |
///
/// near: nothing. ahead: a request for the elements 2 KiB further on, since the memory's own
/// prediction stops at pages. past: stores past the caches, which read no line to overwrite it.
///
/// Measured with 40 heads of 128 f32 on a Xeon with 2 MiB of second-level and a large third-level
/// cache, in ns a token. In place 5 MB, 84 MB, 671 MB: near 720, 913, 1,649; ahead 733, 824, 1,473.
/// Out of place 5 MB, 10 MB, 42 MB, 671 MB: near 1,431, 1,891, 2,545, 3,079; past 1,691, 1,501,
/// 1,481, 1,964. Tokens taken in turn from 2 or 4 parts of the batch row were never faster.
enum class Reach { near, ahead, past };

inline Reach reach_of(const rope_problem& p) {
  constexpr long usual_cache_bytes = 1 << 20;
  const long told = sysconf(_SC_LEVEL2_CACHE_SIZE);
  const double far = 4.0 * static_cast<double>(told > 0 ? told : usual_cache_bytes);
  double bytes = 0;
  bool in_place = false;
  for (std::uint32_t i = 0; i < p.tensor_count; ++i) {
    const rope_tensor& t = p.tensor[i];
    const auto element = static_cast<double>(data_type(Dtype{t.out_dtype}).bytes);
    bytes += static_cast<double>(p.batch) * static_cast<double>(p.tokens) *
             static_cast<double>(t.heads) * static_cast<double>(t.head_dim) * element;
    in_place = in_place || t.in_place != 0;
  }
  if (bytes <= far) return Reach::near;
  return in_place ? Reach::ahead : Reach::past;
}

}  // namespace ropewalk
