#include "benchmarks/ceilings.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <initializer_list>

#include "kernels/api/cpu_features.h"
#include "kernels/api/rope_kernel.h"

namespace ropewalk {
namespace {

// Each loop is written once; the wrappers below compile it for an instruction set.
#define ROPEWALK_INLINE [[gnu::always_inline]] inline

constexpr std::int64_t prefetch_ahead_bytes = 2048;

// Read at run time, so that the multiplication is not turned into something cheaper.
template <class Real>
Real update_factor() {
  static volatile Real factor = Real(-1);
  return factor;
}

struct Plain {
  template <class Real>
  ROPEWALK_INLINE static void update(Real* x, std::int64_t count, Real a) {
    for (std::int64_t i = 0; i < count; ++i) x[i] = a * x[i];
  }
  template <class Real>
  ROPEWALK_INLINE static void copy(const Real* __restrict__ in, Real* __restrict__ out,
                                   std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) out[i] = in[i];  // compilers may make it a memcpy
  }
};

// A cache line at a time, asking for the line some way ahead. Prefetching past the end is harmless.
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

// Rows that touch one another are one long row.
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

std::vector<CeilingVariant> runnable(std::initializer_list<Candidate> candidates) {
  std::vector<CeilingVariant> out;
  for (const Candidate& candidate : candidates)
    if (missing_cpu_feature(candidate.cpu_features).empty())
      out.push_back({candidate.name, candidate.pass});
  return out;
}

template <class Real>
std::vector<CeilingVariant> update_variants_of() {
  return runnable({
    {"plain loop", nullptr, update_baseline<Real, Plain>},
        {"loop with prefetch", nullptr, update_baseline<Real, Prefetch>},
#if defined(__x86_64__)
        {"avx2 loop", "avx2", update_avx2<Real, Plain>},
        {"avx2 loop with prefetch", "avx2", update_avx2<Real, Prefetch>},
        {"avx512 loop", "avx512f", update_avx512<Real, Plain>},
        {"avx512 loop with prefetch", "avx512f", update_avx512<Real, Prefetch>},
#endif
  });
}

template <class Real>
std::vector<CeilingVariant> copy_variants_of() {
  return runnable({
    {"memcpy", nullptr, copy_memcpy<Real>}, {"plain loop", nullptr, copy_baseline<Real, Plain>},
        {"loop with prefetch", nullptr, copy_baseline<Real, Prefetch>},
#if defined(__x86_64__)
        {"avx2 loop", "avx2", copy_avx2<Real, Plain>},
        {"avx2 loop with prefetch", "avx2", copy_avx2<Real, Prefetch>},
        {"avx512 loop", "avx512f", copy_avx512<Real, Plain>},
        {"avx512 loop with prefetch", "avx512f", copy_avx512<Real, Prefetch>},
#endif
  });
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

std::vector<CeilingVariant> update_variants(std::int32_t dtype) {
  return dtype == ROPE_F64 ? update_variants_of<double>() : update_variants_of<float>();
}

std::vector<CeilingVariant> copy_variants(std::int32_t dtype) {
  return dtype == ROPE_F64 ? copy_variants_of<double>() : copy_variants_of<float>();
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

}  // namespace ropewalk
