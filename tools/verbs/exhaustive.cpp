// verify --exhaustive: judges kernels at every position of a range (docs/certificate.md).
#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "base/fingerprint.h"
#include "benchmarks/workloads/workloads.h"
#include "harness/cases/names.h"
#include "harness/process/given_plugin.h"
#include "harness/worker/own_workers.h"
#include "properties/exhaustive/certify.h"
#include "properties/search/verify.h"
#include "reports/pages/certificate.h"
#include "tools/command/session.h"
#include "tools/verbs/failure_text.h"
#include "tools/verbs/verbs.h"

namespace ropewalk::tools {
using namespace harness;
using namespace properties;
using namespace report;
namespace {

constexpr std::int64_t least_position = -(std::int64_t{1} << 31);
constexpr std::int64_t largest_position = (std::int64_t{1} << 31) - 1;

PositionRange whole_range(const VerifyOptions& options) {
  PositionRange range;
  const char* const end = options.positions.data() + options.positions.size();
  const auto first = std::from_chars(options.positions.data(), end, range.first);
  const bool is_pair = first.ec == std::errc{} && first.ptr != end && *first.ptr == ':';
  const auto last = std::from_chars(is_pair ? first.ptr + 1 : end, end, range.last);
  if (last.ec != std::errc{} || last.ptr != end || range.first > range.last ||
      range.first < least_position || range.last > largest_position)
    throw UsageError("--positions " + options.positions +
                     ": must be A:B with -2147483648 <= A <= B <= 2147483647");
  return range;
}

// The pairing is half_split.
ChunkPlan plan_of(const VerifyOptions& options, PositionRange whole) {
  return {Pairing::half_split,
          options.rotary_dim,
          options.rope_theta,
          options.seed,
          whole.first,
          whole.last,
          options.dtype.empty() ? Dtype::f32 : bench::dtype_of(options.dtype)};
}

PositionRange own_range(const VerifyOptions& options, PositionRange whole) {
  const auto& [i, n, taken_from] = options.shard;
  const Division division(plan_of(options, whole));
  const auto shards = shards_of(whole, n, division);
  if (!shards.empty()) return shards[static_cast<std::size_t>(i - 1)];
  throw UsageError(fmt::format("--shard {}/{}: {} has too few calls of about {} positions for it",
                               i, n, options.positions, division.usual_short));
}

std::string fingerprint_of(const std::string& file) {
  if (auto print = fingerprint_of_file(file)) return *print;
  throw std::runtime_error(file + ": cannot be read");
}

// The file that holds apply: this program, or a plugin.
std::string code_of(const KernelFacts& facts) {
  return facts.plugin.empty() ? own_executable() : given_plugin(facts.plugin).file;
}

struct CertifiedCell {
  CertifyPlan plan;
  std::optional<VerdictRow> refused;
};

class ExhaustiveRun {
 public:
  explicit ExhaustiveRun(const VerifyOptions& options)
      : options_(options), whole_(whole_range(options)), own_(own_range(options, whole_)) {
    find_cells();
  }

  int go() {
    if (!options_.shard.taken_from.empty())
      fmt::print(options_.json ? stderr : stdout, "shard {}/{} by {}\n", options_.shard.i,
                 options_.shard.n, options_.shard.taken_from);
    Recorder recorder(options_, options_.out);
    Progress progress(options_.quiet);
    began_s_ = seconds_of_command();
    for (const CertifiedCell& cell : cells_)
      if (!cell.refused) to_do_ += static_cast<double>(own_.count());
    for (const CertifiedCell& cell : cells_) {
      const VerdictRow row = cell.refused ? *cell.refused : judge(cell, recorder, progress);
      progress.clear();
      recorder.write(row);
      print(row);
      verdicts_.push_back(row);
    }
    const int code = exit_code_of(verdicts_);
    if (code == 0) finish();
    recorder.finish(code);
    return code;
  }

 private:
  void find_cells() {
    require_kernels(options_);
    found_ = kernels_by_plugin(worker_options(options_));
    OwnWorkers workers(worker_options(options_), found_);
    Oracle oracle;
    for (const KernelFacts& facts : found_.kernels) {
      if (!matches(options_.kernels, facts.name)) continue;
      Subject subject{workers.of(facts), oracle, facts};
      for (const Pairing pairing : {Pairing::half_split, Pairing::interleaved}) {
        CertifiedCell cell;
        cell.plan.facts = facts;
        cell.plan.chunk = plan_of(options_, whole_);
        cell.plan.chunk.pairing = pairing;
        cell.refused = cannot_certify(subject, cell.plan.chunk);
        if (!cell.refused) identify(cell.plan);
        cells_.push_back(std::move(cell));
      }
    }
  }

  void identify(CertifyPlan& plan) {
    const std::string code = code_of(plan.facts);
    CertificateRow& row = plan.identity;
    row = identity_of(plan.facts, plan.chunk);
    row.version = ROPEWALK_VERSION;
    row.code_file = std::filesystem::path(code).filename().string();
    row.code_fingerprint = fingerprint_of(code);
    row.oracle_fingerprint = rotations_of(plan).fingerprint();
  }

  // The tables of an angle contract are made once for both pairings and all kernels.
  DoubleRotations& rotations_of(const CertifyPlan& plan) {
    auto& made = tables_[plan.facts.angle_contract == ROPE_CONTRACT_F32_ANGLE];
    if (!made) {
      Case c;
      c.contract = plan.facts.angle_contract;
      c.rotary_dim = plan.chunk.rotary_dim;
      c.rope_theta = plan.chunk.rope_theta;
      made.emplace(frequencies_of(c), c.contract == ROPE_CONTRACT_F32_ANGLE);
    }
    return *made;
  }

  void show(const CertifiedCell& cell, Progress& progress) const {
    const double s = seconds_of_command() - began_s_;
    const double left = done_ > 0 ? s / done_ * (to_do_ - done_) : 0;
    progress.show(fmt::format("{} {}: {:.1f} % of all, {:.0f} min {:02d} s left",
                              cell.plan.facts.name, cell.plan.identity.pairing,
                              100 * done_ / to_do_, std::floor(left / 60),
                              static_cast<int>(left) % 60));
  }

  VerdictRow judge(const CertifiedCell& cell, Recorder& recorder, Progress& progress) {
    const double began_s = seconds_of_command();
    std::vector<CertificatePart> parts;
    CertifyRun run;
    run.options = options_for(worker_options(options_), cell.plan.facts);
    run.known = found_.known.at(cell.plan.facts.plugin);
    run.plan = cell.plan;
    run.pieces = pieces_of(own_, Division(cell.plan.chunk));
    run.judges = static_cast<std::size_t>(options_.jobs);
    show(cell, progress);
    run.on_row = [&](const CertificateRow& row) {
      recorder.write(row);
      parts.push_back({row, options_.out});
      done_ += static_cast<double>(row.compared);
      show(cell, progress);
    };
    auto failure = certify(run, rotations_of(cell.plan));
    const double seconds = seconds_of_command() - began_s;
    if (failure) {
      failure->seconds = seconds;
      return *failure;
    }
    if (fingerprint_of(code_of(cell.plan.facts)) != cell.plan.identity.code_fingerprint)
      throw std::runtime_error(code_of(cell.plan.facts) + " changed while it was judged");
    // The parts are joined as merge does it. For this, a shard counts as a whole.
    parts_.insert(parts_.end(), parts.begin(), parts.end());
    for (CertificatePart& part : parts) {
      part.row.whole_first = own_.first;
      part.row.whole_last = own_.last;
    }
    VerdictRow row = passed(joined(std::move(parts)).front());
    row.summary = cell.plan.facts.summary;
    row.plugin = cell.plan.facts.plugin;  // a certificate holds no path
    row.seconds = seconds;
    return row;
  }

  void print(const VerdictRow& row) const {
    if (options_.json) {
      fmt::print("{}\n", to_json_line(row));
    } else if (row.verdict == Verdict::pass) {
      if (!options_.quiet)
        fmt::print(
            "PASS  {} ({}): {} positions {}:{}, {:.1f} s; worst margin {:.3f} of {:.4g} {} at {}\n",
            row.kernel, cell_and_words(row), row.planned, own_.first, own_.last, row.seconds,
            row.margin, row.bound, row.bound_unit, row.where);
    } else if (is_not_run(row.verdict)) {
      if (!options_.quiet)
        print_lines(wrapped(fmt::format("{:<5} {} ({}): {}", row.verdict, row.kernel,
                                        cell_and_words(row), row.reason)));
    } else {
      print_failure(row, {}, options_.all);
    }
    flush_output();
  }

  // Writes the certificate. Only the whole range gets one.
  void finish() {
    if (own_ != whole_) {
      if (!options_.json)
        fmt::print("shard {}/{} holds; ropewalk merge joins the shards\n", options_.shard.i,
                   options_.shard.n);
      return;
    }
    if (options_.out.empty()) return;
    write_certificate(options_.out, joined(parts_));
    if (!options_.json)
      fmt::print("certificate: {}\n",
                 (std::filesystem::path(options_.out) / "certificate.md").string());
  }

  const VerifyOptions& options_;
  PositionRange whole_, own_;
  std::optional<DoubleRotations> tables_[2];
  PluginKernels found_;
  std::vector<CertifiedCell> cells_;
  std::vector<CertificatePart> parts_;
  std::vector<VerdictRow> verdicts_;
  double began_s_ = 0;           // of the command
  double to_do_ = 0, done_ = 0;  // numbers of positions
};

void refuse_what_does_not_fit(const VerifyOptions& options) {
  const auto refuse = [](const char* option) {
    throw UsageError(std::string(option) + " cannot be combined with --exhaustive");
  };
  if (!options.properties.empty()) refuse("--property");
  if (options.cases > 0) refuse("--cases");
  if (!options.ledger.empty()) refuse("--ledger");
  if (!options.write_ledger.empty()) refuse("--write-ledger");
  if (!options.known_failures.empty()) refuse("--known-failures");
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
