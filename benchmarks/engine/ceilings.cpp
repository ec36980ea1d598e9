#include "benchmarks/engine/ceilings.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <type_traits>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#include "kernels/api/cpu_features.h"

namespace ropewalk::bench {
namespace {

// Each loop is written once. The wrappers below compile it for an instruction set.
#define ROPEWALK_INLINE [[gnu::always_inline]] inline

constexpr std::int64_t prefetch_ahead_bytes = 2048;

// Read at run time, so that the compiler cannot turn the operation into something cheaper.
template <class Real>
Real update_factor() {
  static volatile Real factor = std::is_integral_v<Real> ? Real(0x8000) : Real(-1);
  return factor;
}

// Changes the sign. 16-bit data are taken as integers, as no instruction multiplies them.
template <class Real>
ROPEWALK_INLINE Real turned(Real x, Real a) {
  if constexpr (std::is_integral_v<Real>)
    return static_cast<Real>(x ^ a);
  else
    return a * x;
}

struct Plain {
  template <class Real>
  ROPEWALK_INLINE static void update(Real* x, std::int64_t count, Real a) {
    for (std::int64_t i = 0; i < count; ++i) x[i] = turned(x[i], a);
  }
  template <class Real>
  ROPEWALK_INLINE static void copy(const Real* __restrict__ in, Real* __restrict__ out,
                                   std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) out[i] = in[i];  // compilers may make this a memcpy
  }
};

// Takes a cache line at a time and prefetches a line ahead. Prefetching past the end is harmless.
struct Prefetch {
  template <class Real>
  static constexpr std::int64_t line = 64 / static_cast<std::int64_t>(sizeof(Real));

  ROPEWALK_INLINE static const char* ahead(const void* at) {
    return static_cast<const char*>(at) + prefetch_ahead_bytes;
  }
  template <class Real>
  ROPEWALK_INLINE static void update(Real* x, std::int64_t count, Real a) {
    std::int64_t i = 0;
    for (; i + line<Real> <= count; i += line<Real>) {
      __builtin_prefetch(ahead(x + i), 1);
      Plain::update(x + i, line<Real>, a);
    }
    Plain::update(x + i, count - i, a);
  }
  template <class Real>
  ROPEWALK_INLINE static void copy(const Real* __restrict__ in, Real* __restrict__ out,
                                   std::int64_t count) {
    std::int64_t i = 0;
    for (; i + line<Real> <= count; i += line<Real>) {
      __builtin_prefetch(ahead(in + i), 0);
      __builtin_prefetch(ahead(out + i), 1);
      Plain::copy(in + i, out + i, line<Real>);
    }
    Plain::copy(in + i, out + i, count - i);
  }
};

// Takes a cache line from each of `count` parts in turn. Several streams keep more of the memory
// busy.
template <std::int64_t streams>
struct Streams {
  template <class Real>
  ROPEWALK_INLINE static void update(Real* x, std::int64_t count, Real a) {
    constexpr std::int64_t line = Prefetch::line<Real>;
    const std::int64_t part = count / streams / line * line;
    for (std::int64_t i = 0; i < part; i += line)
      for (std::int64_t s = 0; s < streams; ++s) Plain::update(x + s * part + i, line, a);
    Plain::update(x + streams * part, count - streams * part, a);
  }
  template <class Real>
  ROPEWALK_INLINE static void copy(const Real* __restrict__ in, Real* __restrict__ out,
                                   std::int64_t count) {
    constexpr std::int64_t line = Prefetch::line<Real>;
    const std::int64_t part = count / streams / line * line;
    for (std::int64_t i = 0; i < part; i += line)
      for (std::int64_t s = 0; s < streams; ++s)
        Plain::copy(in + s * part + i, out + s * part + i, line);
    Plain::copy(in + streams * part, out + streams * part, count - streams * part);
  }
};

#if defined(__x86_64__)
// Stores that bypass the caches, so that no line is read only to be overwritten. A plain loop takes
// the elements before and after the whole 16-byte pieces.
struct NonTemporal {
  static constexpr std::int64_t piece_bytes = 16;

  template <class Real>
  static std::int64_t before_aligned(const Real* at, std::int64_t count) {
    const auto off = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(at) % piece_bytes);
    const std::int64_t bytes = off == 0 ? 0 : piece_bytes - off;
    return std::min(bytes / static_cast<std::int64_t>(sizeof(Real)), count);
  }
  ROPEWALK_INLINE static void store(float* to, const float* from, float a) {
    _mm_stream_ps(to, _mm_mul_ps(_mm_loadu_ps(from), _mm_set1_ps(a)));
  }
  ROPEWALK_INLINE static void store(double* to, const double* from, double a) {
    _mm_stream_pd(to, _mm_mul_pd(_mm_loadu_pd(from), _mm_set1_pd(a)));
  }
  ROPEWALK_INLINE static void store(std::uint16_t* to, const std::uint16_t* from,
                                    std::uint16_t a = 0) {
    const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    const __m128i turn = _mm_set1_epi16(static_cast<short>(a));
    _mm_stream_si128(reinterpret_cast<__m128i*>(to), _mm_xor_si128(x, turn));
  }
  ROPEWALK_INLINE static void store(float* to, const float* from) {
    _mm_stream_ps(to, _mm_loadu_ps(from));
  }
  ROPEWALK_INLINE static void store(double* to, const double* from) {
    _mm_stream_pd(to, _mm_loadu_pd(from));
  }
  template <class Real>
  ROPEWALK_INLINE static void update(Real* x, std::int64_t count, Real a) {
    constexpr std::int64_t piece = piece_bytes / static_cast<std::int64_t>(sizeof(Real));
    std::int64_t i = before_aligned(x, count);
    Plain::update(x, i, a);
    for (; i + piece <= count; i += piece) store(x + i, x + i, a);
    Plain::update(x + i, count - i, a);
    _mm_sfence();
  }
  template <class Real>
  ROPEWALK_INLINE static void copy(const Real* __restrict__ in, Real* __restrict__ out,
                                   std::int64_t count) {
    constexpr std::int64_t piece = piece_bytes / static_cast<std::int64_t>(sizeof(Real));
    std::int64_t i = before_aligned(out, count);
    Plain::copy(in, out, i);
    for (; i + piece <= count; i += piece) store(out + i, in + i);
    Plain::copy(in + i, out + i, count - i);
    _mm_sfence();
  }
};

struct RepMovsb {
  template <class Real>
  ROPEWALK_INLINE static void copy(const Real* __restrict__ in, Real* __restrict__ out,
                                   std::int64_t count) {
    auto bytes = static_cast<std::size_t>(count) * sizeof(Real);
    __asm__ volatile("rep movsb" : "+S"(in), "+D"(out), "+c"(bytes) : : "memory");
  }
};
#endif

// Merges rows that touch one another into one long row.
ROPEWALK_INLINE CeilingSpan merged(const CeilingSpan& span) {
  if (span.row_elements != span.row_stride) return span;
  return {span.in, span.out, 1, span.rows * span.row_elements, span.rows * span.row_elements};
}

template <class Real, class Loop>
ROPEWALK_INLINE void update_rows(const CeilingSpan& span) {
  const CeilingSpan s = merged(span);
  const Real a = update_factor<Real>();
  for (std::int64_t r = 0; r < s.rows; ++r)
    Loop::update(static_cast<Real*>(s.out) + r * s.row_stride, s.row_elements, a);
}

template <class Real, class Loop>
ROPEWALK_INLINE void copy_rows(const CeilingSpan& span) {
  const CeilingSpan s = merged(span);
  for (std::int64_t r = 0; r < s.rows; ++r)
    Loop::copy(static_cast<const Real*>(s.in) + r * s.row_stride,
               static_cast<Real*>(s.out) + r * s.row_stride, s.row_elements);
}

template <class Real, class Loop>
void update_baseline(const CeilingSpan& span) {
  update_rows<Real, Loop>(span);
}
template <class Real, class Loop>
void copy_baseline(const CeilingSpan& span) {
  copy_rows<Real, Loop>(span);
}

template <class Real>
void copy_memcpy(const CeilingSpan& span) {
  const CeilingSpan s = merged(span);
  const auto row_bytes = static_cast<std::size_t>(s.row_elements) * sizeof(Real);
  for (std::int64_t r = 0; r < s.rows; ++r)
    std::memcpy(static_cast<Real*>(s.out) + r * s.row_stride,
                static_cast<const Real*>(s.in) + r * s.row_stride, row_bytes);
}

#if defined(__x86_64__)
template <class Real, class Loop>
[[gnu::target("avx2")]] void update_avx2(const CeilingSpan& span) {
  update_rows<Real, Loop>(span);
}
template <class Real, class Loop>
[[gnu::target("avx512f")]] void update_avx512(const CeilingSpan& span) {
  update_rows<Real, Loop>(span);
}
template <class Real, class Loop>
[[gnu::target("avx2")]] void copy_avx2(const CeilingSpan& span) {
  copy_rows<Real, Loop>(span);
}
template <class Real, class Loop>
[[gnu::target("avx512f")]] void copy_avx512(const CeilingSpan& span) {
  copy_rows<Real, Loop>(span);
}
#endif

struct Candidate {
  const char* name;
  const char* cpu_features;
  void (*pass)(const CeilingSpan&);
};

std::vector<CeilingVariant> runnable(const std::vector<Candidate>& candidates) {
  std::vector<CeilingVariant> out;
  for (const Candidate& candidate : candidates)
    if (missing_cpu_feature(candidate.cpu_features).empty())
      out.push_back({candidate.name, candidate.pass});
  return out;
}

template <class Real>
std::vector<Candidate> update_candidates() {
  return {
    {"plain loop", nullptr, update_baseline<Real, Plain>},
        {"loop with prefetch", nullptr, update_baseline<Real, Prefetch>},
        {"2 streams", nullptr, update_baseline<Real, Streams<2>>},
        {"4 streams", nullptr, update_baseline<Real, Streams<4>>},
        {"8 streams", nullptr, update_baseline<Real, Streams<8>>},
#if defined(__x86_64__)
        {"non-temporal", nullptr, update_baseline<Real, NonTemporal>},
        {"avx2 loop", "avx2", update_avx2<Real, Plain>},
        {"avx2 loop with prefetch", "avx2", update_avx2<Real, Prefetch>},
        {"avx2 2 streams", "avx2", update_avx2<Real, Streams<2>>},
        {"avx2 4 streams", "avx2", update_avx2<Real, Streams<4>>},
        {"avx512 loop", "avx512f", update_avx512<Real, Plain>},
        {"avx512 loop with prefetch", "avx512f", update_avx512<Real, Prefetch>},
        {"avx512 2 streams", "avx512f", update_avx512<Real, Streams<2>>},
        {"avx512 4 streams", "avx512f", update_avx512<Real, Streams<4>>},
#endif
  };
}

template <class Real>
std::vector<Candidate> copy_candidates() {
  return {
    {"memcpy", nullptr, copy_memcpy<Real>}, {"plain loop", nullptr, copy_baseline<Real, Plain>},
        {"loop with prefetch", nullptr, copy_baseline<Real, Prefetch>},
        {"2 streams", nullptr, copy_baseline<Real, Streams<2>>},
        {"4 streams", nullptr, copy_baseline<Real, Streams<4>>},
#if defined(__x86_64__)
        {"non-temporal", nullptr, copy_baseline<Real, NonTemporal>},
        {"rep movsb", nullptr, copy_baseline<Real, RepMovsb>},
        {"avx2 loop", "avx2", copy_avx2<Real, Plain>},
        {"avx2 loop with prefetch", "avx2", copy_avx2<Real, Prefetch>},
        {"avx2 4 streams", "avx2", copy_avx2<Real, Streams<4>>},
        {"avx512 loop", "avx512f", copy_avx512<Real, Plain>},
        {"avx512 loop with prefetch", "avx512f", copy_avx512<Real, Prefetch>},
        {"avx512 4 streams", "avx512f", copy_avx512<Real, Streams<4>>},
#endif
  };
}

double trial_ns(const CeilingVariant& variant, const std::vector<CeilingSpan>& spans,
                std::int64_t passes) {
  const auto start = std::chrono::steady_clock::now();
  for (std::int64_t i = 0; i < passes; ++i) {
    for (const CeilingSpan& span : spans) variant.pass(span);
    __asm__ volatile("" ::: "memory");
  }
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

std::vector<CeilingVariant> update_variants(Dtype dtype) {
  if (data_type(dtype).bytes == 2) return runnable(update_candidates<std::uint16_t>());
  return runnable(dtype == Dtype::f64 ? update_candidates<double>() : update_candidates<float>());
}

std::vector<CeilingVariant> copy_variants(Dtype dtype) {
  if (data_type(dtype).bytes == 2) return runnable(copy_candidates<std::uint16_t>());
  return runnable(dtype == Dtype::f64 ? copy_candidates<double>() : copy_candidates<float>());
}

const CeilingVariant& pick_fastest(const std::vector<CeilingVariant>& variants,
                                   const std::vector<CeilingSpan>& spans) {
  constexpr int rounds = 5;
  constexpr double epoch_ns = 200e3;
  constexpr std::int64_t passes_max = 100000;
  const double once_ns = std::max(trial_ns(variants.front(), spans, 3) / 3, 1.0);
  const auto passes =
      std::clamp(static_cast<std::int64_t>(epoch_ns / once_ns), std::int64_t{1}, passes_max);
  std::vector<std::vector<double>> times_ns(variants.size());
  for (int round = 0; round < rounds; ++round)
    for (std::size_t i = 0; i < variants.size(); ++i)
      times_ns[i].push_back(trial_ns(variants[i], spans, passes));
  std::size_t best = 0;
  for (std::size_t i = 0; i < variants.size(); ++i) {
    std::nth_element(times_ns[i].begin(), times_ns[i].begin() + rounds / 2, times_ns[i].end());
    if (times_ns[i][rounds / 2] < times_ns[best][rounds / 2]) best = i;
  }
  return variants[best];
}

}  // namespace ropewalk::bench
