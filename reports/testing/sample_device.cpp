// The sample with a device: kernels on boards of their own, floors, and clocks that fall.
#include <algorithm>

#include "reports/testing/sample_results.h"

namespace ropewalk::report {
namespace {

struct DeviceSize {
  const char* name;
  const char* phase;
  std::int64_t tokens;
};
constexpr DeviceSize sizes[] = {
    {"llama-3-8b/decode-1", "decode", 1},         {"llama-3-8b/decode-8", "decode", 8},
    {"llama-3-8b/decode-64", "decode", 64},       {"llama-3-8b/prefill-2048", "prefill", 2048},
    {"llama-3-8b/prefill-8192", "prefill", 8192}, {"llama-3-8b/prefill-32768", "prefill", 32768}};

struct DeviceSample {
  const char *name, *angles;
  Role role;
  double us, gb_per_s;  ///< a call takes us, and bytes at this speed
};
constexpr DeviceSample contestants[] = {
    {"cuda_naive", "table", Role::baseline, 3.4, 640},
    {"cuda_naive (twin)", "table", Role::null_twin, 3.4, 640},
    {"cuda", "table", Role::kernel, 2.05, 2870},
    {"device_update", "table", Role::ceiling, 1.8, 2990},
    {"floor", "table", Role::floor, 1.2, 1e12},
    {"floor_copy", "table", Role::floor, 1.9, 2900},
    {"cuda_phase", "computed", Role::baseline, 2.2, 2850},
    {"cuda_phase (twin)", "computed", Role::null_twin, 2.2, 2850},
    {"device_update", "computed", Role::ceiling, 1.8, 2990},
    {"floor", "computed", Role::floor, 1.2, 1e12},
    {"floor_copy", "computed", Role::floor, 1.9, 2900}};

TimingRow timing_of(const DeviceSize& size, const DeviceSample& of, std::int64_t launch) {
  TimingRow row = sample_device_timing();
  row.kernel = of.name;
  row.role = of.role;
  row.board = std::string("half_split / f32 / in place / ") + of.angles + " / cuda";
  row.workload = size.name;
  row.phase = size.phase;
  row.tokens = size.tokens;
  row.bytes = row.kernel == floor_name ? 0 : 40960 * size.tokens;
  row.working_set_bytes = 20480 * size.tokens;
  row.sets =
      row.phase == "decode" ? 1 : std::max<std::int64_t>(2, 150'000'000 / (40960 * size.tokens));
  row.launch = launch;
  row.variant = row.is_ceiling() ? "update, 4 vectors a thread" : "";
  const double tokens = static_cast<double>(size.tokens);
  const double ns = of.us * 1000 / tokens + 40960 / of.gb_per_s;
  row.ns_per_token.clear();
  for (std::int64_t i = 0; i < 15; ++i)
    row.ns_per_token.push_back(
        ns * (1 + 0.001 * static_cast<double>((7 * i + of.name[0] + launch) % 5)));
  row.iterations.assign(row.ns_per_token.size(), 200);
  row.ns_per_token_median = ns * 1.002;
  row.gb_per_s_median = static_cast<double>(row.bytes) / (row.ns_per_token_median * tokens);
  row.host_ns_per_token = ns + 9000 / tokens;
  if (row.is_reference()) row.judged_on.clear();
  if (size.tokens == 32768) {
    row.sm_mhz_after = 1755;
    row.throttled = "power cap";
  }
  return row;
}

}  // namespace

TimingRow sample_device_timing() {
  TimingRow row = sample_timing();
  row.kernel = "cuda";
  row.board = "half_split / f32 / in place / table / cuda";
  row.judged_on = "cuda: NVIDIA H100 80GB HBM3";
  row.device = "NVIDIA H100 80GB HBM3, sm_90, 132 multiprocessors, L2 50 MiB, driver 580.95";
  row.sets = 24;
  row.host_ns_per_token = 0.55;
  row.sm_mhz_before = row.sm_mhz_after = 1980;
  return row;
}

Results sample_device_results() {
  Results results = sample_results();
  for (const char* kernel : {"cuda", "cuda_naive", "cuda_phase"})
    for (const char* property : {"agreement", "position_sweep", "norm"}) {
      results.verdicts.push_back(sample_verdict());
      VerdictRow& row = results.verdicts.back();
      row.kernel = kernel;
      row.property = property;
      row.judged_on = "cuda: NVIDIA H100 80GB HBM3";
    }
  for (const DeviceSize& size : sizes)
    for (std::int64_t launch = 0; launch < 2; ++launch)
      for (const DeviceSample& of : contestants)
        results.timings.push_back(timing_of(size, of, launch));
  return results;
}

Results hostile_results() {
  const std::string hostile =
      "<script>console.error(1)</script><img src=http://127.0.0.1:9/x onerror=alert(2)>\"'>&amp;|`"
      "]](http://evil.test)\n# =cmd(){{headline}}" +
      std::string(300, 'w') + "\xe2\x80\xae rtl \xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d \x1b[31m\x01\xff";
  Results results = sample_device_results();
  results.run.command = results.run.version = results.run.profile = hostile;
  results.run.started_at = results.run.environment[hostile] = hostile;
  for (VerdictRow& row : results.verdicts) {
    for (std::string* name : {&row.kernel, &row.property, &row.pairing, &row.dtype})
      *name += hostile;
    row.summary = row.plugin = row.angle_contract = row.claim = row.reason = row.bound_unit =
        row.where = row.diagnosis = row.shrunk_case = row.replay = hostile;
    row.judged_on = std::string(by_device) + hostile;
  }
  for (TimingRow& row : results.timings) {
    if (!row.is_reference()) row.kernel += hostile;
    row.summary = row.source = row.reason = hostile;
    if (row.tokens == 1) row.phase = hostile;
    row.workload += hostile;
    row.board += hostile;
    if (row.device.empty()) continue;
    row.board += " / cuda";
    row.device = row.throttled = hostile;
  }
  for (CurveRow& row : results.curves) {
    row.series += hostile;
    row.note = hostile;
  }
  return results;
}

}  // namespace ropewalk::report
