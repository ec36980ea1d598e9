#include "properties/exhaustive/certify.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <mutex>

#include "harness/cases/checked.h"
#include "harness/cases/data.h"
#include "harness/cases/names.h"
#include "harness/cases/poison.h"
#include "harness/judge/judge.h"
#include "harness/process/guarded_mapping.h"
#include "properties/exhaustive/block_compare.h"
#include "properties/judge_threads.h"
#include "properties/property.h"
#include "properties/search/verdict_rows.h"
#include "properties/search/verify.h"

namespace ropewalk::properties {
using namespace harness;
using namespace protocol;
using namespace report;
namespace {

constexpr const char* name = "exhaustive";
constexpr const char* claim =
    "at every position each 2x2 block is the exact rotation, and a full vector is turned by it";
// The two columns of a block and the full vector.
constexpr const char* head_words[] = {"column 1 (e1)", "column 2 (e2)", "the full vector"};
constexpr ChunkForm with_int64{Operation::forward, Dtype::i64};
constexpr ChunkForm backward{Operation::transpose, Dtype::i32};

std::string words_of(const ChunkForm& form) {
  return form == backward ? ", backward" : form == with_int64 ? ", with int64 positions" : "";
}

// Positions that are equal modulo this number get the same full-mantissa vector.
constexpr std::int64_t vectors = 1024;

std::uint64_t vector_of(std::int64_t position) {
  return static_cast<std::uint64_t>(position & (vectors - 1));
}

// The call as a case. Its data is that of the call only if it has one position.
Case case_of(const KernelFacts& facts, const ChunkPlan& plan, const RangeCall& call) {
  Case c;
  c.kernel = facts.name;
  c.plugin = facts.plugin;
  c.property = name;
  c.contract = facts.angle_contract;
  c.operation = call.form.operation;
  c.position_dtype = call.form.position_dtype;
  c.pairing = plan.pairing;
  c.rotary_dim = plan.rotary_dim;
  c.rope_theta = plan.rope_theta;
  c.tokens = call.positions.count();
  c.position_from = call.positions.first;
  c.data = DataPattern::basis;
  c.seed = plan.seed + vector_of(call.positions.first);
  c.dtype = plan.dtype;
  c.tensors[0].heads = ChunkPlan::heads;
  c.tensors[0].head_dim = plan.rotary_dim;
  return c;
}

// Makes calls. The executor makes, copies and searches the buffers of each case, which would take
// longer than judging them. Here the inputs are made once, and outputs are judged where the worker
// left them. Each position has three heads: the basis vectors e1 and e2, and a full-mantissa vector
// (DataPattern::basis).
class Caller {
 public:
  Caller(Subject& subject, const ChunkPlan& plan)
      : subject_(subject), plan_(plan), outputs_(static_cast<std::size_t>(plan.row_elements())) {
    inv_freq_ = frequencies_of(case_of(subject.facts, plan, {}));
    for (std::int64_t at = 0; at < vectors; ++at) {
      const Problem problem = make_problem(case_at({{at, at}, {}}), subject.oracle);
      const auto& row =
          problem.buffers[static_cast<std::size_t>(problem.buffer(Operand::in))].content;
      rows_.insert(rows_.end(), row.begin(), row.end());
    }
    for (std::uint32_t bits = 0; plan.dtype != Dtype::f32 && bits >> 16 == 0; ++bits)
      values_.push_back(
          static_cast<float>(load(reinterpret_cast<const std::byte*>(&bits), plan.dtype, 0)));
    poison_.resize(row_bytes());
    fill_poison(poison_.data(), row_bytes(), plan.dtype, Poison::a);
    inputs_.resize(static_cast<std::size_t>(vectors * plan.row_elements()));
    widen(rows_.data(), inputs_);
  }

  // Each buffer has room for the longest call. What a call uses of it ends as near to its end, and
  // so to a forbidden page, as 64-byte alignment lets it. Only the rows of the inputs' buffer hold
  // the vectors in turn: a call takes those from its first position's on, and so needs no copy,
  // unless that row is not aligned.
  CallResult make(const RangeCall& call, std::uint32_t steps) {
    subject_.worker.kernels();
    CallDescriptor to{};
    to.problem = make_question(case_at(call)).asked;
    to.problem.inv_freq = nullptr;
    // All calls get the same bounds on positions, however the positions are divided.
    to.problem.min_position = plan_.first;
    to.problem.max_position = plan_.last;
    to.workspace_at_end = 1;
    constexpr std::uint64_t cache_line = 64;
    std::uint64_t next = 0;
    const auto place = [&](Operand role, std::uint64_t room, std::uint64_t used) -> Region& {
      Region region{buffers_offset + next, whole_pages(room), 0, is_output(role) ? 1u : 0u, 0};
      region.at = (region.mapped_bytes - used) / cache_line * cache_line;
      next += region.mapped_bytes;
      to.operands[to.count] = {role, 0, used, region};
      return to.operands[to.count++].region;
    };
    const auto longest = static_cast<std::uint64_t>(plan_.longest_call());
    const auto count = static_cast<std::uint64_t>(call.positions.count());
    const auto bytes = static_cast<std::uint64_t>(data_type(call.form.position_dtype).bytes);
    const auto frequencies = inv_freq_.size() * sizeof(double);
    const Region& inv_freq = place(Operand::inv_freq, frequencies, frequencies);
    const Region& positions =
        place(Operand::positions, longest * sizeof(std::int64_t), count * bytes);
    const std::uint64_t row = vector_of(call.positions.first) * row_bytes();
    const std::uint64_t in_from = row_bytes() % cache_line == 0 ? 0 : row;
    const std::uint64_t input_rows = longest + vectors;
    Region& in = place(Operand::in, input_rows * row_bytes(), count * row_bytes());
    in.at = row - in_from;
    const Region& out = place(Operand::out, longest * row_bytes(), count * row_bytes());
    std::byte* const memory = subject_.worker.reserve_buffers(next) - buffers_offset;
    const auto at = [&](const Region& region) { return memory + region.file_offset + region.at; };
    std::memcpy(at(inv_freq), inv_freq_.data(), frequencies);
    out_ = at(out);
    for (std::uint64_t t = 0; t < count; ++t) {
      const std::int64_t position = call.positions.first + static_cast<std::int64_t>(t);
      std::memcpy(at(positions) + t * bytes, &position, bytes);  // a little-endian integer
      std::memcpy(out_ + t * row_bytes(), poison_.data(), row_bytes());
    }
    const bool are_there = in_from == in_from_ && starts_ == subject_.worker.starts();
    for (std::uint64_t r = 0; !are_there && r < input_rows; ++r)
      std::memcpy(memory + in.file_offset + r * row_bytes(),
                  rows_.data() + (in_from + r * row_bytes()) % rows_.size(), row_bytes());
    in_from_ = in_from;
    starts_ = subject_.worker.starts();
    return subject_.worker.call(subject_.facts.index, to, steps | step_keep_mapped);
  }

  // After make(): the outputs of a token's three heads, one behind the other, until the next call.
  // Elements that the kernel did not write are NaN.
  const float* outputs(std::int64_t token) {
    const std::byte* const row = out_ + static_cast<std::uint64_t>(token) * row_bytes();
    if (plan_.dtype == Dtype::f32) return reinterpret_cast<const float*>(row);
    widen(row, outputs_);
    return outputs_.data();
  }
  const float* inputs_of(std::int64_t position) const {
    return inputs_.data() + (position & (vectors - 1)) * plan_.row_elements();
  }

 private:
  std::uint64_t row_bytes() const { return static_cast<std::uint64_t>(plan_.row_bytes()); }
  Case case_at(const RangeCall& call) const {
    Case c = case_of(subject_.facts, plan_, call);
    c.inv_freq = inv_freq_;
    return c;
  }
  // Fills `to`, which is exact.
  void widen(const std::byte* from, std::vector<float>& to) const {
    if (plan_.dtype == Dtype::f32) std::memcpy(to.data(), from, to.size() * sizeof(float));
    for (std::size_t i = 0; plan_.dtype != Dtype::f32 && i < to.size(); ++i)
      to[i] = values_[load_as<std::uint16_t>(from, static_cast<std::int64_t>(i))];
  }

  Subject& subject_;
  ChunkPlan plan_;
  std::vector<double> inv_freq_;   // made once, and each case gets them as its own
  std::vector<std::byte> rows_;    // the inputs: [vectors, heads, rotary_dim]
  std::vector<std::byte> poison_;  // what a row of outputs holds before a call
  // All values of a 16-bit type: converting one of f16 by integers takes some fifteen operations.
  std::vector<float> values_;
  std::vector<float> inputs_, outputs_;  // widened: all inputs, a token's outputs
  std::uint64_t in_from_ = 0;            // where in rows_ the inputs' buffer begins
  int starts_ = 0;                       // Worker::starts() of the worker that has it
  std::byte* out_ = nullptr;             // of the last call
};

std::shared_ptr<DoubleRotations> rotations_of(const Case& c) {
  return std::make_shared<DoubleRotations>(frequencies_of(c),
                                           c.contract == ROPE_CONTRACT_F32_ANGLE);
}

// A certificate holds no path.
std::string words_without_path(Case c) {
  c.plugin = std::filesystem::path(c.plugin).filename().string();
  return to_text(c);
}

constexpr std::int64_t longest_sample = 64;

// What a number is drawn for.
enum class Drawn { begin, start, length };

std::int64_t draw(const ChunkPlan& plan, Drawn what, std::int64_t of, std::int64_t below) {
  const std::uint64_t bits = hash(plan.seed, 0xca115, static_cast<std::uint64_t>(what), of);
  return static_cast<std::int64_t>(bits % static_cast<std::uint64_t>(below));
}

// The number of the stretch in which a position lies.
std::int64_t stretch_of(std::int64_t position, std::int64_t stretch) {
  return (position - (position < 0 ? stretch - 1 : 0)) / stretch;
}

// The call that holds a position, in whichever range.
PositionRange call_of(std::int64_t position, const ChunkPlan& plan) {
  const std::int64_t stretch = plan.longest_call() / 2;
  const auto begin = [&](std::int64_t k) {
    return k * stretch + draw(plan, Drawn::begin, k, stretch);
  };
  std::int64_t k = stretch_of(position, stretch);
  if (begin(k) > position) --k;
  return {begin(k), begin(k + 1) - 1};
}

// One thread's share: judges pieces of the plan's range, one after the other.
class Certifier {
 public:
  Certifier(Subject& subject, const CertifyPlan& plan)
      : plan_(plan),
        precision_(precision_of(plan.facts, plan.chunk.dtype)),
        rotations_(*plan.rotations),
        caller_(subject, plan_.chunk),
        suspicious_(suspicious_rows(plan_.chunk.pairing, is_stored())) {
    Case c;
    c.contract = plan.facts.angle_contract;
    c.dtype = plan.chunk.dtype;
    // The inputs are 0, 1 and numbers of at least 1/2: none is subnormal and could be flushed.
    bounds::Precision without_subnormal_inputs = precision_;
    without_subnormal_inputs.stored_normal = 0;
    const double underflow = bounds::underflow(without_subnormal_inputs, 1);
    block_bound_ = rotation_error(plan.facts, c, 0) + underflow;
    vector_bound_ = HeadRule(plan.facts, c, 1).relative_bound + underflow;
  }

  // A PASS with the worst error, or a verdict on the first call that fails, cut down.
  VerdictRow judge(PositionRange piece) {
    Finding worst;
    worst.margin = -1;  // so the first position is compared, whatever it holds
    for (const RangeCall& call : calls_of(piece, plan_.chunk, plan_.sampled)) {
      judge_call(call, worst);
      if (!worst.holds()) return smallest(call, worst);
    }
    worst.compared = piece.count() * values();
    return row_on({piece, {}}, worst);
  }

  // Judges a call of at most longest_call() positions. Keeps the worst, or what fails.
  void judge_call(const RangeCall& call, Finding& worst) {
    const auto [first, last] = call.positions;
    Execution execution;
    execution.result = caller_.make(call, step_supports | step_prepare | step_apply | step_release);
    if (execution.result.kind == CallResult::Kind::ok) {
      compare(call, worst);
      if (!worst.holds() && first != last)
        worst.where += fmt::format(", in a call of positions {}:{}", first, last);
      return;
    }
    worst = failure_of(execution);
    worst.where = first == last ? fmt::format("position {}", first)
                                : fmt::format("positions {}:{}", first, last);
  }

 private:
  bool is_stored() const { return precision_.stored_u > 0; }
  std::int64_t values() const { return ChunkPlan::heads * plan_.chunk.rotary_dim / 2; }

  // |y - r x| for a pair of a head at one position, in its own bound. It uses sqrt of squares and
  // not hypot, so all machines give the same bits. NaN is infinite.
  double margin_of(const float* y, const float* x, PairIndex at, const Rotation& r,
                   double relative_bound) const {
    const auto length = [](const Complex<double>& z) {
      return std::sqrt(z.re * z.re + z.im * z.im);
    };
    const auto rounded = [](const PairValue& z) {
      return Complex<double>{static_cast<double>(z.re), static_cast<double>(z.im)};
    };
    const PairValue in{DoubleDouble(x[at.first]), DoubleDouble(x[at.second])};
    const PairValue out{DoubleDouble(y[at.first]), DoubleDouble(y[at.second])};
    const PairValue expected = rotate(in, r);
    const double computed = relative_bound * length(rounded(in));
    const auto [re, im] = rounded(expected);
    const Complex<double> stored{bounds::half_ulp(precision_, std::abs(re) + computed),
                                 bounds::half_ulp(precision_, std::abs(im) + computed)};
    const double margin = length(rounded(out - expected)) / (computed + length(stored));
    return std::isfinite(margin) ? margin : std::numeric_limits<double>::infinity();
  }

  // Compares every pair of a position with the exact rotation.
  void look_closely(std::int64_t position, const ChunkForm& form, const float* outputs,
                    Finding& worst) {
    const std::int64_t dim = plan_.chunk.rotary_dim, half = dim / 2;
    const float* const inputs = caller_.inputs_of(position);
    for (std::int64_t i = 0; i < half; ++i) {
      const PairIndex at = pair_index(plan_.chunk.pairing, i, half);
      const Rotation r =
          rotations_.exact(form == backward ? -position : position, static_cast<std::size_t>(i));
      for (std::int64_t h = 0; h < ChunkPlan::heads; ++h) {
        const double bound = h < 2 ? block_bound_ : vector_bound_;
        const double margin = margin_of(outputs + h * dim, inputs + h * dim, at, r, bound);
        if (margin <= worst.margin) continue;
        worst.margin = margin;
        worst.bound = is_stored() ? 1 : bound / precision_.u;
        worst.bound_unit = is_stored() ? "bound" : h < 2 ? "u" : "u rho";
        worst.where =
            fmt::format("position {}, pair {}, {}{}", position, i, head_words[h], words_of(form));
        if (margin > 1)
          worst.reason = std::isfinite(margin) ? "a pair is too far from the exact rotation"
                                               : "a pair is not finite, or was not written";
      }
    }
  }

  // Looks closely at the positions that could hold a new worst, up to the first that fails. The way
  // back turns as the position does whose sign is the other.
  void compare(const RangeCall& call, Finding& worst) {
    // The limit of errors that are surely no larger than the worst so far. What is compared is off
    // by the error of the rotations and by roundings, together 2^-49 of |x|. A bound that is a sum
    // of two parts is at least the root of the sum of their squares.
    const auto limit_below = [&](double bound) -> SquaredLimit {
      const double times = worst.margin * (1 - 0x1p-40) - 4 * DoubleRotations::error / bound;
      if (times <= 0) return {-1, 0};
      return {times * bound * times * bound, is_stored() ? times * times : 0};
    };
    BlockRow look{};
    look.half = plan_.chunk.rotary_dim / 2;
    look.stored_u = precision_.stored_u;
    look.stored_least = precision_.stored_least();
    for (std::int64_t t = 0; t < call.positions.count() && worst.margin <= 1; ++t) {
      const std::int64_t position = call.positions.first + t;
      look.outputs = caller_.outputs(t);
      look.x = caller_.inputs_of(position) + 2 * plan_.chunk.rotary_dim;
      look.rotations = rotations_.row(call.form == backward ? -position : position);
      look.block = limit_below(block_bound_);
      look.vector = limit_below(vector_bound_);
      if (suspicious_(look)) look_closely(position, call.form, look.outputs, worst);
      worst.compared += values();
    }
  }

  // Halves a call as long as one half fails alone. A kernel may be wrong at a position only where a
  // call crosses it, so what is left may be the whole call. A hang is not cut down, as each try
  // would take seconds.
  VerdictRow smallest(RangeCall call, Finding finding) {
    const PositionRange whole = call.positions;
    const auto fails = [&](PositionRange part) {
      Finding again;
      judge_call({part, call.form}, again);
      if (!is_failure(verdict_of(again))) return false;
      finding = again;
      call.positions = part;
      return true;
    };
    const auto can_be_cut = [&] {
      return call.positions.count() > 1 &&
             (finding.kind == Finding::Kind::measured || finding.kind == Finding::Kind::crash);
    };
    while (can_be_cut()) {
      const PositionRange now = call.positions;
      const std::int64_t middle = now.first + now.count() / 2;
      if (!fails({now.first, middle - 1}) && !fails({middle, now.last})) break;
    }
    if (can_be_cut() && call.positions == whole && !fails(whole))
      finding.reason += " (the same call, made again alone, holds)";
    return row_on(call, finding);
  }

  VerdictRow row_on(const RangeCall& call, const Finding& finding) const {
    PropertyRun run;
    run.planned = run.executed = run.compared = call.positions.count();
    run.values = finding.compared;
    run.worst = finding;
    const Case c = case_of(plan_.facts, plan_.chunk, call);
    if (!finding.holds()) run.failing = c;
    VerdictRow row = plan_.row;
    fill_verdict(row, run, plan_.facts, "");
    if (row.verdict == Verdict::pass)
      row.shrunk_case = words_without_path(c);
    else
      row.part_of.clear();
    return row;
  }

  CertifyPlan plan_;
  bounds::Precision precision_;
  double block_bound_ = 0, vector_bound_ = 0;  // before results are stored, relative to the length
  DoubleRotations rotations_;
  Caller caller_;
  Suspicious suspicious_;
};

// The property that replay lines name. Makes the call of the line again, with the same data and
// bounds.
Finding check(Subject& subject, const Case& c) {
  CertifyPlan plan{subject.facts, chunk_plan_of(c), {}};
  require(c.tokens <= plan.chunk.longest_call(),
          "replay line: property=exhaustive takes 1 to {} tokens", plan.chunk.longest_call());
  const RangeCall call{{plan.chunk.first, plan.chunk.last}, {c.operation, c.position_dtype}};
  if (!(case_of(subject.facts, plan.chunk, call) == c))
    throw BadCase(
        "replay line: property=exhaustive takes only the cases that verify --exhaustive prints");
  plan.rotations = rotations_of(c);
  Finding finding;
  Certifier(subject, plan).judge_call(call, finding);
  return finding;
}

const Registered exhaustive({
    .name = name,
    .place = {"rotation", 1000},
    .claim = claim,
    .judged_by_oracle = true,
    .for_replay_alone = true,
    .check = check,
});

}  // namespace

std::vector<PositionRange> range_parts(PositionRange range, std::int64_t n, const ChunkPlan& plan) {
  std::vector<PositionRange> parts;
  std::int64_t from = range.first;
  for (std::int64_t part = 1; part <= n; ++part) {
    const std::int64_t near = range.first + range.count() * part / n;
    const std::int64_t to = part == n ? range.last + 1 : call_of(near, plan).first;
    if (to <= from) return {};  // a merge would look for the rows of an empty part in vain
    parts.push_back({from, to - 1});
    from = to;
  }
  return parts;
}

std::vector<RangeCall> calls_of(PositionRange range, const ChunkPlan& plan,
                                const std::vector<ChunkForm>& sampled) {
  constexpr std::int64_t one_in = 8;
  std::vector<RangeCall> calls;
  for (std::int64_t from = range.first; from <= range.last;) {
    const PositionRange call{from, std::min(range.last, call_of(from, plan).last)};
    calls.push_back({call, {}});
    from = call.last + 1;
    if (call.first != plan.first && stretch_of(call.first, plan.longest_call() / 2) % one_in != 0)
      continue;
    const std::int64_t first = call.first + draw(plan, Drawn::start, call.first, call.count());
    const std::int64_t last = first + draw(plan, Drawn::length, call.first, longest_sample);
    for (const ChunkForm& form : sampled)
      calls.push_back({{first, std::min(last, plan.last)}, form});
  }
  return calls;
}

ChunkPlan chunk_plan_of(const Case& c) {
  constexpr std::int64_t limit = std::int64_t{1} << 31;
  require(c.dtype != Dtype::f64, "replay line: property=exhaustive takes no dtype=f64");
  require(c.tokens >= 1 && c.tokens <= 2 * limit && c.position_from >= -limit &&
              c.position_from < limit && c.position_from + c.tokens <= limit && c.rotary_dim >= 2 &&
              c.rotary_dim <= 1024,
          "replay line: property=exhaustive takes other tokens, positions or rotary_dim");
  return {c.pairing,       c.rotary_dim,
          c.rope_theta,    c.seed - vector_of(c.position_from),
          c.position_from, c.position_from + c.tokens - 1,
          c.dtype};
}

CertifyPlan plan_for(Subject& subject, const ChunkPlan& chunk) {
  const KernelFacts& facts = subject.facts;
  CertifyPlan plan{facts, chunk, row_for(facts)};
  VerdictRow& row = plan.row;
  row.pairing = word_of(chunk.pairing);
  row.dtype = word_of(chunk.dtype);
  set_property(property_named(name), row);
  row.declared = declared_words(facts, chunk.dtype);
  row.verdict = facts.cannot_run.empty() ? Verdict::unsupported : Verdict::skipped;
  if (!facts.cannot_run.empty())
    row.reason = facts.cannot_run;
  else if (facts.angle_contract == ROPE_CONTRACT_TABLE)
    row.reason = "a table kernel has no angles of its own: nothing to enumerate";
  else if ((facts.flags & ROPE_OUT_OF_PLACE) == 0)
    row.reason = "the kernel runs in place only, but the exhaustive check runs out of place";
  if (!row.reason.empty()) return plan;
  Caller caller(subject, chunk);
  const PositionRange whole{chunk.first, chunk.last};
  const std::int64_t most = std::min(chunk.longest_call(), whole.count());
  Execution answer;
  const auto takes = [&](std::int64_t count, const ChunkForm& form) {
    answer.result = caller.make({{chunk.first, chunk.first + count - 1}, form}, step_supports);
    return answer.result.kind == CallResult::Kind::ok;
  };
  for (const std::int64_t count : {most, most - 1, std::int64_t{1}}) {
    if (count < 1 || takes(count, {})) continue;
    row.verdict = verdict_of(failure_of(answer));
    row.reason = fmt::format("asked for {} tokens, where calls have 1 to {}: {}", count, most,
                             answer.result.text);
    return plan;
  }
  for (const ChunkForm& form : {with_int64, backward})
    if (takes(1, form) && takes(std::min(most, longest_sample), form))
      plan.sampled.push_back(form);
    else
      row.reason += (row.reason.empty() ? "refused: " : "; ") + words_of(form).substr(2);
  row.verdict = Verdict::pass;
  const Case c = case_of(facts, chunk, {whole, {}});
  plan.rotations = rotations_of(c);
  row.part_of = fmt::format("{} call_positions={} oracle={}", words_without_path(c),
                            chunk.longest_call() - 1, plan.rotations->fingerprint());
  return plan;
}

std::optional<VerdictRow> certify(const CertifyRun& run) {
  JudgeThreads threads(std::clamp<std::size_t>(run.pieces.size(), 1, run.judges));
  std::mutex mutex;
  std::atomic<std::size_t> next = 0;
  std::size_t first_failed = run.pieces.size();
  std::optional<VerdictRow> failure;
  threads.run([&](std::size_t) {
    Worker worker(run.options, run.known);
    Oracle oracle;
    Subject subject{worker, oracle, run.plan.facts};
    Certifier certifier(subject, run.plan);
    std::unique_lock lock(mutex);
    // Pieces begin in their order, until one fails, or a row cannot be delivered.
    const std::shared_ptr<void> at_end(nullptr, [&](void*) { next = run.pieces.size(); });
    while (next < run.pieces.size() && !failure) {
      const std::size_t piece = next++;
      lock.unlock();
      const VerdictRow row = certifier.judge(run.pieces[piece]);
      lock.lock();
      if (row.verdict == Verdict::pass) {
        run.on_row(row);
      } else if (piece < first_failed) {
        first_failed = piece;
        failure = row;
      }
    }
  });
  return failure;
}

}  // namespace ropewalk::properties
