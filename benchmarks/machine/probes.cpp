#include "benchmarks/machine/probes.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <chrono>
#include <sstream>
#include <vector>

#include "kernels/api/cpu_features.h"

namespace ropewalk::bench {
namespace {

using Clock = std::chrono::steady_clock;

double ns_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double, std::nano>(to - from).count();
}

/// The time of one step in a chain of dependent multiplications, in ns.
double ns_of_chain(int steps) {
  std::uint64_t chain = 1;
  const auto start = Clock::now();
  for (int step = 0; step < steps; ++step) {
    chain = chain * 6364136223846793005u + 1;
    asm volatile("" : "+r"(chain));  // each step waits for the previous one
  }
  return ns_between(start, Clock::now()) / steps;
}

#if defined(__x86_64__)
[[gnu::target("avx512f")]] void burst_of_512_bit(int steps) {
  __m512 a = _mm512_set1_ps(1), b = a, c = a, d = a;
  const __m512 factor = _mm512_set1_ps(0.9999f), term = _mm512_set1_ps(0.0001f);
  for (int step = 0; step < steps; ++step) {
    a = _mm512_fmadd_ps(a, factor, term), b = _mm512_fmadd_ps(b, factor, term);
    c = _mm512_fmadd_ps(c, factor, term), d = _mm512_fmadd_ps(d, factor, term);
    asm volatile("" : "+v"(a), "+v"(b), "+v"(c), "+v"(d));
  }
}
#endif

}  // namespace

SpinProbe spin_probe(int samples) {
  constexpr int steps = 50'000;
  std::vector<double> ns;
  for (int i = 0; i < samples; ++i) ns.push_back(ns_of_chain(steps));
  std::ranges::sort(ns);
  const std::size_t count = ns.size();
  return {ns[count / 2], (ns[count * 9 / 10] - ns[0]) / ns[0]};
}

// Loads over L2 would tell too much: after a kernel that had left it full of lines to write back
// they took up to a third longer.
double throughput_probe() {
  static const std::vector<std::uint64_t> lines(2048, 1);  // 16 KiB
  double ns = 0;
  for (int time = 0; time < 2; ++time) {  // what ran before may have left nothing of it in L1
    std::uint64_t chains[6] = {1, 2, 3, 4, 5, 6};
    const auto start = Clock::now();
    for (int step = 0; step < 800; ++step)
      for (std::uint64_t& chain : chains) {
        chain *= 6364136223846793005u;
        asm volatile("" : "+r"(chain));
      }
    for (int sweep = 0; sweep < 12; ++sweep) {
      std::uint64_t sums[4] = {};
      for (std::size_t at = 0; at < lines.size(); at += 32)
        for (std::size_t i = 0; i < 4; ++i) sums[i] += lines[at + 8 * i];
      asm volatile("" : : "r"(sums[0] + sums[1] + sums[2] + sums[3]) : "memory");
    }
    ns = ns_between(start, Clock::now());
  }
  return ns;
}

SpinProbe core_probe() {
  std::vector<double> ns(10'000);
  for (double& each : ns) each = throughput_probe();
  std::ranges::sort(ns);
  const double best = ns[ns.size() / 50];
  return {ns[ns.size() / 2], ns[ns.size() * 9 / 10] / best - 1};
}

double copied_bytes_per_s() {
  const std::vector<char> from(std::size_t{64} << 20, 1);
  std::vector<char> to(from.size());
  double best_ns = 1e18;
  for (int i = 0; i < 3; ++i) {
    const auto start = Clock::now();
    std::copy(from.begin(), from.end(), to.begin());
    asm volatile("" : : "r"(to.data()) : "memory");
    best_ns = std::min(best_ns, ns_between(start, Clock::now()));
  }
  return 2e9 * static_cast<double>(from.size()) / best_ns;
}

std::optional<double> scalar_after_512_bit() {
#if defined(__x86_64__)
  if (!missing_cpu_feature("avx512f").empty()) return std::nullopt;
  // The two take turns, so that drift cancels out. The chain is shorter than the clock takes to
  // recover.
  constexpr int times = 15, burst = 200'000, steps = 20'000;
  std::vector<double> ratios;
  for (int i = 0; i < times; ++i) {
    ns_of_chain(burst);
    const double after_scalar = ns_of_chain(steps);
    burst_of_512_bit(burst);
    ratios.push_back(ns_of_chain(steps) / after_scalar);
  }
  std::nth_element(ratios.begin(), ratios.begin() + times / 2, ratios.end());
  return ratios[times / 2];
#else
  return std::nullopt;
#endif
}

TimerProbe timer_probe() {
  constexpr int reads = 20'000;
  double smallest = 1e9;
  const auto start = Clock::now();
  auto before = start, now = start;
  for (int i = 0; i < reads; ++i) {
    now = Clock::now();
    if (now != before) smallest = std::min(smallest, ns_between(before, now));
    before = now;
  }
  return {ns_between(start, now) / reads, smallest};
}

std::optional<CpuTicks> cpu_ticks(const SystemFiles& files, const std::string& name) {
  // user nice system idle iowait irq softirq steal; guest time is part of user time.
  std::istringstream words(files.line_value("/proc/stat", name, ' '));
  std::int64_t ticks[8] = {};
  for (std::int64_t& tick : ticks)
    if (!(words >> tick) || tick < 0 || tick > std::int64_t{1} << 56) return std::nullopt;
  return CpuTicks{ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6], ticks[3] + ticks[4],
                  ticks[7]};
}

std::optional<double> stolen_share(const SystemFiles& files) {
  const auto ticks = cpu_ticks(files, "cpu");
  if (!ticks) return std::nullopt;
  const std::int64_t all = ticks->busy + ticks->idle + ticks->stolen;
  return all == 0 ? 0 : static_cast<double>(ticks->stolen) / static_cast<double>(all);
}

}  // namespace ropewalk::bench
