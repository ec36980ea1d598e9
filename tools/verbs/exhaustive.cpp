// verify --exhaustive: judges kernels at every position of a range (docs/certificate.md).
#include <fmt/format.h>

#include <charconv>

#include "base/fingerprint.h"
#include "benchmarks/workloads/workloads.h"
#include "harness/process/given_plugin.h"
#include "harness/worker/own_workers.h"
#include "properties/exhaustive/certify.h"
#include "properties/search/verify.h"
#include "reports/pages/checks.h"
#include "tools/command/session.h"
#include "tools/verbs/failures.h"
#include "tools/verbs/verbs.h"

namespace ropewalk::tools {
using namespace harness;
using namespace properties;
using namespace report;
namespace {

ChunkPlan whole_plan(const VerifyOptions& options) {
  constexpr std::int64_t limit = std::int64_t{1} << 31;
  ChunkPlan plan;
  const char* const end = options.positions.data() + options.positions.size();
  const auto first = std::from_chars(options.positions.data(), end, plan.first);
  const bool is_pair = first.ec == std::errc{} && first.ptr != end && *first.ptr == ':';
  const auto last = std::from_chars(is_pair ? first.ptr + 1 : end, end, plan.last);
  if (last.ec != std::errc{} || last.ptr != end || plan.first > plan.last || plan.first < -limit ||
      plan.last >= limit)
    throw UsageError("--positions " + options.positions +
                     ": must be A:B with -2147483648 <= A <= B <= 2147483647");
  plan.rotary_dim = options.rotary_dim;
  plan.rope_theta = options.rope_theta;
  plan.seed = options.seed;
  if (!options.dtype.empty()) plan.dtype = bench::dtype_of(options.dtype);
  return plan;
}

PositionRange own_range(const VerifyOptions& options, const ChunkPlan& whole) {
  const auto& [i, n, taken_from] = options.shard;
  const auto shards = range_parts({whole.first, whole.last}, n, whole);
  if (!shards.empty()) return shards[static_cast<std::size_t>(i - 1)];
  throw UsageError(
      fmt::format("--shard {}/{}: {} has too few calls for it", i, n, options.positions));
}

// That of the file that holds apply: this program, or a plugin.
std::string code_fingerprint(const KernelFacts& facts) {
  const std::string file =
      facts.plugin.empty() ? own_executable() : given_plugin(facts.plugin).file;
  if (auto print = fingerprint_of_file(file)) return *print;
  throw std::runtime_error(file + ": cannot be read");
}

class ExhaustiveRun {
 public:
  explicit ExhaustiveRun(const VerifyOptions& options)
      : options_(options), whole_(whole_plan(options)), own_(own_range(options, whole_)) {
    require_kernels(options_);
    found_ = kernels_by_plugin(worker_options(options_));
    OwnWorkers workers(worker_options(options_), found_);
    Oracle oracle;
    for (const KernelFacts& facts : found_.kernels) {
      if (!matches(options_.kernels, facts.name)) continue;
      Subject subject{workers.of(facts), oracle, facts};
      for (const Pairing pairing : {Pairing::half_split, Pairing::interleaved}) {
        ChunkPlan chunk = whole_;
        chunk.pairing = pairing;
        CertifyPlan& plan = plans_.emplace_back(plan_for(subject, chunk));
        if (plan.row.verdict != Verdict::pass) continue;
        to_do_ += static_cast<double>(own_.count());
        plan.row.part_of +=
            fmt::format(" version={} code={}", ROPEWALK_VERSION, code_fingerprint(facts));
      }
    }
  }

  int go() {
    if (!options_.shard.taken_from.empty())
      fmt::print(options_.json ? stderr : stdout, "shard {}/{} by {}\n", options_.shard.i,
                 options_.shard.n, options_.shard.taken_from);
    Recorder recorder(options_, options_.out);
    Progress progress(options_.quiet);
    std::vector<VerdictRow> verdicts;
    for (const CertifyPlan& plan : plans_) {
      verdicts.push_back(plan.row.verdict == Verdict::pass ? judge(plan, recorder, progress)
                                                           : plan.row);
      progress.clear();
      if (verdicts.back().verdict != Verdict::pass) recorder.write(verdicts.back());
      print(verdicts.back());
    }
    const int code = exit_code_of(verdicts);
    if (code == 0) finish();
    recorder.finish(code);
    return code;
  }

 private:
  VerdictRow judge(const CertifyPlan& plan, Recorder& recorder, Progress& progress) {
    const double began_s = seconds_of_command();
    const auto show = [&] {
      const double left = done_ > 0 ? seconds_of_command() / done_ * (to_do_ - done_) : 0;
      progress.show(fmt::format("{} {}: {:.1f} % of all, {:.0f} min {:02d} s left", plan.row.kernel,
                                plan.row.pairing, 100 * done_ / to_do_, std::floor(left / 60),
                                static_cast<int>(left) % 60));
    };
    constexpr std::int64_t about_a_piece = std::int64_t{1} << 22;  // takes a few seconds
    CertifyRun run;
    run.options = options_for(worker_options(options_), plan.facts);
    run.known = found_.known.at(plan.facts.plugin);
    run.plan = plan;
    run.pieces = range_parts(own_, own_.count() / about_a_piece + 1, plan.chunk);
    run.judges = static_cast<std::size_t>(options_.jobs);
    show();
    std::vector<CertificatePart> parts;
    run.on_row = [&](const VerdictRow& row) {
      recorder.write(row);
      parts.push_back({row, options_.out});
      done_ += static_cast<double>(row.planned);
      show();
    };
    const auto failure = certify(run);
    if (!failure && plan.row.part_of.find(code_fingerprint(plan.facts)) == std::string::npos)
      throw std::runtime_error(plan.row.kernel + ": its file changed while it was judged");
    VerdictRow row = failure ? *failure : joined(parts, own_).front();
    row.plugin = plan.facts.plugin;  // a certificate holds no path
    row.seconds = seconds_of_command() - began_s;
    parts_.insert(parts_.end(), parts.begin(), parts.end());
    return row;
  }

  void print(const VerdictRow& row) const {
    if (options_.json) {
      fmt::print("{}\n", to_json_line(row));
    } else if (row.verdict == Verdict::pass) {
      if (!options_.quiet)
        fmt::print(
            "PASS  {} ({}): {} positions {}:{}, {:.1f} s; worst margin {:.3f} of {:.4g} {} at "
            "{}{}\n",
            row.kernel, cell_and_words(row), row.planned, own_.first, own_.last, row.seconds,
            row.margin, row.bound, row.bound_unit, row.where,
            row.reason.empty() ? "" : "; " + row.reason);
    } else if (is_not_run(row.verdict)) {
      if (!options_.quiet)
        tools::print(Paragraph{fmt::format("{:<5} {} ({}): {}", row.verdict, row.kernel,
                                           cell_and_words(row), row.reason)});
    } else {
      print_failure(row, options_.all);
    }
    flush_output();
  }

  // Writes the certificate. Only the whole range gets one.
  void finish() {
    std::string done;
    if (own_.first != whole_.first || own_.last != whole_.last) {
      done = fmt::format("shard {}/{} holds; ropewalk merge joins the shards\n", options_.shard.i,
                         options_.shard.n);
    } else if (!options_.out.empty()) {
      write_certificate(options_.out, joined(parts_));
      done = fmt::format("certificate: {}/certificate.md\n", options_.out);
    }
    if (!options_.json) fmt::print("{}", done);
  }

  const VerifyOptions& options_;
  ChunkPlan whole_;  // of pairing half_split
  PositionRange own_;
  PluginKernels found_;
  std::vector<CertifyPlan> plans_;
  std::vector<CertificatePart> parts_;
  double to_do_ = 0, done_ = 0;  // numbers of positions
};

void refuse_what_does_not_fit(const VerifyOptions& options) {
  for (const auto& [is_given, option] :
       {std::pair{!options.properties.empty(), "--property"},
        std::pair{options.cases > 0, "--cases"}, std::pair{!options.ledger.empty(), "--ledger"},
        std::pair{!options.write_ledger.empty(), "--write-ledger"},
        std::pair{!options.known_failures.empty(), "--known-failures"}})
    if (is_given) throw UsageError(std::string(option) + " cannot be combined with --exhaustive");
  if (options.dtype == word_of(Dtype::f64))
    throw UsageError(
        "--dtype f64 cannot be combined with --exhaustive: its judge has no more bits");
  if (options.rotary_dim < 2 || options.rotary_dim > 1024 || options.rotary_dim % 2 != 0)
    throw UsageError("--rotary-dim: an even number from 2 to 1024");
  if (!(options.rope_theta >= 1 && options.rope_theta <= 1e12))
    throw UsageError("--rope-theta: a number from 1 to 1e12");
}

}  // namespace

int run_exhaustive(const VerifyOptions& options) {
  refuse_what_does_not_fit(options);
  return ExhaustiveRun(options).go();
}

}  // namespace ropewalk::tools
