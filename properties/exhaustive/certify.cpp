#include "properties/exhaustive/certify.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>

#include "harness/cases/names.h"
#include "harness/judge/judge.h"
#include "properties/property.h"
#include "properties/search/share_out.h"
#include "properties/search/verify.h"

namespace ropewalk::properties {
using namespace harness;
using namespace report;
namespace {

constexpr double u = bounds::f32.u;
constexpr const char* name = "exhaustive";
constexpr const char* claim =
    "at every position each 2x2 block is the exact rotation, and a full vector is turned by it";

// |y - r x| / (u |x|) for a pair of a head at one position. It uses sqrt of squares and not hypot,
// so all machines give the same bits.
double error_in_u(const float* y, const float* x, PairIndex at, const Rotation& r) {
  const PairValue in{DoubleDouble(x[at.first]), DoubleDouble(x[at.second])};
  const PairValue out{DoubleDouble(y[at.first]), DoubleDouble(y[at.second])};
  const PairValue off = out - rotate(in, r);
  const auto length = [](const PairValue& z) {
    const auto re = static_cast<double>(z.re), im = static_cast<double>(z.im);
    return std::sqrt(re * re + im * im);
  };
  return length(off) / (length(in) * u);
}

// The squared limit of errors that are surely no larger than the worst so far, and are skipped. The
// compared value is off by the error of the rotations and by roundings, together 2^-49 of |x|.
double limit_below(double worst_in_u) {
  const double limit = worst_in_u * u * (1 - 0x1p-40) - 4 * DoubleRotations::error;
  return limit > 0 ? limit * limit : -1;
}

VerdictRow verdict_for(const KernelFacts& facts, Pairing pairing) {
  VerdictRow row;
  row.kernel = facts.name;
  row.summary = facts.summary;
  row.plugin = facts.plugin;
  row.angle_contract = word_of(contract_words, facts.angle_contract);
  row.pairing = word_of(pairing);
  row.dtype = word_of(Dtype::f32);
  row.property = name;
  row.claim = claim;
  row.judged_on = judged_on(facts);
  row.declared = declared_words(facts, Dtype::f32);
  return row;
}

std::int64_t down_to_chunk(std::int64_t position) {
  return position & ~(ChunkRunner::tokens_most - 1);
}

// The words for the two columns of a block and the full vector.
constexpr const char* head_words[] = {"column 1 (e1)", "column 2 (e2)", "the full vector"};

}  // namespace

std::optional<PositionRange> shard_of(PositionRange whole, std::int64_t i, std::int64_t n) {
  const auto begin = [&](std::int64_t part) {
    if (part == 0) return whole.first;
    if (part == n) return whole.last + 1;
    return std::max(whole.first, down_to_chunk(whole.first + whole.count() / n * part +
                                               whole.count() % n * part / n));
  };
  // An empty part is refused for every part, since a merge would look for its rows in vain.
  for (std::int64_t part = 0; part < n; ++part)
    if (begin(part) >= begin(part + 1)) return std::nullopt;
  return PositionRange{begin(i - 1), begin(i) - 1};
}

std::vector<PositionRange> pieces_of(PositionRange range) {
  constexpr std::int64_t piece = std::int64_t{1} << 22;
  std::vector<PositionRange> pieces;
  for (std::int64_t from = range.first; from <= range.last;) {
    const std::int64_t to = std::min(range.last, (from & ~(piece - 1)) + piece - 1);
    pieces.push_back({from, to});
    from = to + 1;
  }
  return pieces;
}

CertificateRow identity_of(const KernelFacts& facts, const ChunkPlan& plan) {
  CertificateRow row;
  row.kernel = facts.name;
  row.plugin = std::filesystem::path(facts.plugin).filename().string();
  row.angle_contract = word_of(contract_words, facts.angle_contract);
  row.pairing = word_of(plan.pairing);
  row.dtype = word_of(Dtype::f32);
  row.rotary_dim = plan.rotary_dim;
  row.rope_theta = plan.rope_theta;
  row.seed = plan.seed;
  row.cpu_features = facts.cpu_features;
  row.judged_on = judged_on(facts);
  row.declared = declared_words(facts, Dtype::f32);
  row.whole_first = plan.first;
  row.whole_last = plan.last;
  Case c;
  c.contract = facts.angle_contract;
  const double underflow = bounds::underflow(precision_of(facts, Dtype::f32), 1);
  row.block_bound = (rotation_error(facts, Dtype::f32) + underflow) / u;
  row.vector_bound = pair_bound(facts, c, 1, 1, {}) / u;  // f32 results are stored as computed
  row.enumerated = "every 2x2 block (position, pair), by its two columns";
  row.bounded = "the arithmetic, by one full-mantissa vector a position";
  row.assumed =
      "linearity, and that a pair depends on its own elements and position alone: tested at random "
      "by the properties";
  return row;
}

std::optional<VerdictRow> cannot_certify(Subject& subject, const ChunkPlan& plan) {
  const KernelFacts& facts = subject.facts;
  VerdictRow row = verdict_for(facts, plan.pairing);
  row.verdict = Verdict::unsupported;
  if (!facts.cannot_run.empty()) {
    row.verdict = Verdict::skipped;
    row.reason = facts.cannot_run;
  } else if (facts.angle_contract == ROPE_CONTRACT_TABLE) {
    row.reason = "a table kernel has no angles of its own: nothing to enumerate";
  } else if ((facts.flags & ROPE_OUT_OF_PLACE) == 0) {
    row.reason = "the kernel runs in place only, but the exhaustive check runs out of place";
  } else {
    ChunkRunner runner(subject, plan);
    const CallResult answer = runner.ask_supports();
    if (answer.kind == CallResult::Kind::ok) return std::nullopt;
    Execution execution;
    execution.result = answer;
    row.verdict = verdict_of(failure_of(execution));
    row.reason = answer.text;
  }
  return row;
}

Certifier::Certifier(Subject& subject, const CertifyPlan& plan, DoubleRotations& rotations)
    : subject_(subject),
      plan_(plan),
      rotations_(rotations),
      runner_(subject_, plan_.chunk),
      suspicious_(suspicious_rows(plan_.chunk.pairing)) {}

VerdictRow Certifier::verdict_at(PositionRange range) const {
  VerdictRow row = verdict_for(subject_.facts, plan_.chunk.pairing);
  row.planned = row.executed = range.count();
  Case c = runner_.case_of(range.first, range.count());
  c.property = name;
  row.shrunk_case = to_text(c);
  row.replay = "ropewalk replay '" + row.shrunk_case + "'";
  return row;
}

// Halves the range as long as one half dies alone. A hang is not narrowed, as each try would take
// seconds.
VerdictRow Certifier::died(PositionRange range, CallResult result) {
  while (range.count() > 1 && result.kind != CallResult::Kind::hang) {
    const std::int64_t half = range.count() / 2;
    const PositionRange parts[] = {{range.first, range.first + half - 1},
                                   {range.first + half, range.last}};
    const auto dies = [&](const PositionRange& part) {
      const CallResult again = runner_.run(part.first, part.count());
      if (again.kind == CallResult::Kind::ok) return false;
      result = again;
      return true;
    };
    if (dies(parts[0]))
      range = parts[0];
    else if (dies(parts[1]))
      range = parts[1];
    else
      break;
  }
  VerdictRow row = verdict_at(range);
  Execution execution;
  execution.result = result;
  row.verdict = verdict_of(failure_of(execution));
  row.reason = result.text;
  row.where = range.count() == 1 ? fmt::format("position {}", range.first)
                                 : fmt::format("positions {}:{}", range.first, range.last);
  return row;
}

// Compares every pair of a position with the exact rotation. Keeps the worst, or notes what fails.
void Certifier::look_closely(std::int64_t position, const float* outputs, Outcome& out) {
  const std::int64_t dim = plan_.chunk.rotary_dim, half = dim / 2;
  const float* const inputs = runner_.inputs_of(position);
  CertificateRow& row = out.row;
  double worst_margin = 0;
  for (std::int64_t i = 0; i < half; ++i) {
    const PairIndex at = pair_index(plan_.chunk.pairing, i, half);
    const Rotation r = rotations_.exact(position, static_cast<std::size_t>(i));
    for (std::int64_t h = 0; h < ChunkRunner::heads; ++h) {
      const bool block = h < 2;
      const double error = error_in_u(outputs + h * dim, inputs + h * dim, at, r);
      const double bound = block ? row.block_bound : row.vector_bound;
      if (!(error <= bound)) {
        const double margin = std::isfinite(error) ? std::max(error / bound, 1 + 0x1p-52)
                                                   : std::numeric_limits<double>::infinity();
        if (margin <= worst_margin) continue;
        worst_margin = margin;
        out.failure = verdict_at({position, position});
        out.failure->verdict = Verdict::fail;
        out.failure->reason = std::isfinite(error) ? "a pair is too far from the exact rotation"
                                                   : "a pair is not finite, or was not written";
        out.failure->margin = margin;
        out.failure->bound = bound;
        out.failure->bound_unit = block ? "u" : "u rho";
        out.failure->where = fmt::format("position {}, pair {}, {}: {:.4g} {} off", position, i,
                                         head_words[h], error, out.failure->bound_unit);
      } else if (block && error > row.block_error) {
        row.block_error = error;
        row.block_position = position;
        row.block_pair = i;
        row.block_column = h + 1;
      } else if (!block && error > row.vector_error) {
        row.vector_error = error;
        row.vector_position = position;
        row.vector_pair = i;
      }
    }
  }
  if (out.failure) out.failure->compared = ChunkRunner::heads * half;
  if (out.failure) out.failure->compared_cases = 1;
}

void Certifier::judge_chunk(PositionRange chunk, Outcome& out) {
  const CallResult result = runner_.run(chunk.first, chunk.count());
  if (result.kind != CallResult::Kind::ok) {
    out.failure = died(chunk, result);
    return;
  }
  BlockRow look{};
  look.half = plan_.chunk.rotary_dim / 2;
  look.block_limit = limit_below(out.row.block_error);
  look.vector_limit = limit_below(out.row.vector_error);
  for (std::int64_t t = 0; t < chunk.count() && !out.failure; ++t) {
    const std::int64_t position = chunk.first + t;
    look.outputs = runner_.outputs(t);
    look.x = runner_.inputs_of(position) + 2 * plan_.chunk.rotary_dim;
    look.rotations = rotations_.row(position);
    if (suspicious_(look)) {
      look_closely(position, look.outputs, out);
      look.block_limit = limit_below(out.row.block_error);
      look.vector_limit = limit_below(out.row.vector_error);
    }
    runner_.judged(t);
  }
}

Certifier::Outcome Certifier::judge(PositionRange piece) {
  Outcome out{plan_.identity, std::nullopt};
  CertificateRow& row = out.row;
  row.first = piece.first;
  row.last = piece.last;
  row.planned = piece.count();
  row.block_error = row.vector_error = -1;  // so the first position is compared, whatever it holds
  for (std::int64_t from = piece.first; from <= piece.last && !out.failure;) {
    const std::int64_t to =
        std::min(piece.last, down_to_chunk(from) + ChunkRunner::tokens_most - 1);
    judge_chunk({from, to}, out);
    row.executed += to - from + 1;
    row.compared += to - from + 1;
    from = to + 1;
  }
  row.blocks = row.compared * (row.rotary_dim / 2);
  return out;
}

VerdictRow passed(const CertificateRow& c) {
  VerdictRow row;
  row.kernel = c.kernel;
  row.plugin = c.plugin;
  row.angle_contract = c.angle_contract;
  row.pairing = c.pairing;
  row.dtype = c.dtype;
  row.property = name;
  row.claim = claim;
  row.verdict = Verdict::pass;
  const double block_margin = c.block_error / c.block_bound;
  const double vector_margin = c.vector_error / c.vector_bound;
  const bool block = block_margin >= vector_margin;
  row.margin = block ? block_margin : vector_margin;
  row.bound = block ? c.block_bound : c.vector_bound;
  row.bound_unit = block ? "u" : "u rho";
  row.where = block ? fmt::format("position {}, pair {}, {}", c.block_position, c.block_pair,
                                  head_words[c.block_column - 1])
                    : fmt::format("position {}, pair {}, {}", c.vector_position, c.vector_pair,
                                  head_words[2]);
  row.planned = c.planned;
  row.executed = c.executed;
  row.compared_cases = c.compared;
  row.compared = ChunkRunner::heads * c.blocks;
  row.judged_on = c.judged_on;
  row.declared = c.declared;
  return row;
}

std::optional<VerdictRow> certify(const CertifyRun& run, DoubleRotations& rotations) {
  constexpr char row_line = 'c', failure_line = 'f';
  std::uint32_t first_failed = std::numeric_limits<std::uint32_t>::max();
  std::optional<VerdictRow> failure;
  ShareOut jobs;
  jobs.jobs = static_cast<std::uint32_t>(run.pieces.size());
  jobs.processes = run.processes;
  jobs.make_work = [&]() -> Work {
    struct Mine {
      Worker worker;
      Oracle oracle;
      Subject subject;
      Certifier certifier;
      Mine(const CertifyRun& r, DoubleRotations& table)
          : worker(r.options, r.known),
            subject{worker, oracle, r.plan.facts},
            certifier(subject, r.plan, table) {}
    };
    return
        [mine = std::make_shared<Mine>(run, rotations), &run](std::uint32_t job, const Tell& tell) {
          const Certifier::Outcome out = mine->certifier.judge(run.pieces[job]);
          out.failure ? tell(failure_line, to_json_line(*out.failure))
                      : tell(row_line, to_json_line(out.row));
        };
  };
  jobs.on_line = [&](std::uint32_t job, char kind, const std::string& text) {
    if (kind == row_line) run.on_row(certificate_row_from(text));
    if (kind != failure_line || job > first_failed) return;
    first_failed = job;
    failure = verdict_row_from(text);
  };
  jobs.on_done = [&](std::uint32_t) { return !failure; };
  share_out(jobs);
  return failure;
}

namespace {

// Checks the replay line of a position, or of a range that died, with the same data and bounds.
Finding check_again(Subject& subject, const Case& c) {
  Finding f;
  CertifyPlan plan;
  plan.facts = subject.facts;
  plan.chunk = {c.pairing,
                c.rotary_dim,
                c.rope_theta,
                c.seed - static_cast<std::uint64_t>(c.position_from & (ChunkRunner::vectors - 1)),
                c.position_from,
                c.position_from + c.tokens - 1};
  plan.identity = identity_of(plan.facts, plan.chunk);
  Case expected = ChunkRunner(subject, plan.chunk).case_of(c.position_from, c.tokens);
  expected.property = c.property;
  if (!(expected == c))
    throw BadCase(
        "replay line: property=exhaustive takes only the cases that verify --exhaustive prints");
  DoubleRotations rotations(frequencies_of(c), c.contract == ROPE_CONTRACT_F32_ANGLE);
  Certifier certifier(subject, plan, rotations);
  const Certifier::Outcome out = certifier.judge({plan.chunk.first, plan.chunk.last});
  const VerdictRow row = out.failure ? *out.failure : passed(out.row);
  if (row.verdict == Verdict::crash) f.kind = Finding::Kind::crash;
  if (row.verdict == Verdict::hang) f.kind = Finding::Kind::hang;
  if (row.verdict == Verdict::unsupported) f.kind = Finding::Kind::unsupported;
  if (row.verdict == Verdict::skipped) f.kind = Finding::Kind::skipped;
  if (row.verdict == Verdict::fail && row.margin == 0) f.kind = Finding::Kind::broken;
  f.margin = row.margin;
  f.bound = row.bound;
  f.bound_unit = row.bound_unit;
  f.compared = row.compared;
  f.where = row.where;
  f.reason = row.reason;
  return f;
}

}  // namespace

namespace {

const Registered exhaustive({
    .name = name,
    .order = 1000,
    .claim = claim,
    .judged_by_oracle = true,
    .for_replay_alone = true,
    .check = check_again,
});

}  // namespace

}  // namespace ropewalk::properties
