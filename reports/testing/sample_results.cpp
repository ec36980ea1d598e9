#include "reports/testing/sample_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

namespace ropewalk::report {
namespace {

struct SampleKernel {
  const char* name;
  const char* summary;
  const char* plugin;
  const char* contract;
  double ns;  ///< ns per token
};

const std::vector<SampleKernel> kernels = {
    {"dense", "the d x d matrix, built and multiplied (Eigen)", "", "table", 21400},
    {"elementwise", "x cos + rotate(x) sin, RoFormer eq. 34", "", "table", 341.2},
    {"plain", "the five-line loop a user would write first", "", "table", 157.3},
    {"phase", "computes its own angles by the integer phase, scalar", "", "exact", 1204},
    {"wrong_way", "rotates by -angle", "libwrong_way.so", "table", 0}};

struct SampleProperty {
  const char* name;
  const char* claim;
  double margin;
  bool sees_direction;
};

const std::vector<SampleProperty> properties = {
    {"agreement", "|y - exact| <= 3u |pair| on random shapes", 0.487, true},
    {"position_sweep", "the same at every position 0 .. 131,071 and at the edges of int32", 0.913,
     true},
    {"norm", "rotation keeps the length of each pair and of each head", 0.312, false},
    {"relative_position", "q.k depends on m - n only", 0.0441, false},
    {"decay", "prefix sums of the kernel equal those of the reference", 0.873, true},
    {"identity_at_zero", "position 0 changes nothing", 0, false},
    {"transpose", "transpose undoes forward", 0.288, false},
    {"untouched_dims", "dims outside the window keep their bits", 0, false},
    {"unwritten_outputs", "every output element is written", 0, false}};

void add_verdicts(Results& results) {
  int salt = 0;
  for (const SampleKernel& kernel : kernels)
    for (const char* pairing : {"half_split", "interleaved"})
      for (const char* dtype : {"f32", "f64"})
        for (const SampleProperty& property : properties) {
          VerdictRow row = sample_verdict();
          row.kernel = kernel.name;
          row.summary = kernel.summary;
          row.plugin = kernel.plugin;
          row.angle_contract = kernel.contract;
          row.pairing = pairing;
          row.dtype = dtype;
          row.property = property.name;
          row.claim = property.claim;
          row.margin = property.margin * (1 - 0.013 * (salt++ % 7));
          const bool wrong = std::string(kernel.name) == "wrong_way";
          if (wrong && std::string(dtype) == "f64") {
            row.verdict = Verdict::unsupported;
            row.reason = "only f32";
            row.planned = row.executed = row.compared_cases = row.compared = 0;
          } else if (wrong && property.sees_direction) {
            row.verdict = Verdict::fail;
            row.margin = 4.13e6;
            row.reason = "an output is 4.13e6 times further from the truth than its bound";
            row.where = "q, batch 0, token 1, head 0, pair 0 (dims 0 and 64), position 1";
            row.diagnosis = "gain 1.0000, phase -2.0000 rad: the rotation has the wrong direction";
            row.shrunk_case =
                "pairing=half_split dtype=f32 q=1x1x1x2 rotary_dim=2 positions=1 seed=0x7";
            row.replay =
                "ropewalk replay 'kernel=wrong_way;plugin=libwrong_way.so;case=1x1x1x2;seed=0x7'";
          }
          results.verdicts.push_back(row);
        }
}

/// Rounds like those of a shared machine: a drift that all contestants share, a spread of their
/// own, and a spike now and then. The numbers are the same every time.
std::vector<double> sample_rounds(double ns, std::int64_t launch, std::uint64_t salt) {
  std::vector<double> rounds;
  std::uint64_t state = salt * 2654435761u + static_cast<std::uint64_t>(launch) + 1;
  for (int i = 0; i < 15; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const double noise = static_cast<double>(state >> 40) / 0x1p24 - 0.5;
    const double spike = (state >> 33) % 31 == 0 ? 1.3 : 1;
    rounds.push_back(ns * (1 + 0.02 * std::sin(0.4 * i + static_cast<double>(launch))) *
                     (1 + 0.004 * noise) * spike);
  }
  return rounds;
}

struct Size {
  const char* name;
  const char* phase;
  std::int64_t tokens;
  double slowdown;
};
const std::vector<Size> sizes = {{"llama-3-8b/decode-1", "decode", 1, 1.0},
                                 {"llama-3-8b/prefill-2048", "prefill", 2048, 3.1},
                                 {"llama-3-8b/set-1", "working_set", 1, 1.0},
                                 {"llama-3-8b/set-16", "working_set", 16, 1.3},
                                 {"llama-3-8b/set-256", "working_set", 256, 2.1},
                                 {"llama-3-8b/set-32768", "working_set", 32768, 7.1}};

TimingRow timing_of(const Size& size, const std::string& board, const std::string& name, double ns,
                    std::int64_t launch, std::uint64_t salt) {
  TimingRow row = sample_timing();
  row.kernel = name;
  row.workload = size.name;
  row.phase = size.phase;
  row.tokens = size.tokens;
  row.bytes = 40960 * size.tokens;
  row.working_set_bytes = 20480 * size.tokens;
  row.board = board;
  row.launch = launch;
  row.ns_per_token = sample_rounds(ns, launch, salt);
  row.iterations.assign(row.ns_per_token.size(), 1000);
  std::vector<double> sorted = row.ns_per_token;
  std::ranges::sort(sorted);
  row.ns_per_token_median = sorted[sorted.size() / 2];
  row.gb_per_s_median = 40960 / row.ns_per_token_median;
  row.involuntary_switches = static_cast<std::int64_t>(salt % 3);
  row.page_faults = launch;
  row.steal_ms = 10 * static_cast<double>(salt % 2);
  row.off_cpu_share = 0.001 * static_cast<double>(salt % 5);
  row.reverified = 2;
  return row;
}

void add_timings(Results& results) {
  std::uint64_t salt = 0;
  for (const char* pairing : {"half_split", "interleaved"})
    for (const Size& size : sizes)
      for (std::int64_t launch = 0; launch < 3; ++launch) {
        const std::string board = std::string(pairing) + " / f32 / in place";
        const auto add = [&](const std::string& name, const std::string& angles, double ns) {
          results.timings.push_back(
              timing_of(size, fmt::format("{} / {}", board, angles), name, ns, launch, ++salt));
          return &results.timings.back();
        };
        for (const SampleKernel& kernel : kernels) {
          const bool table = std::string(kernel.contract) == "table";
          TimingRow* row =
              add(kernel.name, table ? "table" : "computed", kernel.ns + 86 * (size.slowdown - 1));
          if (row->kernel == "plain") row->role = Role::baseline;
          if (row->kernel == "wrong_way") make_broken(*row);
        }
        add("plain (twin)", "table", 157.3 + 86 * (size.slowdown - 1))->role = Role::null_twin;
        for (const char* angles : {"table", "computed"}) {
          TimingRow* ceiling = add("ceiling_update", angles, 86 * size.slowdown);
          ceiling->role = Role::ceiling;
          ceiling->variant = "avx512 loop";
        }
      }
}

void add_curves(Results& results) {
  const auto mean_prefix = [](double distance) { return 64 / std::sqrt(1 + distance); };
  CurveRow reference{"decay", "reference", "rotary_dim 128, base 10000", {}, {}};
  for (int d = 0; d <= 4096; d += d < 256 ? 1 : 16) {
    reference.x.push_back(d);
    reference.y.push_back(mean_prefix(d));
  }
  results.curves.push_back(reference);
  for (const SampleKernel& kernel : kernels) {
    results.curves.push_back({"decay", kernel.name, "half_split f32", {}, {}});
    for (const int d : {0, 1, 2, 5, 10, 20, 50, 100, 256, 512, 1024, 2048, 4096}) {
      results.curves.back().x.push_back(d);
      results.curves.back().y.push_back(mean_prefix(d));
    }
  }
}

void add_error_curves(Results& results) {
  const auto add = [&results](const std::string& kernel, const std::string& contract) {
    CurveRow curve{"error_over_position",
                   kernel,
                   "contract " + contract + ", f32, rotary_dim 128, rope_theta 10000",
                   {0},
                   {0},
                   "f32"};
    for (int log2 = 0; log2 <= 31; ++log2) {
      const double position = std::ldexp(1.0, log2);
      const bool grows = contract == "f32_angle";
      curve.x.push_back(std::min(position, 0x1p31 - 1));
      curve.y.push_back(grows ? std::min(2.0, 3e-8 * position + 6e-8) : 6e-8);
    }
    results.curves.push_back(curve);
  };
  for (const SampleKernel& kernel : kernels) add(kernel.name, kernel.contract);
  add("plain_f32_angle", "f32_angle");
}

}  // namespace

VerdictRow sample_verdict() {
  VerdictRow row;
  row.kernel = "plain";
  row.angle_contract = "table";
  row.pairing = "half_split";
  row.dtype = "f32";
  row.property = "agreement";
  row.verdict = Verdict::pass;
  row.margin = 0.487;
  row.bound = 3;
  row.bound_unit = "u |pair|";
  row.planned = row.executed = row.compared_cases = 200;
  row.compared = 1638400;
  row.seconds = 0.071;
  return row;
}

TimingRow timing_of(const std::string& kernel, Role role, std::int64_t launch,
                    std::vector<double> ns) {
  TimingRow row = sample_timing();
  row.kernel = kernel;
  row.role = role;
  row.launch = launch;
  row.iterations.assign(ns.size(), 1000);
  row.ns_per_token_median = median_of(ns);
  row.ns_per_token = std::move(ns);
  return row;
}

void make_broken(TimingRow& row) {
  row.outcome = Outcome::broken;
  row.reason = "agreement FAIL";
  row.ns_per_token.clear();
  row.iterations.clear();
  row.ns_per_token_median = row.gb_per_s_median = 0;
}

TimingRow sample_timing() {
  TimingRow row;
  row.kernel = "plain";
  row.workload = "llama-3-8b/decode-1";
  row.source = "meta-llama/Meta-Llama-3-8B config.json";
  row.phase = "decode";
  row.board = "half_split / f32 / in place / table";
  row.outcome = Outcome::measured;
  row.tokens = 1;
  row.bytes = 40960;
  row.working_set_bytes = 20480;
  row.ns_per_token = {158.1, 157.3, 156.9};
  row.iterations = {1000, 1000, 1000};
  row.ns_per_token_median = 157.3;
  row.gb_per_s_median = 260.4;
  return row;
}

Results results_of(std::vector<VerdictRow> verdicts, std::vector<TimingRow> timings) {
  Results results;
  results.run = sample_results().run;
  results.verdicts = std::move(verdicts);
  results.timings = std::move(timings);
  results.complete = true;
  return results;
}

Results sample_results() {
  Results results;
  results.run.version = "0.1.0";
  results.run.command =
      "ropewalk run --profile standard --plugin ./libwrong_way.so --out build/report";
  results.run.started_at = "2026-01-01T12:00:00Z";
  results.run.profile = "standard";
  results.run.seed = 20210420;
  results.run.environment = {
      {"cpu_model", "AMD EPYC 9755 128-Core Processor, 2 of 2 cores"},
      {"cpu_features", "avx2 fma f16c avx512f avx512dq avx512vl avx512bw avx512bf16"},
      {"cpu_caches", "L1d 48 KiB (cpus 0), L1i 32 KiB (cpus 0), L2 1024 KiB (cpus 0), L3 512 MiB"},
      {"compiler", "g++ 12.2.0, -O3 -ffp-contract=off"},
      {"memory", "7.8 GiB"},
      {"transparent_huge_pages", "madvise"},
      {"kernel", "Linux 6.1"}};
  add_verdicts(results);
  add_timings(results);
  add_curves(results);
  add_error_curves(results);
  results.end = {1, 214.6, "2026-01-01T12:03:34Z"};
  results.complete = true;
  return results;
}

}  // namespace ropewalk::report
