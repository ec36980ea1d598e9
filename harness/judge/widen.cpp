#include "harness/judge/widen.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "harness/cases/stored.h"
#include "kernels/api/cpu_features.h"

namespace ropewalk::harness {
namespace {

template <class Stored>
void widen_from(const std::byte* from, std::int64_t first, std::vector<float>& to) {
  for (std::int64_t i = first; i < std::ssize(to); ++i)
    to[static_cast<std::size_t>(i)] = load_as<Stored>(from, i);
}

#if defined(__x86_64__)
// The conversion of f16 by integers is a call of some fifteen operations for each element.
[[gnu::target("avx,f16c")]] void widen_f16c(const std::byte* from, std::vector<float>& to) {
  constexpr std::int64_t step = 8;
  const std::int64_t whole = std::ssize(to) / step * step;
  for (std::int64_t i = 0; i < whole; i += step) {
    const auto* const eight = reinterpret_cast<const __m128i*>(from + 2 * i);
    _mm256_storeu_ps(to.data() + i, _mm256_cvtph_ps(_mm_loadu_si128(eight)));
  }
  widen_from<F16>(from, whole, to);
}
#endif

template <class Stored>
void widen_fastest(const std::byte* from, std::vector<float>& to) {
#if defined(__x86_64__)
  static const bool has_f16c = missing_cpu_feature("f16c").empty();
  if constexpr (std::is_same_v<Stored, F16>)
    if (has_f16c) return widen_f16c(from, to);
#endif
  widen_from<Stored>(from, 0, to);
}

}  // namespace

void widen(Dtype dtype, const std::byte* from, std::vector<float>& to) {
  with_floating_type(dtype, [&]<class Stored>(std::type_identity<Stored>) {
    if constexpr (sizeof(Stored) == 2) widen_fastest<Stored>(from, to);
  });
}

}  // namespace ropewalk::harness
