#include "properties/truth/sequences.h"

#include <algorithm>
#include <iterator>
#include <span>

#include "harness/cases/layouts.h"
#include "properties/fixed_cases.h"
#include "properties/truth/agreement.h"
#include "properties/two_runs.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

// Judges several cases in a worker that has made no other calls. Returns the last one's finding.
Finding judged_in_order(Subject& subject, const std::vector<Case>& cases) {
  Worker worker = subject.worker.another();
  Subject fresh = subject.in(worker);
  Finding last;
  for (const Case& c : cases) last = check_agreement(fresh, c);
  return last;
}

// The forms that first calls have together. A plain call after them has none.
struct FirstForm {
  bool Offer::*needs;  // nullptr: nothing
  void (*add)(Case&);
  void (*remove)(Case&);
};
constexpr std::int64_t many_heads = 37;
constexpr FirstForm forms[] = {
    {&Offer::tokens, [](Case& c) { c.tokens = 1; },
     [](Case& c) {
       lay_plainly(c);  // strides of one token do not fit
       c.tokens = 3;
     }},
    {&Offer::window_offset, [](Case& c) { set_window(c, 3, 2); },
     [](Case& c) {
       for (TensorCase& t : c.tensors) t.rotary_offset = 0;
     }},
    {&Offer::scale, [](Case& c) { c.attention_scale = 1.5; },
     [](Case& c) { c.attention_scale = 0; }},
    {&Offer::many_heads,
     [](Case& c) {
       for (TensorCase& t : c.tensors) t.heads = many_heads;
     },
     [](Case& c) {
       for (TensorCase& t : c.tensors) t.heads = 1;
     }},
    {&Offer::i64_positions, [](Case& c) { c.position_dtype = Dtype::i64; },
     [](Case& c) { c.position_dtype = Dtype::i32; }},
    {&Offer::rows_by_token, [](Case& c) { c.rows_by = ROPE_ROW_BY_TOKEN; },
     [](Case& c) { c.rows_by = ROPE_ROW_BY_POSITION; }},
    {nullptr,
     [](Case& c) {
       // A table's last rows of 4,096.
       c.position_from = c.contract == ROPE_CONTRACT_TABLE ? 4096 - c.tokens : 1 << 30;
     },
     [](Case& c) { c.position_from = 3; }},
    {&Offer::transpose, [](Case& c) { c.operation = Operation::transpose; }, [](Case&) {}},
    {&Offer::in_place,
     [](Case& c) {
       for (TensorCase& t : c.tensors) t.in_place = true;
     },
     [](Case&) {}},
    {&Offer::padded,
     [](Case& c) {
       for (TensorCase& t : c.tensors) t.in = t.out = padded_strides(c, t, 5);
     },
     [](Case& c) { lay_plainly(c); }},
};
constexpr std::int64_t together[] = {0b10'000'111, 0b100'111'000, 0b101'000'000, 0b1'110'000'100};

// A short forward call out of place, with as few of the forms as the kernel accepts. It may refuse
// the call that this gives too.
Case plain(Subject& subject, Case c) {
  const auto finish = [](Case& call) {
    call.operation = Operation::forward;
    call.positions_null = false;
    call.tokens = std::min<std::int64_t>(call.tokens, 3);
    call.position_rule = PositionRule::consecutive;
    call.positions.clear();
    for (TensorCase& t : call.tensors) {
      t.in_place = false;
      t.values.clear();
    }
  };
  const auto without = [&](std::span<const FirstForm> removed) {
    Case call = c;
    for (const FirstForm& form : removed) form.remove(call);
    finish(call);
    try {
      if (ask_supports(subject, make_question(call)).kind == CallResult::Kind::ok) c = call;
    } catch (const BadCase&) {  // one form needs another
    }
    return c == call;
  };
  if (without(forms)) return c;
  for (const FirstForm& form : forms) without({&form, 1});
  finish(c);
  return c;
}

// The calls after the first: plain ones, of 32 bits too if the case has 16, and the case in the
// other direction.
std::vector<Case> later_calls(Subject& subject, const Case& c) {
  std::vector<Case> later{plain(subject, c), c};
  if (data_type(c.dtype).bytes == 2) later.insert(later.begin(), later[0])->dtype = Dtype::f32;
  turn_back(later.back());
  return later;
}

}  // namespace

std::vector<Case> first_call_cases(const Offer& offer) {
  std::vector<Case> cases;
  Case c = with(offer.base, offer, "position_from=3; tokens=3");
  c.fresh = true;
  for (const std::int64_t wanted : together) {
    Case first = c;
    for (std::size_t i = 0; i < std::size(forms); ++i) {
      const bool offered = forms[i].needs == nullptr || offer.*forms[i].needs;
      if ((wanted >> i & 1) == 0 || !offered) continue;
      forms[i].add(first);
    }
    if (first != c) cases.push_back(first);
  }
  return cases;
}

void make_first_of_process(Case& c, const Offer& offer) {
  c.fresh = true;
  const std::uint64_t bits = hash(c.seed, 0xf125);
  if (offer.transpose && bits % 2 == 0) turn_back(c);
  if (!offer.in_place || c.fused || c.one_buffer || bits / 2 % 2 == 0) return;
  for (TensorCase& t : c.tensors) {
    t.in_place = true;
    t.out = t.in;
    t.out_at = t.in_at;
  }
}

Finding check_first_call(Subject& subject, const Case& c) {
  // A start with a device or an interpreter takes a second, so only the usual form gets it there.
  const bool is_usual = c.dtype == Dtype::f32 && c.pairing == Pairing::half_split;
  if (!subject.facts.device.empty() && !is_usual) return check_agreement(subject, c);
  Worker worker = subject.worker.another();
  Subject fresh = subject.in(worker);
  Finding first = check_agreement(fresh, c);
  if (!first.ran()) return first;
  const std::vector<Case> later = later_calls(subject, c);
  if (fails(first) && judged_in_order(subject, {later[0], c}).holds()) {
    first.reason += " (only in the first call of a process)";
    return first;
  }
  for (const Case& call : later) {
    Finding then = check_agreement(fresh, call);
    // An error that a call has without a history is not charged here.
    if (!fails(then) || fails(judged_in_order(subject, {call}))) continue;
    then.where += ", after the first call of the process";
    return then;
  }
  // Other properties judge an error that the form has wherever it is called.
  return fails(first) ? Finding{} : first;
}

}  // namespace ropewalk::properties
