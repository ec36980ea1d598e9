#include "properties/truth/sequences.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "harness/cases/fused.h"
#include "properties/two_runs.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

static_assert(most_states == protocol::most_states);

// What a call may have kept of an earlier one, in the words of a diagnosis.
constexpr struct {
  const char* what;
  void (*take)(Case& c, const Case& from);
} kept[] = {
    {"at the positions",
     [](Case& c, const Case& from) {
       c.position_rule = PositionRule::list;
       c.positions = positions_of(from);
     }},
    {"for the contents",
     [](Case& c, const Case& from) {
       c = listed_slots(listed_positions(c));  // the seed has a part in these
       c.seed = from.seed;
       c.data = from.data;
       for (std::size_t i = 0; i < c.tensors.size(); ++i)
         c.tensors[i].values = from.tensors[i].values;
     }},
    {"with the table", [](Case& c, const Case& from) { c.table_apart = from.table_apart; }}};

std::vector<Case> calls_of(const Case& c) {
  std::vector<Case> calls{c};
  calls[0].calls.clear();
  calls.insert(calls.end(), c.calls.begin(), c.calls.end());
  return calls;
}

std::int64_t largest_of(const std::vector<std::int64_t>& positions) {
  return *std::max_element(positions.begin(), positions.end());
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
      worst = worse_of(worst, f);
      if (worst.margin <= 1) continue;
      release_after(k);
      break;
    }
    return worst;
  }

 private:
  StateOfCalls& state_of(std::size_t k) {
    return states_[static_cast<std::size_t>(calls_[k].state)];
  }

  Problem problem_of(std::size_t k) { return problem_of(k, calls_[k]); }
  Problem problem_of(std::size_t k, Case call) {
    const StateOfCalls& state = state_of(k);
    call.apply = true;
    call.outputs_kept = false;
    if (call.contract == ROPE_CONTRACT_TABLE && call.rows_by == ROPE_ROW_BY_POSITION)
      call.table_spare_rows += state.high - largest_of(positions_of(call));
    Problem problem = make_problem(call, subject_.oracle, SecondPositions::none);
    problem.asked.min_position = state.low;
    problem.asked.max_position = state.high;
    return problem;
  }

  // Releases the states that a sequence without the calls after k leaves prepared.
  void release_after(std::size_t k) {
    for (const StateOfCalls& state : states_) {
      if (state.count == 0 || state.first > k || state.last <= k) continue;
      Execution made;
      Outputs none;
      const auto number = static_cast<std::uint32_t>(calls_[state.first].state);
      perform(subject_, problem_of(state.first), {protocol::step_release, 0, true, number}, made,
              none);
    }
  }

  void take_room(const Problem& problem) {
    room_.resize(std::max(room_.size(), problem.buffers.size()));
    for (std::size_t i = 0; i < problem.buffers.size(); ++i)
      room_[i] = std::max(room_[i], problem.buffers[i].content.size());
  }

  Finding judge(std::size_t k) {
    const Case& c = calls_[k];
    const StateOfCalls& state = state_of(k);
    Problem problem = problem_of(k);
    if (c.outputs_kept) put_last_outputs(problem);
    Call call{0, 0, true, static_cast<std::uint32_t>(c.state)};
    if (c.apply) call.steps = protocol::step_apply;
    call.begins = static_cast<std::uint64_t>(c.moved);
    call.room = room_;
    if (k == state.first) call.steps |= protocol::step_supports | protocol::step_prepare;
    if (k == state.last) call.steps |= protocol::step_release;
    if (call.steps == 0) return {};
    Execution made;
    made.outputs.resize(1);
    perform(subject_, problem, call, made, made.outputs[0]);
    Finding f = failure_of(made);
    if (f.kind != Finding::Kind::measured || !c.apply) return f;
    f = compare_with_truth(subject_, problem, made, RowSample::of(c));
    last_ = made.outputs[0].written;
    if (!f.holds()) f.diagnosis = kept_from_before(k, made) + f.diagnosis;
    return f;
  }

  // Fills outputs with what the call before left in them.
  void put_last_outputs(Problem& problem) const {
    for (std::size_t i = 0; i < std::min(last_.size(), problem.buffers.size()); ++i) {
      Buffer& b = problem.buffers[i];
      if (b.holds_input || !b.writable || last_[i].size() != b.content.size()) continue;
      b.holds_input = true;
      const auto size = static_cast<std::size_t>(b.element_bytes());
      for (std::size_t e = 0; e < b.owned.size(); ++e)
        if (b.owned[e] != 0)
          std::copy_n(last_[i].begin() + static_cast<std::ptrdiff_t>(e * size), size,
                      b.content.begin() + static_cast<std::ptrdiff_t>(e * size));
    }
  }

  // Says what of an earlier call would make the wrong outputs of call k right. The latest such call
  // is named.
  std::string kept_from_before(std::size_t k, const Execution& made) {
    constexpr std::size_t few = 8;  // each try makes tables anew
    for (std::size_t j = k; j-- > 0 && j + few >= k;)
      for (const auto& each : kept) {
        if (calls_[j].axes * calls_[j].batch * calls_[j].tokens !=
            calls_[k].axes * calls_[k].batch * calls_[k].tokens)
          continue;
        Case call = calls_[k];
        each.take(call, calls_[j]);
        if (call == calls_[k]) continue;
        const std::int64_t most = state_of(k).high;
        if (largest_of(positions_of(call)) > most) continue;
        const Finding f =
            compare_with_truth(subject_, problem_of(k, call), made, RowSample::of(call));
        if (f.holds()) return fmt::format("right {} of call {}; ", each.what, j + 1);
      }
    return "";
  }

  Subject& subject_;
  std::vector<Case> calls_;
  StateOfCalls states_[protocol::most_states];
  std::vector<std::vector<std::byte>> last_;  ///< the outputs of the call before
  std::vector<std::size_t> room_;  ///< of each buffer; empty if all calls have equal sizes
};

}  // namespace

Finding check_sequence(Subject& subject, const Case& c) {
  validate(c);
  return Sequence(subject, c).run();
}

}  // namespace ropewalk::properties
