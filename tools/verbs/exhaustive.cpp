// verify --exhaustive: judges kernels at every position of a range (docs/certificate.md).
#include <fmt/format.h>

#include <charconv>
#include <fstream>
#include <optional>
#include <set>
#include <tuple>

#include "base/fingerprint.h"
#include "benchmarks/workloads/workloads.h"
#include "harness/cases/names.h"
#include "harness/process/given_plugin.h"
#include "harness/worker/own_workers.h"
#include "properties/exhaustive/certify.h"
#include "properties/search/verify.h"
#include "reports/pages/certificate.h"
#include "reports/record/record_file.h"
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

// Reads "A:B" or "i/n" as two integers.
std::optional<std::pair<std::int64_t, std::int64_t>> two_numbers(const std::string& text,
                                                                 char between) {
  std::int64_t a = 0, b = 0;
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, a);
  if (first.ec != std::errc{} || first.ptr == end || *first.ptr != between) return std::nullopt;
  const auto second = std::from_chars(first.ptr + 1, end, b);
  if (second.ec != std::errc{} || second.ptr != end) return std::nullopt;
  return std::pair{a, b};
}

PositionRange whole_range(const VerifyOptions& options) {
  const auto given = two_numbers(options.positions, ':');
  if (!given || given->first > given->second || given->first < least_position ||
      given->second > largest_position)
    throw UsageError("--positions " + options.positions +
                     ": must be A:B with -2147483648 <= A <= B <= 2147483647");
  return {given->first, given->second};
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
  if (options.shard.empty()) return whole;
  constexpr std::int64_t most = 65536;
  const auto given = two_numbers(options.shard, '/');
  if (!given || given->first < 1 || given->second < given->first || given->second > most)
    throw UsageError("--shard " + options.shard + ": must be i/n with 1 <= i <= n <= 65536");
  const Division division(plan_of(options, whole));
  const auto shard = shard_of(whole, given->first, given->second, division);
  if (!shard)
    throw UsageError(fmt::format("--shard {}: {} has too few calls of about {} positions for it",
                                 options.shard, options.positions, division.usual_short));
  return *shard;
}

std::string fingerprint_of(const std::string& file) {
  if (auto print = fingerprint_of_file(file)) return *print;
  throw std::runtime_error(file + ": cannot be read");
}

// The file that holds apply: this program, or a plugin.
std::string code_of(const KernelFacts& facts) {
  return facts.plugin.empty() ? own_executable() : given_plugin(facts.plugin).file;
}

// The tables of one angle contract, made once for both pairings and all kernels.
class RotationTables {
 public:
  DoubleRotations& of(const KernelFacts& facts, const ChunkPlan& plan) {
    auto& made = made_[facts.angle_contract == ROPE_CONTRACT_F32_ANGLE ? 1 : 0];
    if (!made) {
      Case c;
      c.contract = facts.angle_contract;
      c.rotary_dim = plan.rotary_dim;
      c.rope_theta = plan.rope_theta;
      made.emplace(frequencies_of(c), facts.angle_contract == ROPE_CONTRACT_F32_ANGLE);
    }
    return *made;
  }

 private:
  std::optional<DoubleRotations> made_[2];
};

struct CertifiedCell {
  CertifyPlan plan;
  std::optional<VerdictRow> refused;
};

class ExhaustiveRun {
 public:
  explicit ExhaustiveRun(const VerifyOptions& options)
      : options_(options), whole_(whole_range(options)), own_(own_range(options, whole_)) {
    find_cells();
    if (options.resume) read_earlier();
  }

  int go() {
    // A run that was killed after its last row is complete, so nothing is written again.
    Recorder recorder(options_, ended_ ? "" : options_.out, !earlier_.empty());
    Progress progress(options_.quiet);
    start_ = std::chrono::steady_clock::now();
    for (const CertifiedCell& cell : cells_)
      if (!cell.refused) to_do_ += static_cast<double>(own_.count());
    for (const CertifiedCell& cell : cells_) {
      const VerdictRow row = cell.refused ? *cell.refused : judge(cell, recorder, progress);
      progress.clear();
      if (!told_.contains(key_of(row))) recorder.write(row);
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
    row.oracle_fingerprint = tables_.of(plan.facts, plan.chunk).fingerprint();
  }

  // Reads the rows of a run that was cut off, and compares them with those that this run would
  // write.
  void read_earlier() {
    const auto file = std::filesystem::path(options_.out) / "results.jsonl";
    if (!has_whole_line(file)) return;
    const Results results = read_results(file);
    for (const CertificateRow& row : results.certificates) {
      const CertifiedCell* cell = nullptr;
      for (const CertifiedCell& c : cells_)
        if (!c.refused && is_of(c, row)) cell = &c;
      if (cell == nullptr)
        throw UsageError(
            fmt::format("{}: cannot be resumed: it judged {} {} {}, which this command "
                        "does not judge",
                        file.string(), row.kernel, row.pairing, row.dtype));
      const std::string differs = difference(row, cell->plan.identity);
      if (!differs.empty())
        throw UsageError(file.string() + ": cannot be resumed: " + differs + " as now");
      if (row.first < own_.first || row.last > own_.last)
        throw UsageError(file.string() + ": cannot be resumed: it is about another shard");
      earlier_.push_back({row, file.string()});
    }
    if (!earlier_.empty())  // else another run begins in this file
      for (const VerdictRow& row : results.verdicts) told_.insert(key_of(row));
    ended_ = results.complete;
    for (const CertifiedCell& cell : cells_)
      if (ended_ && !cell.refused && !left_of(cell).empty())
        throw UsageError(file.string() + ": that run has ended; leave out --resume");
  }

  static bool is_of(const CertifiedCell& cell, const CertificateRow& row) {
    const CertificateRow& own = cell.plan.identity;
    return own.kernel == row.kernel && own.pairing == row.pairing && own.dtype == row.dtype;
  }

  static std::tuple<std::string, std::string, Verdict> key_of(const VerdictRow& row) {
    return {row.kernel, row.pairing, row.verdict};
  }

  std::vector<PositionRange> left_of(const CertifiedCell& cell) const {
    std::vector<PositionRange> left;
    for (const PositionRange& piece : pieces_of(own_, Division(plan_of(options_, whole_)))) {
      bool done = false;
      for (const CertificatePart& part : earlier_)
        done = done ||
               (is_of(cell, part.row) && PositionRange{part.row.first, part.row.last} == piece);
      if (!done) left.push_back(piece);
    }
    return left;
  }

  void show(const CertifiedCell& cell, Progress& progress) const {
    const double s =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    const double here = done_ - skipped_;
    const double left = here > 0 ? s / here * (to_do_ - done_) : 0;
    progress.show(fmt::format("{} {}: {:.1f} % of all, {:.0f} min {:02d} s left",
                              cell.plan.facts.name, cell.plan.identity.pairing,
                              100 * done_ / to_do_, std::floor(left / 60),
                              static_cast<int>(left) % 60));
  }

  VerdictRow judge(const CertifiedCell& cell, Recorder& recorder, Progress& progress) {
    const auto begin = std::chrono::steady_clock::now();
    std::vector<CertificatePart> parts;
    for (const CertificatePart& part : earlier_)
      if (is_of(cell, part.row)) parts.push_back(part);
    CertifyRun run;
    run.options = options_for(worker_options(options_), cell.plan.facts);
    run.known = found_.known.at(cell.plan.facts.plugin);
    run.plan = cell.plan;
    run.pieces = left_of(cell);
    run.judges = static_cast<std::size_t>(options_.jobs);
    for (const CertificatePart& part : parts) {
      done_ += static_cast<double>(part.row.compared);
      skipped_ += static_cast<double>(part.row.compared);
    }
    show(cell, progress);
    run.on_row = [&](const CertificateRow& row) {
      recorder.write(row);
      parts.push_back({row, options_.out});
      done_ += static_cast<double>(row.compared);
      show(cell, progress);
    };
    const auto failure = certify(run, tables_.of(cell.plan.facts, cell.plan.chunk));
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (failure) {
      VerdictRow row = *failure;
      row.seconds = seconds;
      return row;
    }
    if (fingerprint_of(code_of(cell.plan.facts)) != cell.plan.identity.code_fingerprint)
      throw std::runtime_error(code_of(cell.plan.facts) + " changed while it was judged");
    // The parts are joined as merge does it. For this, a shard counts as a whole.
    std::vector<CertificatePart> own = parts;
    for (CertificatePart& part : own) {
      part.row.whole_first = own_.first;
      part.row.whole_last = own_.last;
    }
    const CertificateRow whole = joined(own).front();
    parts_.insert(parts_.end(), parts.begin(), parts.end());
    VerdictRow row = passed(whole);
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
        fmt::print("shard {} holds; ropewalk merge joins the shards\n", options_.shard);
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
  RotationTables tables_;
  PluginKernels found_;
  std::vector<CertifiedCell> cells_;
  std::vector<CertificatePart> earlier_, parts_;
  std::set<std::tuple<std::string, std::string, Verdict>> told_;  // verdicts that were written
  bool ended_ = false;
  std::vector<VerdictRow> verdicts_;
  std::chrono::steady_clock::time_point start_;
  double to_do_ = 0, done_ = 0, skipped_ = 0;  // numbers of positions
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
  if (options.resume && options.out.empty())
    throw UsageError("--resume needs --out: the folder of the run that was cut off");
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
