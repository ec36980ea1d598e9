#include "properties/truth/first_calls.h"

#include <algorithm>
#include <iterator>

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
};
constexpr std::int64_t together[] = {0b111, 0b111'000, 0b1'000'000};

// A short forward call out of place, of 32 bits if the case has 16. The kernel may refuse it.
Case plain(Case c) {
  for (std::size_t i = 0; i < std::size(forms); ++i)
    if (((first_of_process - c.shift) >> i & 1) != 0) forms[i].remove(c);
  c.operation = Operation::forward;
  if (data_type(c.dtype).bytes == 2) c.dtype = Dtype::f32;
  c.tokens = std::min<std::int64_t>(c.tokens, 3);
  c.position_rule = PositionRule::consecutive;
  c.positions.clear();
  for (TensorCase& t : c.tensors) {
    t.in_place = false;
    t.values.clear();
  }
  return c;
}

}  // namespace

std::vector<Case> first_call_cases(const Offer& offer) {
  std::vector<Case> cases;
  Case c = with(offer.base, offer, {.from = 3});
  c.shift = first_of_process;
  if (c.dtype != Dtype::f32) cases.push_back(c);
  if (offer.in_place) cases.push_back(with(c, offer, {.in_place = true}));
  if (offer.transpose) cases.push_back(with(c, offer, {.backward = true}));
  if (offer.tokens) cases.push_back(with(widened(c, offer), offer, {.tokens = 96}));
  c = with(c, offer, {.tokens = 3});
  for (const std::int64_t wanted : together) {
    Case first = c;
    for (std::size_t i = 0; i < std::size(forms); ++i) {
      const bool offered = forms[i].needs == nullptr || offer.*forms[i].needs;
      if ((wanted >> i & 1) == 0 || !offered) continue;
      const Case before = first;
      forms[i].add(first);
      if (first != before) first.shift -= std::int64_t{1} << i;
    }
    if (first.shift != c.shift) cases.push_back(first);
  }
  return cases;
}

Finding check_first_call(Subject& subject, const Case& c) {
  const Case later = plain(c);
  // A start with a device or an interpreter takes a second, so only the usual form gets it there.
  const bool is_usual = c.dtype == Dtype::f32 && c.pairing == Pairing::half_split;
  if (!subject.facts.device.empty() && !is_usual) return check_agreement(subject, c);
  Worker worker = subject.worker.another();
  Subject fresh = subject.in(worker);
  Finding first = check_agreement(fresh, c);
  const bool wrong = fails(first);
  const bool only_first = wrong && judged_in_order(subject, {later, c}).holds();
  if (only_first) first.reason += " (only in the first call of a process)";
  // Other properties judge the forms that first calls have together.
  if (!first.holds() && (!wrong || only_first || c.shift == first_of_process)) return first;
  Finding then = check_agreement(fresh, later);
  // An error that a plain call has without a history is not charged here.
  if (!fails(then)) return wrong ? then : first;
  if (fails(judged_in_order(subject, {later}))) return first;
  then.where += ", after the first call of the process";
  return then;
}

}  // namespace ropewalk::properties
