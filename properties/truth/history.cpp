// Call history: earlier calls of a kernel change nothing. Two states are alive at once, for
// problems that differ in one thing or in nothing. Their calls alternate, with both placements'
// inputs, at old and new addresses. One state is released and prepared again while the other is in
// use. One call is repeated past the 65,536th, on a device beside other work. At last each has a
// state while the other has none. And sequences of calls, of one state and of several, change what
// a call is given (sequences.h). Calls of drawn and of fixed forms are the first of a process
// (first_calls.h).
//
// Bound: the first call with each input at each place is held to the bound of agreement. A later
// call with the same input, placed alike, must give the same bits as the first. This needs no
// ROPE_BITWISE_INVARIANT, as nothing differs on which a result may depend. The property finds what
// a kernel keeps between calls, or finds by an incomplete key. It also finds a state shared with
// another or freed with it, and a count of calls. A problem of another pairing or data type counts
// only if the kernel is right on it in a fresh process. Otherwise the error belongs to that form.
//
// Kills by itself: third_call, on_call_65536, one_state, release_drops
// Kills by itself: cache_by_first_16, position_of_call_6, grown_once, scale_of_zeros, row_kept_by
// Kills by itself: backward_call_1, chosen_by_decode, frequencies_kept_by_three
// Kills by itself: cache_by_last_8, state_made_at_first_call, weights_by_first_eight
// Kills by itself: second_prompt_goes_on, counts_on_after_25, chosen_by_gaps
// Kills by itself: device_keeps_memory, epsilon_of_last_state, cached_by_second_frequency
// Kills by itself: leaves_ftz_on_100th_call, step_kept, slot_always_steps_on
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/cases/fields.h"
#include "harness/judge/judge.h"
#include "properties/fixed_cases.h"
#include "properties/property.h"
#include "properties/truth/sequences.h"
#include "properties/two_runs.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

// Past 65,536, where a 16-bit count begins anew.
constexpr std::uint32_t repetitions = 65'600;

std::vector<std::int64_t> twice(std::vector<std::int64_t> positions) {
  const auto count = static_cast<std::ptrdiff_t>(positions.size());
  positions.reserve(2 * positions.size());
  std::copy_n(positions.begin(), count, std::back_inserter(positions));
  return positions;
}

// How the second problem differs from the first. The case's `beside` is an index of this list.
struct Difference {
  std::string_view word;
  Need needs;
  void (*apply)(Case&);
  Need needs_too = {};
  bool of_wide_heads = false;  ///< tried with heads that fill vectors, and with no others
};

constexpr Difference differences[] = {
    {"nothing", {}, [](Case&) {}},
    {"rope_theta", {}, [](Case& c) { c.rope_theta = 500; }},
    {"positions",
     {},
     [](Case& c) {
       for (std::size_t i = 1; i + 1 < c.positions.size(); ++i)
         c.positions[i] = 3 + (c.positions[i] + 1) % 28;
     }},
    {"seed", {}, [](Case& c) { c.seed += 1; }},
    {"tokens",
     {Factor::tokens},
     [](Case& c) {
       c.positions = twice(c.positions);
       c.tokens *= 2;
     }},
    {"heads",
     {Factor::heads},
     [](Case& c) {
       for (TensorCase& t : c.tensors) t.heads += 1;
     }},
    {"batch",
     {Factor::batch},
     [](Case& c) {
       c.positions = twice(c.positions);
       c.batch *= 2;
     }},
    {"axes",
     {Factor::axes, level::interleaved},
     [](Case& c) {
       const std::vector<std::int64_t> plane = c.positions;
       for (c.axes = 1; c.axes < 3; ++c.axes)
         for (const std::int64_t p : plane) c.positions.push_back(3 + (p + 7 * c.axes) % 28);
       for (std::int64_t i = 0; i < c.rotary_dim / 2; ++i)
         c.axis_of_pair.push_back(static_cast<std::uint8_t>(i % 3));
     }},
    {"op", {Factor::operation}, turn_back},
    {"attention_scale", {Factor::scale, level::usual}, [](Case& c) { c.attention_scale = 1.5; }},
    {"position_dtype",
     {Factor::position_type},
     [](Case& c) { c.position_dtype = c.position_dtype == Dtype::i64 ? Dtype::i32 : Dtype::i64; }},
    {"rotary_dim",
     {Factor::rotary_dim, level::odd_pairs},
     [](Case& c) {
       c = resized(c, {c.rotary_dim + 8, c.rotary_dim + 8});
     }},
    {"window", {Factor::window, level::inside}, [](Case& c) { set_window(c, 3, 2); }},
    {"in_place",
     {Factor::placement, level::in_place},
     [](Case& c) {
       for (TensorCase& t : c.tensors) t.in_place = !t.in_place;
     },
     {Factor::placement, level::out_of_place}},
    {"pairing", {}, [](Case& c) { c.pairing = other_than(c.pairing); }},
    {"dtype",
     {},
     [](Case& c) {
       if (c.contract != ROPE_CONTRACT_F32_ANGLE)
         c.dtype = c.dtype == Dtype::f32 ? Dtype::f64 : Dtype::f32;
     }},
    // Scaling for long contexts changes such a frequency. Neither the first nor the last one tells
    // the problems apart.
    {"middle_frequency",
     {},
     [](Case& c) {
       c.inv_freq = frequencies_of(c);
       c.inv_freq[c.inv_freq.size() / 2] *= 0.125;
     }},
    // Nor the number, the first, the middle and the last one together.
    {"one_frequency",
     {},
     [](Case& c) {
       c.inv_freq = frequencies_of(c);
       if (c.inv_freq.size() > 3) c.inv_freq[1] *= 0.125;
     },
     {},
     true},
    {"lower_frequencies",
     {},
     [](Case& c) {
       c.inv_freq = frequencies_of(c);
       for (std::size_t i = c.inv_freq.size() / 2; i < c.inv_freq.size(); ++i)
         c.inv_freq[i] *= 0.125;
     }},
};

static_assert(std::ranges::equal(differences, beside_words, {}, &Difference::word));

// The number of differences that are also tried with heads that fill vectors, since only that code
// may have a cache.
constexpr std::size_t wide_too = 4;

// The index of a call's result: by input and place.
std::size_t kind_of(const Call& call) {
  return 2 * static_cast<std::size_t>(call.placement) + (call.at_end ? 0 : 1);
}
constexpr std::size_t kinds = 4;

// A problem with a state of its own.
class Actor {
 public:
  Actor(Subject& subject, const Case& c, std::uint32_t state)
      : subject_(subject),
        problem_(make_problem(c, subject.oracle, SecondPositions::always_others)),
        state_(state) {}

  bool prepare() { return call({protocol::step_supports | protocol::step_prepare, 0, true}); }
  bool release() { return call({protocol::step_release, 0, true}); }
  bool apply(int placement, bool at_end) { return call({protocol::step_apply, placement, at_end}); }
  bool repeat() {
    made_.result = perform_again(subject_, {{&problem_, state_}}, repetitions, false);
    missing_ = made_.result.repeated < repetitions
                   ? fmt::format("{} of {} calls fit into {:g} s of processor time, {:g} s in all",
                                 made_.result.repeated, repetitions, protocol::repeat_limit_s,
                                 10 * protocol::repeat_limit_s)
                   : "";
    return made_.result.kind == CallResult::Kind::ok;
  }

  bool refused() const { return made_.result.kind == CallResult::Kind::unsupported; }
  Finding failure() const { return failure_of(made_); }

  // Compares later results with the first, and the first with the truth, two of them at a time.
  Finding finding() {
    Finding worst = repeated_.finding();
    for (const std::array<std::size_t, 2> two : {std::array<std::size_t, 2>{0, 3}, {1, 2}}) {
      Execution pair;
      for (std::size_t i = 0; i < 2; ++i) pair.outputs[i] = first_[two[i]];
      worst = worse_of(worst, compare_with_truth(subject_, problem_, pair));
    }
    if (!fails(worst) && !missing_.empty()) {
      worst = Finding();
      worst.kind = Finding::Kind::skipped;
      worst.is_too_slow = true;
      worst.reason = missing_;
    }
    return worst;
  }

 private:
  bool call(Call call) {
    call.state = state_;
    Outputs outputs;
    perform(subject_, problem_, call, made_, outputs);
    if (failure().kind != Finding::Kind::measured) return false;
    if ((call.steps & protocol::step_apply) == 0) return true;
    ++calls_;
    Outputs& first = first_[kind_of(call)];
    if (first.written.empty())
      first = std::move(outputs);
    else
      compare(first, outputs);
    return true;
  }

  void compare(const Outputs& first, const Outputs& later) {
    for (std::size_t i = 0; i < problem_.buffers.size(); ++i) {
      if (!problem_.buffers[i].writable) continue;
      const bool equal = first[i] == later[i];
      repeated_.add(equal ? 0 : 1, 0, [&](Finding& f) {
        f.bound_unit = "bits";
        f.where = fmt::format("{}, call {} of its state", problem_.buffers[i].name, calls_);
        f.reason = equal ? "" : "the same call gives other bits than before";
      });
    }
  }

  Subject& subject_;
  Problem problem_;
  std::uint32_t state_;
  int calls_ = 0;
  std::string missing_;  // which calls were not made
  Tally repeated_;
  Execution made_;
  std::array<Outputs, kinds> first_;
};

// The calls of both problems, in order. `goes` is released and made again while `stays` lives; at
// the end each has a state while the other has none.
enum class Of { a, b, goes, stays };
enum class What { prepare, first_inputs, second_inputs, repeat, release };
struct Step {
  Of of;
  What what;
  bool at_end = true;  // of the memory
};
constexpr Step steps[] = {
    {Of::a, What::prepare},
    {Of::a, What::first_inputs},
    {Of::b, What::prepare},
    {Of::b, What::first_inputs},
    {Of::a, What::second_inputs, false},
    {Of::b, What::second_inputs, false},
    {Of::a, What::second_inputs},
    {Of::b, What::second_inputs},
    {Of::a, What::first_inputs, false},
    {Of::b, What::first_inputs, false},
    {Of::a, What::first_inputs},
    {Of::b, What::first_inputs},
    {Of::a, What::first_inputs},
    {Of::goes, What::release},
    {Of::stays, What::second_inputs},
    {Of::goes, What::prepare},
    {Of::goes, What::first_inputs},
    {Of::stays, What::first_inputs},
    {Of::stays, What::release},
    {Of::goes, What::second_inputs, false},
    {Of::goes, What::repeat},
    {Of::goes, What::release},
    // one state at a time: the next state lies where the previous one did
    {Of::stays, What::prepare},
    {Of::stays, What::first_inputs},
    {Of::stays, What::release},
    {Of::goes, What::prepare},
    {Of::goes, What::first_inputs},
    {Of::goes, What::release},
};

// Makes the calls of both problems. Ends at the first call that fails.
bool play(Actor& a, Actor& b, const Case& c) {
  Actor* const actors[] = {&a, &b, c.second_goes ? &b : &a, c.second_goes ? &a : &b};
  return std::ranges::all_of(steps, [&](const Step& step) {
    Actor& actor = *actors[static_cast<std::size_t>(step.of)];
    switch (step.what) {
      case What::prepare:
        return actor.prepare();
      case What::first_inputs:
        return actor.apply(0, step.at_end);
      case What::second_inputs:
        return actor.apply(1, step.at_end);
      case What::repeat:
        return !c.repeated || actor.repeat();
      case What::release:
        return actor.release();
    }
    __builtin_unreachable();
  });
}

// The findings of the two problems; `theirs` is the second one's.
struct BothJudged {
  Finding ours, theirs;
};
BothJudged judge(Subject& subject, const Case& c, const Case& other) {
  Actor a(subject, c, 1), b(subject, other, 2);
  const bool played = play(a, b, c);
  if (!played && a.failure().kind != Finding::Kind::measured) return {a.failure(), {}};
  if (!played && b.failure().kind != Finding::Kind::measured) return {{}, b.failure()};
  return {a.finding(), b.finding()};
}

// True if the kernel is wrong on a problem in a process that has run no other.
bool fails_alone(Subject& subject, const Case& c) {
  subject.worker.restart();
  Actor alone(subject, c, 1);
  const auto twice = [&](int placement, bool at_end) {
    return alone.apply(placement, at_end) && alone.apply(placement, at_end);
  };
  const bool played = alone.prepare() && twice(0, true) && twice(1, false) && twice(1, true) &&
                      twice(0, false) && alone.release();
  if (!played) return alone.failure().kind != Finding::Kind::measured;
  return fails(alone.finding());
}

Finding check(Subject& subject, const Case& c) {
  if (!c.calls.empty()) return check_sequence(subject, c);
  if (c.fresh) return check_first_call(subject, c);
  const Difference& difference = differences[static_cast<std::size_t>(c.beside)];
  Case other = listed_positions(c);
  difference.apply(other);
  // A problem that the kernel refuses is replaced by a second state of the first problem.
  const Problem asked = make_problem(other, subject.oracle, SecondPositions::always_others);
  if (ask_supports(subject, asked).kind != CallResult::Kind::ok) other = c;
  BothJudged two = judge(subject, c, other);
  // Another pairing or data type has verdicts of its own. An error there without a history is not
  // charged here: then this form is judged with a second state of its own problem.
  const bool own_form = other.pairing == c.pairing && other.dtype == c.dtype;
  if (!own_form && !fails(two.ours) && fails(two.theirs) && fails_alone(subject, other)) {
    subject.worker.restart();
    two = judge(subject, c, c);
  }
  for (const Finding& f : {two.ours, two.theirs})
    if (f.kind != Finding::Kind::measured) return f;
  Finding worst = worse_of(two.ours, two.theirs);
  if (fails(worst) && c.beside > 0)
    worst.where += fmt::format(", beside a state of another {}", difference.word);
  return worst;
}

std::vector<Case> fixed_cases(const Offer& offer, Profile profile) {
  std::vector<Case> cases;
  Case c = with(offer.base, offer, "tokens=8");
  // Equal at both ends, forwards and backwards, and in all sums, so a key made of these is not
  // enough.
  c.position_rule = PositionRule::list;
  c.positions = {5, 9, 12, 7, 30, 11, 26, 5};
  c.positions.resize(static_cast<std::size_t>(c.batch * c.tokens), 5);
  for (std::size_t i = 0; i < std::size(differences); ++i) {
    if (!offer.takes(differences[i].needs) || !offer.takes(differences[i].needs_too)) continue;
    c.beside = static_cast<std::int32_t>(i);
    c.second_goes = i % 2 == 1;
    if (!differences[i].of_wide_heads) cases.push_back(c);
    if (i < wide_too || differences[i].of_wide_heads) cases.push_back(widened(c, offer));
  }
  // One state through the steps of a decode loop: one row, or rows at one position. Beside it is no
  // other problem, or one with another base. Then a table by token.
  const Case step = with(offer.base, offer, "position_from=5; tokens=1");
  const auto add_two = [&](Case each) {
    for (each.beside = 0; each.beside < 2; ++each.beside) {
      each.second_goes = each.beside == 1;
      cases.push_back(each);
    }
  };
  cases.push_back(with(step, offer, "batch=1"));
  cases.back().repeated = true;  // of one row of one token, as each call takes its time
  if (step.tokens == 1) {
    add_two(step);
    if (offer.takes(Factor::batch)) add_two(with(step, offer, "batch=3"));
  }
  c.beside = 0;
  c.second_goes = false;
  c.rows_by = ROPE_ROW_BY_TOKEN;
  if (offer.takes(Factor::rows_by, level::by_token) && offer.takes(Factor::tokens))
    cases.push_back(c);
  const std::vector<Case> sequences = sequence_cases(offer);
  cases.insert(cases.end(), sequences.begin(), sequences.end());
  if (profile != Profile::smoke) cases.push_back(large_calls(offer));
  const std::vector<Case> first_calls = first_call_cases(offer);
  cases.insert(cases.end(), first_calls.begin(), first_calls.end());
  return cases;
}

const Registered history({
    .name = "history",
    .place = {"sequences", 250},
    .claim = "a call gives what it gave before, whatever came between",
    .judged_by_oracle = true,
    .add_calls = draw_calls,
    .fixed_cases = fixed_cases,
    .check = check,
});

}  // namespace
}  // namespace ropewalk::properties
