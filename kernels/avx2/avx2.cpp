// AVX2 with FMA: vectors of 256 bits, with a table (`avx2`) or with angles of its own
// (`avx2_phase`). The pairs left over at the end of a head go through the same arithmetic, with
// some before them once more or in a partly empty vector, so a pair's bits do not depend on its
// place. What was tried, and what it gave: docs/vector-kernels.md.
#include <immintrin.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "kernels/api/kernel.h"
#include "kernels/common/vector_kernel.h"

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c")
#endif

namespace ropewalk {
namespace {

#include "kernels/common/vector_turn.inc"

struct Floats {
  using Data = float;
  using Real = float;
  using Vector = __m256;
  using One = Floats;
  static constexpr std::int64_t lanes = 8;
  static constexpr std::size_t registers = 16;

  INLINE Vector load(const float* from, std::int64_t count) {
    const Cut<32> cut(from, 4 * count);
    Vector v = _mm256_loadu_ps(cut.template at<float>());
    __asm__("" : "+x"(v));  // else g++ loads it twice, for each of two products
    return v;
  }
  INLINE void store(float* to, Vector v, std::int64_t count) {
    if (count == lanes) return _mm256_storeu_ps(to, v);
    std::memcpy(to, &v, static_cast<std::size_t>(4 * count));
  }
  INLINE void store_past(float* to, Vector v) { _mm256_stream_ps(to, v); }
  INLINE Vector load_row(const float* from, std::int64_t count) { return load(from, count); }
  INLINE Vector load_row_twice(const float* from, std::int64_t count) {
    const Cut<16> cut(from, 4 * count);
    const __m256 v = _mm256_castps128_ps256(_mm_loadu_ps(cut.template at<float>()));
    return _mm256_permutevar8x32_ps(v, _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3));
  }
  INLINE Vector swap(Vector v) { return _mm256_permute_ps(v, 0b10110001); }
  INLINE Vector all(float v) { return _mm256_set1_ps(v); }
  INLINE Vector mul(Vector a, Vector b) { return _mm256_mul_ps(a, b); }
  INLINE Vector mul_add(Vector a, Vector b, Vector c) { return _mm256_fmadd_ps(a, b, c); }
  INLINE Vector mul_sub(Vector a, Vector b, Vector c) { return _mm256_fmsub_ps(a, b, c); }
  INLINE Vector root(Vector v) { return _mm256_sqrt_ps(v); }
  static constexpr std::size_t fold_distances[] = {4, 1, 2};
  template <std::size_t level>
  INLINE Vector fold(Vector a, Vector b) {
    constexpr int low = level == 1 ? 0x44 : 0x88, high = level == 1 ? 0xee : 0xdd;
    if constexpr (level == 0)
      return _mm256_permute2f128_ps(a, b, 0x20) + _mm256_permute2f128_ps(a, b, 0x31);
    else
      return _mm256_shuffle_ps(a, b, low) + _mm256_shuffle_ps(a, b, high);
  }
  INLINE Vector of_axis(Vector a, Vector b, const std::uint32_t* axis, std::int32_t which) {
    const __m256i is_it = _mm256_cmpeq_epi32(integers(axis), _mm256_set1_epi32(which));
    return _mm256_blendv_ps(a, b, _mm256_castsi256_ps(is_it));
  }
  INLINE Vector alternate(float a, float b) { return _mm256_setr_ps(a, b, a, b, a, b, a, b); }

  // For angles: 32-bit integers in the lanes. The position of all pairs, or that of each pair's
  // axis.
  using Integers = __m256i;
  INLINE Integers integers(const std::uint32_t* from) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  }
  INLINE Integers everywhere(std::int64_t position) {
    return _mm256_set1_epi32(static_cast<std::int32_t>(position));
  }
  INLINE Integers of_axes(const std::int64_t* positions, const std::uint32_t* axis) {
    const auto at = [&](int i) { return static_cast<std::int32_t>(positions[i]); };
    const __m256i all = _mm256_setr_epi32(at(0), at(1), at(2), at(3), 0, 0, 0, 0);
    return _mm256_permutevar8x32_epi32(all, integers(axis));
  }
  INLINE __m256i phases(const std::uint32_t* high, const std::uint32_t* low, Integers m) {
    const __m256i l = integers(low);
    const __m256i even = _mm256_srli_epi64(_mm256_mul_epu32(l, m), 32);
    const __m256i odd = _mm256_mul_epu32(_mm256_srli_epi64(l, 32), _mm256_srli_epi64(m, 32));
    const __m256i carry = _mm256_blend_epi32(even, odd, 0b10101010);
    const __m256i sum = _mm256_add_epi32(carry, _mm256_mullo_epi32(integers(high), m));
    // The upper half of a negative position is -1.
    return _mm256_sub_epi32(sum, _mm256_and_si256(l, _mm256_srai_epi32(m, 31)));
  }
  INLINE __m256i plus(__m256i v, std::uint32_t by) {
    return _mm256_add_epi32(v, _mm256_set1_epi32(static_cast<std::int32_t>(by)));
  }
  template <int bits>
  INLINE __m256i left(__m256i v) {
    return _mm256_slli_epi32(v, bits);
  }
  INLINE Vector signed_numbers(__m256i v) { return _mm256_cvtepi32_ps(v); }
  // a where the upper bit is set, else b; and v negated where it is set.
  INLINE Vector where(__m256i bits, Vector a, Vector b) {
    return _mm256_blendv_ps(b, a, _mm256_castsi256_ps(bits));
  }
  INLINE Vector flip(Vector v, __m256i bits) {
    return _mm256_xor_ps(v, _mm256_and_ps(_mm256_castsi256_ps(bits), _mm256_set1_ps(-0.0F)));
  }
  INLINE void store_all(float* to, Vector v) { _mm256_storeu_ps(to, v); }
};

struct Doubles {
  using Data = double;
  using Real = double;
  using Vector = __m256d;
  using One = Doubles;
  static constexpr std::int64_t lanes = 4;
  static constexpr std::size_t registers = 16;

  INLINE Vector load(const double* from, std::int64_t count) {
    const Cut<32> cut(from, 8 * count);
    Vector v = _mm256_loadu_pd(cut.template at<double>());
    __asm__("" : "+x"(v));
    return v;
  }
  INLINE void store(double* to, Vector v, std::int64_t count) {
    if (count == lanes) return _mm256_storeu_pd(to, v);
    std::memcpy(to, &v, static_cast<std::size_t>(8 * count));
  }
  INLINE void store_past(double* to, Vector v) { _mm256_stream_pd(to, v); }
  INLINE Vector load_row(const double* from, std::int64_t count) { return load(from, count); }
  INLINE Vector load_row_twice(const double* from, std::int64_t count) {
    const Cut<16> cut(from, 8 * count);
    const __m256d v = _mm256_castpd128_pd256(_mm_loadu_pd(cut.template at<double>()));
    return _mm256_permute4x64_pd(v, 0b01010000);
  }
  INLINE Vector swap(Vector v) { return _mm256_permute_pd(v, 0b0101); }
  INLINE Vector all(double v) { return _mm256_set1_pd(v); }
  INLINE Vector mul(Vector a, Vector b) { return _mm256_mul_pd(a, b); }
  INLINE Vector mul_add(Vector a, Vector b, Vector c) { return _mm256_fmadd_pd(a, b, c); }
  INLINE Vector mul_sub(Vector a, Vector b, Vector c) { return _mm256_fmsub_pd(a, b, c); }
  INLINE Vector root(Vector v) { return _mm256_sqrt_pd(v); }
  static constexpr std::size_t fold_distances[] = {2, 1};
  template <std::size_t level>
  INLINE Vector fold(Vector a, Vector b) {
    if constexpr (level == 0)
      return _mm256_permute2f128_pd(a, b, 0x20) + _mm256_permute2f128_pd(a, b, 0x31);
    else
      return _mm256_unpacklo_pd(a, b) + _mm256_unpackhi_pd(a, b);
  }
  INLINE Vector of_axis(Vector a, Vector b, const std::uint32_t* axis, std::int32_t which) {
    const __m128i axes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(axis));
    const __m256i is_it = _mm256_cvtepi32_epi64(_mm_cmpeq_epi32(axes, _mm_set1_epi32(which)));
    return _mm256_blendv_pd(a, b, _mm256_castsi256_pd(is_it));
  }
  INLINE void store_all(double* to, Vector v) { _mm256_storeu_pd(to, v); }
  INLINE Vector alternate(double a, double b) { return _mm256_setr_pd(a, b, a, b); }
};

// Up to 8 elements of 16 bits, the others zero. They come through registers: a vector that is
// loaded behind shorter stores would wait for them.
INLINE __m128i load_few(const void* memory, std::int64_t count) {
  if (count >= 8) return _mm_loadu_si128(static_cast<const __m128i*>(memory));
  const char* from = static_cast<const char*>(memory);
  std::uint64_t low = 0, high = 0;
  std::uint32_t two = 0;
  std::uint16_t one = 0;
  if ((count & 4) != 0) std::memcpy(&low, from, sizeof low), from += sizeof low;
  if ((count & 2) != 0) std::memcpy(&two, from, sizeof two), from += sizeof two;
  if ((count & 1) != 0) std::memcpy(&one, from, sizeof one);
  high = two | std::uint64_t{one} << ((count & 2) != 0 ? 32 : 0);
  if ((count & 4) == 0) std::swap(low, high);
  return _mm_set_epi64x(static_cast<std::int64_t>(high), static_cast<std::int64_t>(low));
}

// f16 is widened and narrowed by one instruction each.
struct F16s : Floats {
  using Data = F16;
  INLINE Vector load(const F16* from, std::int64_t count) {
    return _mm256_cvtph_ps(load_few(from, count));
  }
  INLINE __m128i narrow(Vector v) { return _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT); }
  INLINE void store(F16* to, Vector v, std::int64_t count) {
    const __m128i all = narrow(v);
    if (count == lanes) return _mm_storeu_si128(reinterpret_cast<__m128i*>(to), all);
    std::memcpy(static_cast<void*>(to), &all, static_cast<std::size_t>(2 * count));
  }
  INLINE void store_past(F16* to, Vector v) {
    _mm_stream_si128(reinterpret_cast<__m128i*>(to), narrow(v));
  }
};

// The operations on 32 bits that vectors of bf16 are made of (vector_bf16.inc).
struct Words {
  using Bits = __m256i;
  INLINE Bits load(const void* from) {
    return _mm256_loadu_si256(static_cast<const __m256i*>(from));
  }
  INLINE void store(void* to, Bits v) { _mm256_storeu_si256(static_cast<__m256i*>(to), v); }
  // So many elements of 16 bits.
  INLINE Bits load_part(const void* from, std::int64_t count) {
    const auto* const second = static_cast<const __m128i*>(from) + 1;
    return _mm256_set_m128i(count > 8 ? load_few(second, count - 8) : _mm_setzero_si128(),
                            load_few(from, count));
  }
  INLINE void store_part(void* to, Bits v, std::int64_t count) {
    std::memcpy(to, &v, static_cast<std::size_t>(2 * count));
  }
  INLINE void store_past(void* to, Bits v) { _mm256_stream_si256(static_cast<__m256i*>(to), v); }
  INLINE Bits all(std::uint32_t v) { return _mm256_set1_epi32(static_cast<std::int32_t>(v)); }
  INLINE Bits plus(Bits a, Bits b) { return _mm256_add_epi32(a, b); }
  INLINE Bits both(Bits a, Bits b) { return _mm256_and_si256(a, b); }
  INLINE Bits any(Bits a, Bits b) { return _mm256_or_si256(a, b); }
  // To nearest of the upper halves, ties to even: adds half of what is cut off, less 1 unless the
  // last bit kept is odd.
  INLINE Bits rounded(Bits v) { return plus(v, plus(both(down(v), all(1)), all(0x7fff))); }
  INLINE Bits up(Bits v) { return _mm256_slli_epi32(v, 16); }
  INLINE Bits down(Bits v) { return _mm256_srli_epi32(v, 16); }
  INLINE Bits bits(__m256 v) { return _mm256_castps_si256(v); }
  INLINE __m256 number(Bits v) { return _mm256_castsi256_ps(v); }
  // The even and the odd ones of the numbers of two vectors.
  INLINE void apart(__m256 a, __m256 b, __m256& even, __m256& odd) {
    const __m256i order = _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7);
    a = _mm256_permutevar8x32_ps(a, order);
    b = _mm256_permutevar8x32_ps(b, order);
    even = _mm256_permute2f128_ps(a, b, 0x20);
    odd = _mm256_permute2f128_ps(a, b, 0x31);
  }
};

#include "kernels/common/vector_apply.inc"

}  // namespace
}  // namespace ropewalk

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

namespace ropewalk {
namespace {

const RegisteredKernel given_table{vector_table_kernel<code_for_type>(
    "avx2", "256-bit vectors, angles from a table", "avx2,fma,f16c")};
const RegisteredKernel own_angles{vector_phase_kernel<code_for_type>(
    "avx2_phase", "256-bit vectors, computes its angles from a 32-bit integer phase",
    "avx2,fma,f16c")};

}  // namespace
}  // namespace ropewalk
