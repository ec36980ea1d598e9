// AVX-512, f32 and f64: 16 or 8 elements in each step. Every load and store is masked, so the pairs
// left over at the end of a head take the same path as the others. So a pair's bits do not depend
// on its place in the head. Only the functions marked AVX512 are compiled for AVX-512.
#include <immintrin.h>

#include <algorithm>

#include "kernels/api/kernel.h"
#include "kernels/common/support.h"

#define AVX512 [[gnu::target("avx512f"), gnu::always_inline]] static inline

namespace ropewalk {
namespace {

// The instructions of one data type. `Mask` selects the elements.
struct Floats {
  using Real = float;
  using Mask = __mmask16;
  static constexpr std::int64_t lanes = 16;
  static constexpr Mask all_lanes = 0xffff;

  AVX512 __m512 load(Mask m, const float* from) { return _mm512_maskz_loadu_ps(m, from); }
  AVX512 void store(Mask m, float* to, __m512 v) { _mm512_mask_storeu_ps(to, m, v); }
  AVX512 __m512 all(float v) { return _mm512_set1_ps(v); }
  AVX512 __m512 mul(__m512 a, __m512 b) { return _mm512_mul_ps(a, b); }
  AVX512 __m512 mul_add(__m512 a, __m512 b, __m512 c) { return _mm512_fmadd_ps(a, b, c); }
  AVX512 __m512 mul_sub(__m512 a, __m512 b, __m512 c) { return _mm512_fmsub_ps(a, b, c); }
  // Returns a * b - c in even lanes and a * b + c in odd lanes.
  AVX512 __m512 mul_turn(__m512 a, __m512 b, __m512 c) { return _mm512_fmaddsub_ps(a, b, c); }
  // Returns (a, b, c, d, ...) as (b, a, d, c, ...), and as (a, a, b, b, ...). The masked form is
  // used because the other form reads an undefined register, of which g++ 12 warns (GCC bug
  // 105593).
  AVX512 __m512 swap(__m512 v) { return _mm512_shuffle_ps(v, v, 0b10110001); }
  AVX512 __m512 twice(__m512 v) {
    const __m512i index = _mm512_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7);
    return _mm512_maskz_permutexvar_ps(all_lanes, index, v);
  }
};

struct Doubles {
  using Real = double;
  using Mask = __mmask8;
  static constexpr std::int64_t lanes = 8;
  static constexpr Mask all_lanes = 0xff;

  AVX512 __m512d load(Mask m, const double* from) { return _mm512_maskz_loadu_pd(m, from); }
  AVX512 void store(Mask m, double* to, __m512d v) { _mm512_mask_storeu_pd(to, m, v); }
  AVX512 __m512d all(double v) { return _mm512_set1_pd(v); }
  AVX512 __m512d mul(__m512d a, __m512d b) { return _mm512_mul_pd(a, b); }
  AVX512 __m512d mul_add(__m512d a, __m512d b, __m512d c) { return _mm512_fmadd_pd(a, b, c); }
  AVX512 __m512d mul_sub(__m512d a, __m512d b, __m512d c) { return _mm512_fmsub_pd(a, b, c); }
  AVX512 __m512d mul_turn(__m512d a, __m512d b, __m512d c) { return _mm512_fmaddsub_pd(a, b, c); }
  AVX512 __m512d swap(__m512d v) { return _mm512_shuffle_pd(v, v, 0b01010101); }
  AVX512 __m512d twice(__m512d v) {
    return _mm512_maskz_permutexvar_pd(all_lanes, _mm512_setr_epi64(0, 0, 1, 1, 2, 2, 3, 3), v);
  }
};

// The mask of the first `count` lanes, or of all lanes if `count` is larger.
template <class Ops>
AVX512 typename Ops::Mask first(std::int64_t count) {
  return static_cast<typename Ops::Mask>((1u << std::min(count, Ops::lanes)) - 1u);
}

template <class Ops>
[[gnu::target("avx512f"), gnu::noinline]] void rotate_half_split(
    const Head<typename Ops::Real>& head, std::int64_t half, typename Ops::Real scale,
    typename Ops::Real sign) {
  const auto a = Ops::all(scale), direction = Ops::all(sign);
  for (std::int64_t i = 0; i < half; i += Ops::lanes) {
    const auto m = first<Ops>(half - i);
    const auto c = Ops::load(m, head.cos + i);
    const auto s = Ops::mul(direction, Ops::load(m, head.sin + i));
    const auto x1 = Ops::load(m, head.in + i), x2 = Ops::load(m, head.in + half + i);
    Ops::store(m, head.out + i, Ops::mul(a, Ops::mul_sub(x1, c, Ops::mul(x2, s))));
    Ops::store(m, head.out + half + i, Ops::mul(a, Ops::mul_add(x2, c, Ops::mul(x1, s))));
  }
}

template <class Ops>
[[gnu::target("avx512f"), gnu::noinline]] void rotate_interleaved(
    const Head<typename Ops::Real>& head, std::int64_t half, typename Ops::Real scale,
    typename Ops::Real sign) {
  const auto a = Ops::all(scale), direction = Ops::all(sign);
  constexpr std::int64_t pairs = Ops::lanes / 2;
  for (std::int64_t i = 0; i < half; i += pairs) {
    const std::int64_t count = std::min(pairs, half - i);
    const auto row = first<Ops>(count), m = first<Ops>(2 * count);
    const auto c = Ops::twice(Ops::load(row, head.cos + i));
    const auto s = Ops::mul(direction, Ops::twice(Ops::load(row, head.sin + i)));
    const auto x = Ops::load(m, head.in + 2 * i);
    const auto y = Ops::mul_turn(x, c, Ops::mul(Ops::swap(x), s));
    Ops::store(m, head.out + 2 * i, Ops::mul(a, y));
  }
}

template <class Ops>
void rotate(const rope_problem& p, const rope_operands& o) {
  rotate_each_head<typename Ops::Real>(
      p, o, p.pairing == ROPE_INTERLEAVED ? rotate_interleaved<Ops> : rotate_half_split<Ops>);
}

const RegisteredKernel registered{{
    .name = "avx512",
    .summary = "512-bit vectors with masks and fused multiply-add",
    .source = "this project",
    .cpu_features = "avx512f",
    .flags = ROPE_IN_PLACE | ROPE_OUT_OF_PLACE | ROPE_THREAD_SAFE | ROPE_BITWISE_INVARIANT,
    .supports = supports_table,
    .apply = apply_to_floats<rotate<Floats>, rotate<Doubles>>,
}};

}  // namespace
}  // namespace ropewalk
