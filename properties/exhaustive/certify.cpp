#include "properties/exhaustive/certify.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <memory>
#include <mutex>

#include "harness/cases/checked.h"
#include "harness/judge/judge.h"
#include "properties/judge_threads.h"
#include "properties/property.h"
#include "properties/search/verify.h"
#include "reports/record/record.h"

namespace ropewalk::properties {
using namespace harness;
using namespace report;
namespace {

std::string text_of(PositionRange range) {
  return fmt::format("{}:{}", range.first, range.last);
}

// What is said of a call beside its position: its form, and its length if it has other positions.
std::string words_for(const Certifier::Call& call) {
  std::string words;
  if (call.form.operation == Operation::transpose) words += ", backward";
  if (call.form.position_dtype == Dtype::i64) words += ", with int64 positions";
  if (call.positions.count() > 1) words += ", in a call of positions " + text_of(call.positions);
  return words;
}

void keep_worst(double error, std::int64_t position, std::int64_t pair, std::int64_t head,
                CertificateRow& row) {
  if (head < 2 && error > row.block_error) {
    row.block_error = error;
    row.block_position = position;
    row.block_pair = pair;
    row.block_column = head + 1;
  } else if (head == 2 && error > row.vector_error) {
    row.vector_error = error;
    row.vector_position = position;
    row.vector_pair = pair;
  }
}

// The property that replay lines name. Makes the call of the line again, with the same data and
// bounds.
Finding check(Subject& subject, const Case& c) {
  require(c.dtype != Dtype::f64, "replay line: property=exhaustive takes no dtype=f64");
  Finding f;
  CertifyPlan plan;
  plan.facts = subject.facts;
  plan.chunk = {c.pairing,
                c.rotary_dim,
                c.rope_theta,
                c.seed - static_cast<std::uint64_t>(c.position_from & (ChunkRunner::vectors - 1)),
                c.position_from,
                c.position_from + c.tokens - 1,
                c.dtype};
  require(c.tokens >= 1 && c.tokens <= plan.chunk.longest_call(),
          "replay line: property=exhaustive takes 1 to {} tokens", plan.chunk.longest_call());
  plan.identity = identity_of(plan.facts, plan.chunk);
  const ChunkForm form{c.operation, c.position_dtype};
  Case expected = ChunkRunner(subject, plan.chunk).case_of(c.position_from, c.tokens, form);
  expected.property = c.property;
  if (!(expected == c))
    throw BadCase(
        "replay line: property=exhaustive takes only the cases that verify --exhaustive prints");
  DoubleRotations rotations(frequencies_of(c), c.contract == ROPE_CONTRACT_F32_ANGLE);
  Certifier certifier(subject, plan, rotations);
  const Certifier::Outcome out = certifier.judge_alone({plan.chunk.first, plan.chunk.last}, form);
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

const Registered exhaustive({
    .name = exhaustive_name,
    .order = 1000,
    .claim = exhaustive_claim,
    .judged_by_oracle = true,
    .for_replay_alone = true,
    .check = check,
});

}  // namespace

Certifier::Certifier(Subject& subject, const CertifyPlan& plan, DoubleRotations& rotations)
    : subject_(subject),
      plan_(plan),
      bounds_(pair_bounds(plan.facts, plan.chunk.dtype)),
      rotations_(rotations),
      runner_(subject_, plan_.chunk),
      suspicious_(suspicious_rows(plan_.chunk.pairing, bounds_.stored())) {}

// |y - r x| for a pair of a head at one position, in u |x|, or in the pair's own bound if results
// are rounded on store. It uses sqrt of squares and not hypot, so all machines give the same bits.
double Certifier::error_of(const float* y, const float* x, PairIndex at, const Rotation& r,
                           double relative_bound) const {
  const auto length = [](const Complex<double>& z) { return std::sqrt(z.re * z.re + z.im * z.im); };
  const auto rounded = [](const PairValue& z) {
    return Complex<double>{static_cast<double>(z.re), static_cast<double>(z.im)};
  };
  const PairValue in{DoubleDouble(x[at.first]), DoubleDouble(x[at.second])};
  const PairValue out{DoubleDouble(y[at.first]), DoubleDouble(y[at.second])};
  const PairValue expected = rotate(in, r);
  const double off = length(rounded(out - expected)), rho = length(rounded(in));
  if (!bounds_.stored()) return off / (rho * bounds_.precision.u);
  const double computed = relative_bound * rho;
  const auto [re, im] = rounded(expected);
  const Complex<double> stored{bounds::half_ulp(bounds_.precision, std::abs(re) + computed),
                               bounds::half_ulp(bounds_.precision, std::abs(im) + computed)};
  return off / (computed + length(stored));
}

// The limit of errors that are surely no larger than the worst so far, and are skipped. What is
// compared is off by the error of the rotations and by roundings, together 2^-49 of |x|. A bound
// that is a sum of two parts is at least the root of the sum of their squares.
SquaredLimit Certifier::limit_below(double worst, double relative_bound) const {
  const double one = bounds_.stored() ? relative_bound : bounds_.precision.u;
  const double times = worst * (1 - 0x1p-40) - 4 * DoubleRotations::error / one;
  if (times <= 0) return {-1, 0};
  return {times * one * times * one, times * times};
}

VerdictRow Certifier::verdict_at(const Call& call) const {
  VerdictRow row = verdict_for(subject_.facts, plan_.chunk);
  row.planned = row.executed = call.positions.count();
  Case c = runner_.case_of(call.positions.first, call.positions.count(), call.form);
  c.property = exhaustive_name;
  row.shrunk_case = to_text(c);
  row.replay = replay_line(row.shrunk_case, subject_.facts);
  return row;
}

// Halves the call as long as one half dies alone. A hang is not narrowed, as each try would take
// seconds.
VerdictRow Certifier::died(Call call, CallResult result) {
  const auto is_over = [&] {
    return call.positions.count() == 1 || result.kind == CallResult::Kind::hang ||
           result.kind == CallResult::Kind::unsupported;
  };
  const auto dies = [&](const PositionRange& part) {
    const CallResult again = runner_.run(part.first, part.count(), call.form);
    if (again.kind == CallResult::Kind::ok) return false;
    result = again;
    call.positions = part;
    return true;
  };
  while (!is_over()) {
    const auto [first, last] = call.positions;
    const std::int64_t half = call.positions.count() / 2;
    if (!dies({first, first + half - 1}) && !dies({first + half, last})) break;
  }
  VerdictRow row = verdict_at(call);
  Execution execution;
  execution.result = result;
  row.verdict = verdict_of(failure_of(execution));
  row.reason = result.text;
  row.where = call.positions.count() == 1 ? fmt::format("position {}", call.positions.first)
                                          : "positions " + text_of(call.positions);
  return row;
}

// Compares every pair of a position with the exact rotation. Keeps the worst, or notes what fails.
void Certifier::look_closely(std::int64_t position, const float* outputs, const Call& call,
                             Outcome& out) {
  const std::int64_t dim = plan_.chunk.rotary_dim, half = dim / 2;
  const float* const inputs = runner_.inputs_of(position);
  double worst_margin = 0;
  for (std::int64_t i = 0; i < half; ++i) {
    const PairIndex at = pair_index(plan_.chunk.pairing, i, half);
    const Rotation forward = rotations_.exact(position, static_cast<std::size_t>(i));
    const bool back = call.form.operation == Operation::transpose;
    const Rotation r = back ? conjugate(forward) : forward;
    for (std::int64_t h = 0; h < ChunkRunner::heads; ++h) {
      const bool block = h < 2;
      const double error = error_of(outputs + h * dim, inputs + h * dim, at, r,
                                    block ? bounds_.block : bounds_.vector);
      const double bound = block ? out.row.block_bound : out.row.vector_bound;
      if (error <= bound) {
        if (!call.is_sample) keep_worst(error, position, i, h, out.row);
        continue;
      }
      const double margin = std::isfinite(error) ? std::max(error / bound, 1 + 0x1p-52)
                                                 : std::numeric_limits<double>::infinity();
      if (margin <= worst_margin) continue;
      worst_margin = margin;
      failed_at_ = position;
      out.failure = verdict_at(call);
      out.failure->verdict = Verdict::fail;
      out.failure->reason = std::isfinite(error) ? "a pair is too far from the exact rotation"
                                                 : "a pair is not finite, or was not written";
      out.failure->margin = margin;
      out.failure->bound = bound;
      out.failure->bound_unit = shown_unit(out.row, block);
      out.failure->where = fmt::format(
          "position {}, pair {}, {}: {:.4g} {}{}", position, i, head_words[h], error,
          bounds_.stored() ? "times its bound" : out.failure->bound_unit + " off", words_for(call));
    }
  }
  if (out.failure) out.failure->compared = ChunkRunner::heads * half;
  if (out.failure) out.failure->compared_cases = 1;
}

// The way back turns by the conjugate, which is the product of the conjugates of both factors.
DoubleRotations::Row Certifier::rotations_at(std::int64_t position, const ChunkForm& form) {
  DoubleRotations::Row row = rotations_.row(position);
  if (form.operation == Operation::forward) return row;
  const auto half = static_cast<std::size_t>(plan_.chunk.rotary_dim / 2);
  base_sin_back_.resize(half);
  sin_back_.resize(half);
  std::transform(row.base_sin, row.base_sin + half, base_sin_back_.begin(), std::negate<>());
  std::transform(row.sin, row.sin + half, sin_back_.begin(), std::negate<>());
  row.base_sin = base_sin_back_.data();
  row.sin = sin_back_.data();
  return row;
}

// Judges the outputs of a call that was made, up to the first position that fails. A sample keeps
// no worst errors, so all that lies within the bounds may be skipped.
void Certifier::compare(const Call& call, Outcome& out) {
  BlockRow look{};
  look.half = plan_.chunk.rotary_dim / 2;
  look.stored_u = bounds_.precision.stored_u;
  look.stored_least = bounds_.precision.stored_least();
  const auto take_limits = [&] {
    look.block =
        limit_below(call.is_sample ? out.row.block_bound : out.row.block_error, bounds_.block);
    look.vector =
        limit_below(call.is_sample ? out.row.vector_bound : out.row.vector_error, bounds_.vector);
  };
  take_limits();
  for (std::int64_t t = 0; t < call.positions.count() && !out.failure; ++t) {
    const std::int64_t position = call.positions.first + t;
    look.outputs = runner_.outputs(t);
    look.x = runner_.inputs_of(position) + 2 * plan_.chunk.rotary_dim;
    look.rotations = rotations_at(position, call.form);
    if (suspicious_(look)) {
      look_closely(position, look.outputs, call, out);
      take_limits();
    }
    runner_.judged(t);
  }
}

// Looks for a shorter call that fails too: the position alone, then calls that lose positions in
// front and behind it, half of what is left at a time. A kernel may be wrong at a position only
// where a call crosses it, so the whole call stays if no shorter one fails.
VerdictRow Certifier::narrowed(const Call& call, VerdictRow failure) {
  const std::int64_t position = failed_at_;
  Call part = call;
  part.is_sample = true;
  const auto try_positions = [&](std::int64_t first, std::int64_t last) {
    Call shorter = part;
    shorter.positions = {first, last};
    Outcome out{plan_.identity, std::nullopt};
    const CallResult result = runner_.run(first, shorter.positions.count(), call.form);
    if (result.kind == CallResult::Kind::ok) compare(shorter, out);  // a death is another failure
    if (!out.failure) return false;
    failure = *std::move(out.failure);
    part = shorter;
    return true;
  };
  if (try_positions(position, position)) return failure;
  if (!try_positions(call.positions.first, call.positions.last)) {
    failure.reason += " (the same call, made again alone, holds)";
    return failure;
  }
  for (const bool in_front : {true, false}) {
    const auto spare = [&] {
      return in_front ? position - part.positions.first : part.positions.last - position;
    };
    for (std::int64_t less = spare(); less > 0;) {
      const auto [first, last] = part.positions;
      const bool fails =
          in_front ? try_positions(first + less, last) : try_positions(first, last - less);
      less = fails ? std::min(less, spare()) : less / 2;
    }
  }
  return failure;
}

void Certifier::judge_call(const Call& call, Outcome& out) {
  const auto [first, last] = call.positions;
  const CallResult result = runner_.run(first, call.positions.count(), call.form);
  // Other counts of tokens, or these forms, may be refused.
  if (call.is_sample && result.kind == CallResult::Kind::unsupported) return;
  if (result.kind != CallResult::Kind::ok) {
    out.failure = died(call, result);
    return;
  }
  compare(call, out);
  if (out.failure && first < last) out.failure = narrowed(call, *std::move(out.failure));
  if (!call.is_sample || out.failure) return;
  (call.form.operation == Operation::transpose ? out.row.sampled_backward : out.row.sampled_i64) +=
      call.positions.count();
}

Certifier::Outcome Certifier::begin(PositionRange piece) const {
  Outcome out{plan_.identity, std::nullopt};
  CertificateRow& row = out.row;
  row.first = piece.first;
  row.last = piece.last;
  row.planned = piece.count();
  row.block_error = row.vector_error = -1;  // so the first position is compared, whatever it holds
  return out;
}

Certifier::Outcome Certifier::judge(PositionRange piece) {
  Outcome out = begin(piece);
  CertificateRow& row = out.row;
  const PositionRange whole{plan_.chunk.first, plan_.chunk.last};
  const Division division(plan_.chunk);
  row.shortest_call = division.longest;
  for (const PositionRange& call : calls_of(piece, division)) {
    judge_call({call, {}}, out);
    for (const SampledCall& sample : samples_after(call, whole, division))
      if (!out.failure) judge_call({sample.positions, sample.form, true}, out);
    if (out.failure) break;
    row.calls += 1;
    row.long_calls += call.count() >= division.least_long ? 1 : 0;
    row.shortest_call = std::min(row.shortest_call, call.count());
    row.longest_call = std::max(row.longest_call, call.count());
    row.executed += call.count();
    row.compared += call.count();
  }
  row.blocks = row.compared * (row.rotary_dim / 2);
  return out;
}

Certifier::Outcome Certifier::judge_alone(PositionRange positions, const ChunkForm& form) {
  Outcome out = begin(positions);
  judge_call({positions, form}, out);
  out.row.executed = out.row.compared = positions.count();
  out.row.blocks = out.row.compared * (out.row.rotary_dim / 2);
  return out;
}

std::optional<VerdictRow> certify(const CertifyRun& run, const DoubleRotations& rotations) {
  JudgeThreads threads(std::clamp<std::size_t>(run.pieces.size(), 1, run.judges));
  std::mutex mutex;
  std::atomic<std::size_t> next = 0;
  std::size_t first_failed = run.pieces.size();
  std::optional<VerdictRow> failure;
  threads.run([&](std::size_t) {
    Worker worker(run.options, run.known);
    Oracle oracle;
    DoubleRotations mine = rotations;
    Subject subject{worker, oracle, run.plan.facts};
    Certifier certifier(subject, run.plan, mine);
    std::unique_lock lock(mutex);
    // Pieces begin in their order, until one fails, or a row cannot be delivered.
    const std::shared_ptr<void> at_end(nullptr, [&](void*) { next = run.pieces.size(); });
    while (next < run.pieces.size() && !failure) {
      const std::size_t piece = next++;
      lock.unlock();
      Certifier::Outcome out = certifier.judge(run.pieces[piece]);
      lock.lock();
      if (!out.failure) {
        run.on_row(out.row);
      } else if (piece < first_failed) {
        first_failed = piece;
        failure = std::move(out.failure);
      }
    }
  });
  return failure;
}

}  // namespace ropewalk::properties
