#include "properties/observe/float_modes.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/judge/judge.h"
#include "harness/judge/offer.h"
#include "properties/two_runs.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

constexpr struct {
  const char* name;
  protocol::FloatMode mode;
  DataPattern data;  // subnormal results show flushing
} modes[] = {
    {"flush to zero (FTZ, DAZ), subnormal data", protocol::flush_to_zero, DataPattern::subnormal},
    {"rounding down", protocol::round_down, DataPattern::unit},
    {"rounding up", protocol::round_up, DataPattern::unit},
    {"rounding to zero", protocol::round_to_zero, DataPattern::unit}};

std::string effect_of(Subject& subject, const Problem& problem, protocol::FloatMode mode) {
  const Run usual = run_like(subject, problem, {.steps = 0});
  if (usual.failed()) return "not measured: in the contract's mode, " + usual.failure.reason;
  const Run other = run_like(subject, problem, {.steps = 0, .float_mode = mode});
  if (other.failed()) return other.failure.reason;
  if (std::equal(usual.execution.outputs.begin(), usual.execution.outputs.end(),
                 other.execution.outputs.begin(),
                 [](const Outputs& a, const Outputs& b) { return a.written == b.written; }))
    return "the same bits";
  const Finding f = compare_with_truth(subject, problem, other.execution);
  return fmt::format("other bits, {:.3g} of the bound of agreement{}", f.margin,
                     f.holds() ? "" : ": beyond it");
}

Case case_for(const Offer& offer, DataPattern data) {
  Case c = offer.base;
  c.property = "agreement";
  c.position_from = 1000;
  c.data = data;
  if (offer.tokens) c.tokens = 16;
  return c;
}

}  // namespace

std::vector<FloatModeNote> float_mode_notes(Subject& subject) {
  const auto offer = first_offer(subject);
  std::vector<FloatModeNote> notes;
  if (!offer) return notes;
  for (const auto& [name, mode, data] : modes)
    notes.push_back(
        {name, effect_of(subject, make_problem(case_for(*offer, data), subject.oracle), mode)});
  return notes;
}

}  // namespace ropewalk::properties
