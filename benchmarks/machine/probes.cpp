#include "benchmarks/machine/probes.h"

#include <algorithm>
#include <chrono>
#include <sstream>
#include <vector>

namespace ropewalk::bench {
namespace {

using Clock = std::chrono::steady_clock;

double ns_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double, std::nano>(to - from).count();
}

}  // namespace

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

CoreProbe core_probe() {
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

std::optional<CpuTicks> cpu_ticks(const SystemFiles& files) {
  // user nice system idle iowait irq softirq steal; guest time is part of user time.
  std::istringstream words(files.line_value("/proc/stat", "cpu", ' '));
  CpuTicks out;
  for (int kind = 0; kind < 8; ++kind) {
    if (!(words >> out.stolen) || out.stolen < 0 || out.stolen > std::int64_t{1} << 56)
      return std::nullopt;
    out.all += out.stolen;
  }
  return out;
}

std::optional<double> stolen_share(const SystemFiles& files) {
  const auto ticks = cpu_ticks(files);
  if (!ticks) return std::nullopt;
  return ticks->all == 0 ? 0 : static_cast<double>(ticks->stolen) / static_cast<double>(ticks->all);
}

}  // namespace ropewalk::bench
