#include "properties/truth/sequences.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace ropewalk::properties {
using namespace harness;
namespace {

static_assert(most_states == protocol::most_states);

std::vector<Case> calls_of(const Case& c) {
  std::vector<Case> calls{c};
  calls[0].calls.clear();
  calls.insert(calls.end(), c.calls.begin(), c.calls.end());
  return calls;
}

// What the calls of a state have in common.
struct StateOfCalls {
  std::size_t first = 0, last = 0;  ///< calls
  std::int64_t low = std::numeric_limits<std::int64_t>::max(),
               high = std::numeric_limits<std::int64_t>::min();
  std::int64_t count = 0;
};

class Sequence {
 public:
  Sequence(Subject& subject, const Case& c) : subject_(subject), calls_(calls_of(c)) {
    for (std::size_t k = 0; k < calls_.size(); ++k) {
      StateOfCalls& state = state_of(k);
      if (state.count++ == 0) state.first = k;
      state.last = k;
      const std::vector<std::int64_t> positions = positions_of(calls_[k]);
      const auto [low, high] = std::minmax_element(positions.begin(), positions.end());
      state.low = std::min(state.low, *low);
      state.high = std::max(state.high, *high);
    }
    for (const StateOfCalls& state : states_)
      if (state.count > 0 && state.count < std::ssize(calls_)) take_room(problem_of(state.first));
  }

  Finding run() {
    Finding worst;
    for (std::size_t k = 0; k < calls_.size(); ++k) {
      const StateOfCalls& state = state_of(k);
      Finding f = judge(k);
      f.where += fmt::format("{}call {} of {}", f.where.empty() ? "" : ", ", k + 1, calls_.size());
      if (state.count < std::ssize(calls_))
        f.where += fmt::format(", of state {}", calls_[k].state);
      if (f.kind != Finding::Kind::measured) return f;
      f.compared += worst.compared;
      if (worst.compared == 0 || !(f.margin <= worst.margin))
        worst = std::move(f);
      else
        worst.compared = f.compared;
      if (!(worst.margin <= 1)) break;
    }
    return worst;
  }

 private:
  StateOfCalls& state_of(std::size_t k) {
    return states_[static_cast<std::size_t>(calls_[k].state)];
  }

  Problem problem_of(std::size_t k) {
    Case call = calls_[k];
    const StateOfCalls& state = state_of(k);
    if (call.contract == ROPE_CONTRACT_TABLE && call.rows_by == ROPE_ROW_BY_POSITION) {
      const std::vector<std::int64_t> positions = positions_of(call);
      call.table_spare_rows += state.high - *std::max_element(positions.begin(), positions.end());
    }
    Problem problem = make_problem(call, subject_.oracle, SecondPositions::none);
    problem.asked.min_position = state.low;
    problem.asked.max_position = state.high;
    return problem;
  }

  void take_room(const Problem& problem) {
    room_.resize(std::max(room_.size(), problem.buffers.size()));
    for (std::size_t i = 0; i < problem.buffers.size(); ++i)
      room_[i] = std::max(room_[i], problem.buffers[i].content.size());
  }

  Finding judge(std::size_t k) {
    const Case& c = calls_[k];
    const StateOfCalls& state = state_of(k);
    const Problem problem = problem_of(k);
    Call call{protocol::step_apply, 0, !c.moved, static_cast<std::uint32_t>(c.state)};
    call.room = room_;
    if (k == state.first) call.steps |= protocol::step_supports | protocol::step_prepare;
    if (k == state.last) call.steps |= protocol::step_release;
    Execution made;
    made.outputs.resize(1);
    perform(subject_, problem, call, made, made.outputs[0]);
    Finding f = failure_of(made);
    return f.kind == Finding::Kind::measured
               ? compare_with_truth(subject_, problem, made, RowSample::of(c))
               : f;
  }

  Subject& subject_;
  std::vector<Case> calls_;
  StateOfCalls states_[protocol::most_states];
  std::vector<std::size_t> room_;  ///< of each buffer; empty if all calls have equal sizes
};

}  // namespace

Finding check_sequence(Subject& subject, const Case& c) {
  validate(c);
  return Sequence(subject, c).run();
}

}  // namespace ropewalk::properties
