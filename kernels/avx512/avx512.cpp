// AVX-512: vectors of 512 bits, with a table (`avx512`, and `avx512_bf16` of processors that narrow
// to bf16 themselves) or with angles of its own (`avx512_phase`).
// Every load and store that may be cut is masked, so a short window takes the same arithmetic as a
// long one, and a pair's bits do not depend on its place.
// What was tried, and what it gave: docs/vector-kernels.md.
#include <immintrin.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/api/kernel.h"
#include "kernels/common/vector_kernel.h"

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512vl"))), \
                             apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl")
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // g++ 12, of _mm512_undefined (bug 105593)
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

namespace ropewalk {
namespace {

#include "kernels/common/vector_turn.inc"

struct Floats {
  using Data = float;
  using Real = float;
  using Vector = __m512;
  using One = Floats;
  static constexpr std::int64_t lanes = 16;
  static constexpr std::size_t registers = 32;

  INLINE __mmask16 first(std::int64_t count) {
    return static_cast<__mmask16>(count >= lanes ? 0xffffu : (1u << count) - 1u);
  }
  INLINE Vector load(const float* from, std::int64_t count) {
    Vector v = count == lanes ? _mm512_loadu_ps(from) : _mm512_maskz_loadu_ps(first(count), from);
    __asm__("" : "+v"(v));  // else g++ loads it twice, for each of two products
    return v;
  }
  INLINE void store(float* to, Vector v, std::int64_t count) {
    count == lanes ? _mm512_storeu_ps(to, v) : _mm512_mask_storeu_ps(to, first(count), v);
  }
  INLINE void store_past(float* to, Vector v) { _mm512_stream_ps(to, v); }
  INLINE Vector load_row(const float* from, std::int64_t count) { return load(from, count); }
  INLINE Vector load_row_twice(const float* from, std::int64_t count) {
    const __m512i index = _mm512_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7);
    return _mm512_permutexvar_ps(index, _mm512_maskz_loadu_ps(first(count), from));
  }
  INLINE Vector swap(Vector v) { return _mm512_permute_ps(v, 0b10110001); }
  INLINE Vector all(float v) { return _mm512_set1_ps(v); }
  INLINE Vector mul(Vector a, Vector b) { return _mm512_mul_ps(a, b); }
  INLINE Vector mul_add(Vector a, Vector b, Vector c) { return _mm512_fmadd_ps(a, b, c); }
  INLINE Vector mul_sub(Vector a, Vector b, Vector c) { return _mm512_fmsub_ps(a, b, c); }
  INLINE Vector root(Vector v) { return _mm512_sqrt_ps(v); }
  static constexpr std::size_t fold_distances[] = {4, 8, 1, 2};
  template <std::size_t level>
  INLINE Vector fold(Vector a, Vector b) {
    constexpr int low = level % 2 == 0 ? 0x44 : 0x88, high = level % 2 == 0 ? 0xee : 0xdd;
    if constexpr (level < 2)
      return _mm512_shuffle_f32x4(a, b, low) + _mm512_shuffle_f32x4(a, b, high);
    else
      return _mm512_shuffle_ps(a, b, low) + _mm512_shuffle_ps(a, b, high);
  }
  INLINE Vector of_axis(Vector a, Vector b, const std::uint32_t* axis, std::int32_t which) {
    const __m512i axes = _mm512_loadu_si512(axis);
    return _mm512_mask_blend_ps(_mm512_cmpeq_epi32_mask(axes, _mm512_set1_epi32(which)), a, b);
  }
  INLINE Vector alternate(float a, float b) { return _mm512_mask_blend_ps(0xaaaa, all(a), all(b)); }

  // For angles: 32-bit integers in the lanes. The position of all pairs, or that of each pair's
  // axis.
  using Integers = __m512i;
  INLINE Integers everywhere(std::int64_t position) {
    return _mm512_set1_epi32(static_cast<std::int32_t>(position));
  }
  INLINE Integers of_axes(const std::int64_t* positions, const std::uint32_t* axis) {
    const __m256i at = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(positions));
    return _mm512_permutexvar_epi32(_mm512_loadu_si512(axis),
                                    _mm512_castsi128_si512(_mm256_cvtepi64_epi32(at)));
  }
  INLINE __m512i phases(const std::uint32_t* high, const std::uint32_t* low, Integers m) {
    const __m512i l = _mm512_loadu_si512(low);
    const __m512i even = _mm512_srli_epi64(_mm512_mul_epu32(l, m), 32);
    const __m512i odd = _mm512_mul_epu32(_mm512_srli_epi64(l, 32), _mm512_srli_epi64(m, 32));
    const __m512i carry = _mm512_mask_blend_epi32(0xaaaa, even, odd);
    const __m512i sum = _mm512_add_epi32(carry, _mm512_mullo_epi32(_mm512_loadu_si512(high), m));
    // The upper half of a negative position is -1.
    return _mm512_mask_sub_epi32(sum, _mm512_cmplt_epi32_mask(m, _mm512_setzero_si512()), sum, l);
  }
  INLINE __m512i plus(__m512i v, std::uint32_t by) {
    return _mm512_add_epi32(v, _mm512_set1_epi32(static_cast<std::int32_t>(by)));
  }
  template <int bits>
  INLINE __m512i left(__m512i v) {
    return _mm512_slli_epi32(v, bits);
  }
  INLINE Vector signed_numbers(__m512i v) { return _mm512_cvtepi32_ps(v); }
  // a where the upper bit is set, else b; and v negated where it is set.
  INLINE Vector where(__m512i bits, Vector a, Vector b) {
    return _mm512_mask_blend_ps(_mm512_cmplt_epi32_mask(bits, _mm512_setzero_si512()), b, a);
  }
  INLINE Vector flip(Vector v, __m512i bits) {
    const __m512i sign = _mm512_and_si512(bits, _mm512_set1_epi32(INT32_MIN));
    return _mm512_castsi512_ps(_mm512_xor_si512(_mm512_castps_si512(v), sign));
  }
  INLINE void store_all(float* to, Vector v) { _mm512_storeu_ps(to, v); }
};

struct Doubles {
  using Data = double;
  using Real = double;
  using Vector = __m512d;
  using One = Doubles;
  static constexpr std::int64_t lanes = 8;
  static constexpr std::size_t registers = 32;

  INLINE __mmask8 first(std::int64_t count) {
    return static_cast<__mmask8>(count >= lanes ? 0xffu : (1u << count) - 1u);
  }
  INLINE Vector load(const double* from, std::int64_t count) {
    Vector v = count == lanes ? _mm512_loadu_pd(from) : _mm512_maskz_loadu_pd(first(count), from);
    __asm__("" : "+v"(v));
    return v;
  }
  INLINE void store(double* to, Vector v, std::int64_t count) {
    count == lanes ? _mm512_storeu_pd(to, v) : _mm512_mask_storeu_pd(to, first(count), v);
  }
  INLINE void store_past(double* to, Vector v) { _mm512_stream_pd(to, v); }
  INLINE Vector load_row(const double* from, std::int64_t count) { return load(from, count); }
  INLINE Vector load_row_twice(const double* from, std::int64_t count) {
    return _mm512_permutexvar_pd(_mm512_setr_epi64(0, 0, 1, 1, 2, 2, 3, 3),
                                 _mm512_maskz_loadu_pd(first(count), from));
  }
  INLINE Vector swap(Vector v) { return _mm512_permute_pd(v, 0b01010101); }
  INLINE Vector all(double v) { return _mm512_set1_pd(v); }
  INLINE Vector mul(Vector a, Vector b) { return _mm512_mul_pd(a, b); }
  INLINE Vector mul_add(Vector a, Vector b, Vector c) { return _mm512_fmadd_pd(a, b, c); }
  INLINE Vector mul_sub(Vector a, Vector b, Vector c) { return _mm512_fmsub_pd(a, b, c); }
  INLINE Vector root(Vector v) { return _mm512_sqrt_pd(v); }
  static constexpr std::size_t fold_distances[] = {2, 4, 1};
  template <std::size_t level>
  INLINE Vector fold(Vector a, Vector b) {
    constexpr int low = level == 0 ? 0x44 : 0x88, high = level == 0 ? 0xee : 0xdd;
    if constexpr (level < 2)
      return _mm512_shuffle_f64x2(a, b, low) + _mm512_shuffle_f64x2(a, b, high);
    else
      return _mm512_unpacklo_pd(a, b) + _mm512_unpackhi_pd(a, b);
  }
  INLINE Vector of_axis(Vector a, Vector b, const std::uint32_t* axis, std::int32_t which) {
    const __m256i axes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(axis));
    return _mm512_mask_blend_pd(_mm256_cmpeq_epi32_mask(axes, _mm256_set1_epi32(which)), a, b);
  }
  INLINE void store_all(double* to, Vector v) { _mm512_storeu_pd(to, v); }
  INLINE Vector alternate(double a, double b) { return _mm512_mask_blend_pd(0xaa, all(a), all(b)); }
};

// f16 is widened and narrowed by one instruction each.
struct F16s : Floats {
  using Data = F16;
  INLINE Vector load(const F16* from, std::int64_t count) {
    const __m256i v = count == lanes ? _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from))
                                     : _mm256_maskz_loadu_epi16(first(count), from);
    return _mm512_cvtph_ps(v);
  }
  INLINE void store(F16* to, Vector v, std::int64_t count) {
    const __m256i narrow = _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT);
    if (count == lanes)
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), narrow);
    else
      _mm256_mask_storeu_epi16(to, first(count), narrow);
  }
  INLINE void store_past(F16* to, Vector v) {
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to),
                        _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
  }
};

// The operations on 32 bits that vectors of bf16 are made of (vector_bf16.inc).
struct Words {
  using Bits = __m512i;
  INLINE Bits load(const void* from) { return _mm512_loadu_si512(from); }
  INLINE void store(void* to, Bits v) { _mm512_storeu_si512(to, v); }
  // So many elements of 16 bits.
  INLINE __mmask32 first(std::int64_t count) {
    return static_cast<__mmask32>((std::uint64_t{1} << count) - 1);
  }
  INLINE Bits load_part(const void* from, std::int64_t count) {
    return _mm512_maskz_loadu_epi16(first(count), from);
  }
  INLINE void store_part(void* to, Bits v, std::int64_t count) {
    _mm512_mask_storeu_epi16(to, first(count), v);
  }
  INLINE void store_past(void* to, Bits v) { _mm512_stream_si512(static_cast<__m512i*>(to), v); }
  INLINE Bits all(std::uint32_t v) { return _mm512_set1_epi32(static_cast<std::int32_t>(v)); }
  INLINE Bits plus(Bits a, Bits b) { return _mm512_add_epi32(a, b); }
  INLINE Bits both(Bits a, Bits b) { return _mm512_and_si512(a, b); }
  INLINE Bits any(Bits a, Bits b) { return _mm512_or_si512(a, b); }
  // To nearest of the upper halves, ties to even: adds half of what is cut off, less 1 unless the
  // last bit kept is odd.
  INLINE Bits rounded(Bits v) {
    const __mmask16 odd = _mm512_test_epi32_mask(v, all(0x10000));
    return plus(v, _mm512_mask_blend_epi32(odd, all(0x7fff), all(0x8000)));
  }
  INLINE Bits up(Bits v) { return _mm512_slli_epi32(v, 16); }
  INLINE Bits down(Bits v) { return _mm512_srli_epi32(v, 16); }
  INLINE Bits bits(__m512 v) { return _mm512_castps_si512(v); }
  INLINE __m512 number(Bits v) { return _mm512_castsi512_ps(v); }
  // The even and the odd ones of the numbers of two vectors.
  INLINE void apart(__m512 a, __m512 b, __m512& even, __m512& odd) {
    const __m512i order =
        _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    even = _mm512_permutex2var_ps(a, order, b);
    odd = _mm512_permutex2var_ps(a, _mm512_add_epi32(order, _mm512_set1_epi32(1)), b);
  }
};

// Narrows by the processor's own conversion, which makes a subnormal number 0. Written so that the
// other kernels of this file, which must run without it, cannot contain it.
struct ByConversion {
  INLINE __m512i narrow(__m512 even, __m512 odd) {
    __m512i v;
    __asm__("vcvtne2ps2bf16 %2, %1, %0" : "=v"(v) : "v"(odd), "v"(even));
    const __m512i order =
        _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
                         21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    return _mm512_permutexvar_epi16(order, v);
  }
};

#include "kernels/common/vector_apply.inc"

}  // namespace
}  // namespace ropewalk

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC diagnostic pop
#pragma GCC pop_options
#endif

namespace ropewalk {
namespace {

const RegisteredKernel given_table{vector_table_kernel<code_for_type>(
    "avx512", "512-bit vectors, angles from a table", "avx512f,avx512bw,avx512vl")};
const RegisteredKernel converted{[] {
  KernelInfo k = vector_table_kernel<code_for<Bf16sBy<ByConversion>>>(
      "avx512_bf16", "bf16 by the processor's own conversion",
      "avx512f,avx512bw,avx512vl,avx512bf16");
  k.flags |= ROPE_FLUSHES_SUBNORMALS;
  k.supports = [](const rope_problem* p, const char** reason) {
    if (p->tensor[0].in_dtype != ROPE_BF16) return refuse(reason, "only bf16 data");
    return supports_vectors(*p, ROPE_ANGLES_TABLE, reason);
  };
  return k;
}()};
const RegisteredKernel own_angles{vector_phase_kernel<code_for_type>(
    "avx512_phase", "512-bit vectors, computes its angles from a 32-bit integer phase",
    "avx512f,avx512bw,avx512vl")};

}  // namespace
}  // namespace ropewalk
