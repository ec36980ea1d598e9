// AVX2 with FMA, f32 and f64: 8 or 4 elements in each step. The pairs left over at the end of a
// head go through the same arithmetic in a partly empty vector. So a pair's bits do not depend on
// its place in the head. Only the functions marked AVX2 are compiled for AVX2.
#include <immintrin.h>

#include <cstddef>
#include <cstring>

#include "kernels/api/kernel.h"
#include "kernels/common/support.h"

#define AVX2 [[gnu::target("avx2,fma"), gnu::always_inline]] static inline

namespace ropewalk {
namespace {

// Holds the first `count` elements of a vector, the others zero. The copies avoid a masked load,
// which emulators of older processors get wrong at the end of a page.
template <class Real, std::size_t lanes>
struct Part {
  alignas(32) Real elements[lanes] = {};
  void take(const Real* from, std::int64_t count) {
    std::memcpy(elements, from, static_cast<std::size_t>(count) * sizeof(Real));
  }
  void give(Real* to, std::int64_t count) const {
    std::memcpy(to, elements, static_cast<std::size_t>(count) * sizeof(Real));
  }
};

// The instructions of one data type. `count` elements from the first are loaded or stored.
struct Floats {
  using Real = float;
  using Vector = __m256;
  static constexpr std::int64_t lanes = 8;

  AVX2 Vector load(const float* from, std::int64_t count) {
    if (count == lanes) return _mm256_loadu_ps(from);
    Part<float, 8> part;
    part.take(from, count);
    return _mm256_load_ps(part.elements);
  }
  AVX2 void store(float* to, Vector v, std::int64_t count) {
    if (count == lanes) return _mm256_storeu_ps(to, v);
    Part<float, 8> part;
    _mm256_store_ps(part.elements, v);
    part.give(to, count);
  }
  // Loads (a, b, c, d) of a row as (a, a, b, b, c, c, d, d).
  AVX2 Vector load_twice(const float* from, std::int64_t count) {
    Part<float, 4> part;
    if (count < lanes / 2) part.take(from, count);
    const __m128 half = _mm_loadu_ps(count == lanes / 2 ? from : part.elements);
    return _mm256_permutevar8x32_ps(_mm256_castps128_ps256(half),
                                    _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3));
  }
  AVX2 Vector swap(Vector v) { return _mm256_permute_ps(v, 0b10110001); }
  AVX2 Vector all(float v) { return _mm256_set1_ps(v); }
  AVX2 Vector mul(Vector a, Vector b) { return _mm256_mul_ps(a, b); }
  AVX2 Vector mul_add(Vector a, Vector b, Vector c) { return _mm256_fmadd_ps(a, b, c); }
  AVX2 Vector mul_sub(Vector a, Vector b, Vector c) { return _mm256_fmsub_ps(a, b, c); }
  // Returns a * b - c in even lanes and a * b + c in odd lanes.
  AVX2 Vector mul_turn(Vector a, Vector b, Vector c) { return _mm256_fmaddsub_ps(a, b, c); }
};

struct Doubles {
  using Real = double;
  using Vector = __m256d;
  static constexpr std::int64_t lanes = 4;

  AVX2 Vector load(const double* from, std::int64_t count) {
    if (count == lanes) return _mm256_loadu_pd(from);
    Part<double, 4> part;
    part.take(from, count);
    return _mm256_load_pd(part.elements);
  }
  AVX2 void store(double* to, Vector v, std::int64_t count) {
    if (count == lanes) return _mm256_storeu_pd(to, v);
    Part<double, 4> part;
    _mm256_store_pd(part.elements, v);
    part.give(to, count);
  }
  AVX2 Vector load_twice(const double* from, std::int64_t count) {
    const __m128d half = count == lanes / 2 ? _mm_loadu_pd(from) : _mm_load_sd(from);
    return _mm256_permute4x64_pd(_mm256_castpd128_pd256(half), 0b01010000);
  }
  AVX2 Vector swap(Vector v) { return _mm256_permute_pd(v, 0b0101); }
  AVX2 Vector all(double v) { return _mm256_set1_pd(v); }
  AVX2 Vector mul(Vector a, Vector b) { return _mm256_mul_pd(a, b); }
  AVX2 Vector mul_add(Vector a, Vector b, Vector c) { return _mm256_fmadd_pd(a, b, c); }
  AVX2 Vector mul_sub(Vector a, Vector b, Vector c) { return _mm256_fmsub_pd(a, b, c); }
  AVX2 Vector mul_turn(Vector a, Vector b, Vector c) { return _mm256_fmaddsub_pd(a, b, c); }
};

// One step of `count` pairs, at most `lanes`.
template <class Ops, class Real>
AVX2 void half_split_step(const Head<Real>& head, std::int64_t half, std::int64_t i,
                          std::int64_t count, Real scale, Real sign) {
  const auto c = Ops::load(head.cos + i, count);
  const auto s = Ops::mul(Ops::all(sign), Ops::load(head.sin + i, count));
  const auto x1 = Ops::load(head.in + i, count), x2 = Ops::load(head.in + half + i, count);
  const auto y1 = Ops::mul_sub(x1, c, Ops::mul(x2, s));
  const auto y2 = Ops::mul_add(x2, c, Ops::mul(x1, s));
  Ops::store(head.out + i, Ops::mul(Ops::all(scale), y1), count);
  Ops::store(head.out + half + i, Ops::mul(Ops::all(scale), y2), count);
}

// The same for pairs of neighbours, at most `lanes / 2`.
template <class Ops, class Real>
AVX2 void interleaved_step(const Head<Real>& head, std::int64_t i, std::int64_t count, Real scale,
                           Real sign) {
  const auto c = Ops::load_twice(head.cos + i, count);
  const auto s = Ops::mul(Ops::all(sign), Ops::load_twice(head.sin + i, count));
  const auto x = Ops::load(head.in + 2 * i, 2 * count);
  const auto y = Ops::mul_turn(x, c, Ops::mul(Ops::swap(x), s));
  Ops::store(head.out + 2 * i, Ops::mul(Ops::all(scale), y), 2 * count);
}

template <class Ops, class Real>
[[gnu::target("avx2,fma"), gnu::noinline]] void rotate_half_split(const Head<Real>& head,
                                                                  std::int64_t half, Real scale,
                                                                  Real sign) {
  std::int64_t i = 0;
  for (; i + Ops::lanes <= half; i += Ops::lanes)
    half_split_step<Ops>(head, half, i, Ops::lanes, scale, sign);
  if (i < half) half_split_step<Ops>(head, half, i, half - i, scale, sign);
}

template <class Ops, class Real>
[[gnu::target("avx2,fma"), gnu::noinline]] void rotate_interleaved(const Head<Real>& head,
                                                                   std::int64_t half, Real scale,
                                                                   Real sign) {
  constexpr std::int64_t step = Ops::lanes / 2;
  std::int64_t i = 0;
  for (; i + step <= half; i += step) interleaved_step<Ops>(head, i, step, scale, sign);
  if (i < half) interleaved_step<Ops>(head, i, half - i, scale, sign);
}

template <class Ops>
void rotate(const rope_problem& p, const rope_operands& o) {
  using Real = typename Ops::Real;
  const auto rotate_head =
      p.pairing == ROPE_INTERLEAVED ? rotate_interleaved<Ops, Real> : rotate_half_split<Ops, Real>;
  rotate_each_head<Real>(p, o, rotate_head);
}

const RegisteredKernel registered{{
    .name = "avx2",
    .summary = "256-bit vectors with fused multiply-add",
    .source = "this project",
    .cpu_features = "avx2,fma",
    .flags = ROPE_IN_PLACE | ROPE_OUT_OF_PLACE | ROPE_THREAD_SAFE | ROPE_BITWISE_INVARIANT,
    .supports = supports_table,
    .apply = apply_to_floats<rotate<Floats>, rotate<Doubles>>,
}};

}  // namespace
}  // namespace ropewalk
