#include "benchmarks/ceilings/ceilings.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>

#include "kernels/api/cpu_features.h"

namespace ropewalk::bench {
namespace {

double trial_ns(const CeilingLoop& loop, const std::vector<CeilingSpan>& spans,
                std::int64_t passes) {
  const auto start = std::chrono::steady_clock::now();
  for (std::int64_t i = 0; i < passes; ++i) {
    for (const CeilingSpan& span : spans) loop.pass(span);
    __asm__ volatile("" ::: "memory");
  }
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
}

void copy_by_memcpy(const CeilingSpan& s) {
  for (std::int64_t r = 0; r < s.rows; ++r)
    std::memcpy(static_cast<char*>(s.out) + r * s.stride,
                static_cast<const char*>(s.in) + r * s.stride,
                static_cast<std::size_t>(s.row_bytes));
}

#if defined(__x86_64__)
void copy_by_rep_movsb(const CeilingSpan& s) {
  for (std::int64_t r = 0; r < s.rows; ++r) {
    const void* in = static_cast<const char*>(s.in) + r * s.stride;
    void* out = static_cast<char*>(s.out) + r * s.stride;
    auto bytes = static_cast<std::size_t>(s.row_bytes);
    __asm__ volatile("rep movsb" : "+S"(in), "+D"(out), "+c"(bytes) : : "memory");
  }
}
#endif

void add(const CeilingLoop* each, std::vector<CeilingLoop>& out) {
  for (; each->name != nullptr; ++each) out.push_back(*each);
}

void add_all(bool copies, std::vector<CeilingLoop>& out) {
  add(loops_of_16(copies), out);
#if defined(__x86_64__)
  if (missing_cpu_feature("avx2").empty()) add(loops_of_32(copies), out);
  if (missing_cpu_feature("avx512f").empty()) add(loops_of_64(copies), out);
#endif
}

}  // namespace

std::vector<CeilingLoop> update_loops() {
  std::vector<CeilingLoop> out;
  add_all(false, out);
  return out;
}

std::vector<CeilingLoop> copy_loops() {
  std::vector<CeilingLoop> out{{"memcpy", copy_by_memcpy}};
#if defined(__x86_64__)
  out.push_back({"rep movsb", copy_by_rep_movsb});
#endif
  add_all(true, out);
  return out;
}

std::uint64_t sign_flips(Dtype dtype) {
  const std::int64_t bits = 8 * data_type(dtype).bytes;
  std::uint64_t out = 0;
  for (std::int64_t bit = bits - 1; bit < 64; bit += bits) out |= std::uint64_t{1} << bit;
  return out;
}

std::size_t fastest_of(std::vector<std::vector<double>>& times_of_variants) {
  std::vector<double> medians;
  for (std::vector<double>& times : times_of_variants) {
    const auto middle = times.begin() + std::ssize(times) / 2;
    std::nth_element(times.begin(), middle, times.end());
    medians.push_back(*middle);
  }
  return static_cast<std::size_t>(std::min_element(medians.begin(), medians.end()) -
                                  medians.begin());
}

const CeilingLoop& pick_fastest(const std::vector<CeilingLoop>& loops,
                                const std::vector<CeilingSpan>& spans) {
  constexpr int rounds = 5;
  constexpr double epoch_ns = 200e3;
  constexpr std::int64_t passes_max = 100000;
  const double once_ns = std::max(trial_ns(loops.front(), spans, 3) / 3, 1.0);
  const auto passes =
      std::clamp(static_cast<std::int64_t>(epoch_ns / once_ns), std::int64_t{1}, passes_max);
  std::vector<std::vector<double>> times_ns(loops.size());
  for (int round = 0; round < rounds; ++round)
    for (std::size_t i = 0; i < loops.size(); ++i)
      times_ns[i].push_back(trial_ns(loops[i], spans, passes));
  return loops[fastest_of(times_ns)];
}

}  // namespace ropewalk::bench
