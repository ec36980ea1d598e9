#include "properties/truth/sequences.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace ropewalk::properties {
using namespace harness;
namespace {

/// The positions of all calls, which have one token a row of the batch.
struct Sequence {
  const char* what;
  std::vector<std::int64_t> positions;
};

std::vector<std::int64_t> steps(std::int64_t from, std::int64_t count) {
  std::vector<std::int64_t> out;
  for (std::int64_t i = 0; i < count; ++i) out.push_back(from + i);
  return out;
}

// Beyond what tables and caches usually hold at first: 8,192, and 32,768 as 16 bits begin anew.
const std::vector<Sequence>& sequences() {
  static const std::vector<Sequence> all{
      {"one step on in each call", steps(5, 20)},
      {"small positions, then large ones", {3, 4, 5, 6, 7, 8, 9001, 9002, 4, 40000, 40001, 3}},
      {"large positions, then small ones", {40001, 40000, 9001, 9002, 3, 4, 5, 6, 7, 40001, 2}},
      {"one position", {17, 17, 17, 17, 17, 17, 17, 17, 17, 17, 18, 17, 17}}};
  return all;
}

std::size_t number_of(const Case& c) {
  return static_cast<std::size_t>(last_sequence - c.shift) % sequences().size();
}

// Call k. All have the sizes of the largest, and contents of their own.
Problem call_of(const Subject& subject, const Case& c, const Sequence& sequence, std::size_t k) {
  const auto [low, high] =
      std::minmax_element(sequence.positions.begin(), sequence.positions.end());
  Case each = c;
  each.seed += k;
  each.position_rule = PositionRule::list;
  each.positions.assign(static_cast<std::size_t>(c.batch), sequence.positions[k]);
  if (c.contract == ROPE_CONTRACT_TABLE && c.rows_by == ROPE_ROW_BY_POSITION)
    each.table_spare_rows = *high - sequence.positions[k];  // so all tables have as many rows
  Problem problem = make_problem(each, subject.oracle, SecondPositions::none);
  problem.asked.min_position = *low;
  problem.asked.max_position = *high;
  return problem;
}

}  // namespace

std::vector<Case> sequence_cases(const Offer& offer, const std::string& property) {
  std::vector<Case> cases;
  Case c = offer.base;
  c.property = property;
  if (c.tokens != 1 && !offer.tokens) return cases;
  c.tokens = 1;
  for (std::size_t i = 0; i < sequences().size(); ++i) {
    c.shift = last_sequence - static_cast<std::int64_t>(i);
    c.batch = 1;
    if (offer.base.batch == 1 || offer.batch) cases.push_back(c);
    if (i == 0) cases.push_back(widened(c, offer));
  }
  return cases;
}

Finding check_sequence(Subject& subject, const Case& c) {
  const Sequence& sequence = sequences()[number_of(c)];
  Case fitting = c;
  fitting.tokens = 1;
  Finding worst;
  for (std::size_t k = 0; k < sequence.positions.size(); ++k) {
    const Problem problem = call_of(subject, fitting, sequence, k);
    const bool last = k + 1 == sequence.positions.size();
    Call call{protocol::step_apply, 0, true, 1};
    if (k == 0) call.steps |= protocol::step_supports | protocol::step_prepare;
    if (last) call.steps |= protocol::step_release;
    Execution made;
    perform(subject, problem, call, made, made.outputs[0]);
    Finding f = failure_of(made);
    if (f.kind != Finding::Kind::measured) {
      if (f.ran()) f.where = fmt::format("call {} of its state ({})", k + 1, sequence.what);
      return f;
    }
    made.outputs[1] = made.outputs[0];
    f = compare_with_truth(subject, problem, made);
    f.compared += worst.compared;
    if (worst.compared == 0 || !(f.margin <= worst.margin)) {
      f.where += fmt::format(", call {} of its state ({})", k + 1, sequence.what);
      worst = std::move(f);
    } else {
      worst.compared = f.compared;
    }
    if (!(worst.margin <= 1)) break;
  }
  return worst;
}

}  // namespace ropewalk::properties
