#include "properties/exhaustive/certificate_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "harness/cases/names.h"
#include "harness/judge/judge.h"
#include "properties/exhaustive/division.h"
#include "properties/search/verdict_rows.h"
#include "properties/search/verify.h"

namespace ropewalk::properties {
using namespace harness;
using namespace report;

PairBounds pair_bounds(const KernelFacts& facts, Dtype dtype) {
  Case c;
  c.contract = facts.angle_contract;
  c.dtype = dtype;
  PairBounds of{precision_of(facts, dtype), rotation_error(facts, c, 0), 0};
  of.vector = HeadRule(facts, c, 1).relative_bound;
  // The inputs are 0, 1 and numbers of at least 1/2: none is subnormal and could be flushed.
  bounds::Precision without_subnormal_inputs = of.precision;
  without_subnormal_inputs.stored_normal = 0;
  const double underflow = bounds::underflow(without_subnormal_inputs, 1);
  of.block += underflow;
  of.vector += underflow;
  return of;
}

VerdictRow verdict_for(const KernelFacts& facts, const ChunkPlan& plan) {
  VerdictRow row = row_for(facts);
  row.pairing = word_of(plan.pairing);
  row.dtype = word_of(plan.dtype);
  row.property = exhaustive_name;
  row.claim = exhaustive_claim;
  row.declared = declared_words(facts, plan.dtype);
  return row;
}

CertificateRow identity_of(const KernelFacts& facts, const ChunkPlan& plan) {
  CertificateRow row;
  row.kernel = facts.name;
  row.plugin = std::filesystem::path(facts.plugin).filename().string();
  row.angle_contract = word_of(contract_words, facts.angle_contract);
  row.pairing = word_of(plan.pairing);
  row.dtype = word_of(plan.dtype);
  row.rotary_dim = plan.rotary_dim;
  row.rope_theta = plan.rope_theta;
  row.seed = plan.seed;
  row.cpu_features = facts.cpu_features;
  row.judged_on = judged_on(facts);
  row.declared = declared_words(facts, plan.dtype);
  row.whole_first = plan.first;
  row.whole_last = plan.last;
  const PairBounds of = pair_bounds(facts, plan.dtype);
  row.error_unit = of.stored() ? "bound" : "u";
  row.block_bound = of.stored() ? 1 : of.block / of.precision.u;
  row.vector_bound = of.stored() ? 1 : of.vector / of.precision.u;
  row.division = Division(plan).text();
  row.direction = operation_words[ROPE_FORWARD];
  row.position_dtype = word_of(Dtype::i32);
  row.enumerated = "every 2x2 block (position, pair), by its two columns";
  row.bounded = "the arithmetic, by one full-mantissa vector a position";
  row.assumed =
      "linearity; that a pair depends on its own elements and position alone; that other calls, "
      "batch rows, heads, strides, placement and data types change nothing: tested at random by "
      "the "
      "properties";
  return row;
}

std::optional<VerdictRow> cannot_certify(Subject& subject, const ChunkPlan& plan) {
  const KernelFacts& facts = subject.facts;
  VerdictRow row = verdict_for(facts, plan);
  row.verdict = facts.cannot_run.empty() ? Verdict::unsupported : Verdict::skipped;
  if (!facts.cannot_run.empty())
    row.reason = facts.cannot_run;
  else if (facts.angle_contract == ROPE_CONTRACT_TABLE)
    row.reason = "a table kernel has no angles of its own: nothing to enumerate";
  else if ((facts.flags & ROPE_OUT_OF_PLACE) == 0)
    row.reason = "the kernel runs in place only, but the exhaustive check runs out of place";
  if (!row.reason.empty()) return row;
  ChunkRunner runner(subject, plan);
  const std::int64_t most = std::min(plan.longest_call(), plan.last - plan.first + 1);
  for (const std::int64_t count : {most, most - 1, std::int64_t{1}}) {
    if (count < 1) continue;
    const CallResult answer = runner.ask_supports(count);
    if (answer.kind == CallResult::Kind::ok) continue;
    Execution execution;
    execution.result = answer;
    row.verdict = verdict_of(failure_of(execution));
    row.reason =
        fmt::format("asked for {} tokens, where calls have 1 to {}: {}", count, most, answer.text);
    return row;
  }
  return std::nullopt;
}

VerdictRow passed(const CertificateRow& c) {
  VerdictRow row;
  row.kernel = c.kernel;
  row.plugin = c.plugin;
  row.angle_contract = c.angle_contract;
  row.pairing = c.pairing;
  row.dtype = c.dtype;
  row.property = exhaustive_name;
  row.claim = exhaustive_claim;
  row.verdict = Verdict::pass;
  const double block_margin = c.block_error / c.block_bound;
  const double vector_margin = c.vector_error / c.vector_bound;
  const bool block = block_margin >= vector_margin;
  row.margin = block ? block_margin : vector_margin;
  row.bound = block ? c.block_bound : c.vector_bound;
  row.bound_unit = shown_unit(c, block);
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

}  // namespace ropewalk::properties
