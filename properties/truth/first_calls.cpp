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

// A short forward call out of place, in as plain a form as the kernel accepts. It may refuse the
// call that this gives too.
Case plain(Subject& subject, const Case& c) {
  const auto is_taken = [&](const Case& call) {
    try {
      return ask_supports(subject, make_question(call)).kind == CallResult::Kind::ok;
    } catch (const BadCase&) {  // one word needs another
      return false;
    }
  };
  Case out = patched(c, "op=forward positions_null=0 positions=from:3:1 in_place=0 values=");
  out.tokens = std::min<std::int64_t>(out.tokens, 3);
  Case packed = out;
  lay_plainly(packed);
  const std::string_view words[] = {"tokens=3", "offset=0",           "scale=0",
                                    "heads=1",  "position_dtype=i32", "rows_by=position"};
  Case plainest = packed;
  for (const std::string_view word : words) plainest = patched(plainest, word);
  if (is_taken(plainest)) return plainest;
  if (is_taken(packed)) out = packed;
  for (const std::string_view word : words)
    if (const Case less = patched(out, word); is_taken(less)) out = less;
  return out;
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
  const Case c = with(offer.base, offer, "position_from=3; tokens=3");
  std::vector<Case> cases =
      adopted_lines(c, offer,
                    {"tokens=1; head_dim=rotary+3 offset=2; scale=1.5; op=transpose",
                     "heads=37; position_dtype=i64; rows_by=token; in_place=1",
                     "scale=1.5; op=transpose; in_place=1", "in_place=1"});
  if (offer.takes_gaps())
    for (TensorCase& t : cases[2].tensors) t.in = t.out = padded_strides(cases[2], t, 5);
  // a table's last rows of 4,096
  cases[3].position_from = c.contract == ROPE_CONTRACT_TABLE ? 4096 - c.tokens : 1 << 30;
  std::erase(cases, c);
  for (Case& each : cases) each.fresh = true;
  return cases;
}

void make_first_of_process(Case& c, const Offer& offer) {
  c.fresh = true;
  const std::uint64_t bits = hash(c.seed, 0xf125);
  if (offer.takes(Factor::operation) && bits % 2 == 0) turn_back(c);
  if (!offer.takes(Factor::placement, level::in_place) || c.fused || c.one_buffer ||
      bits / 2 % 2 == 0)
    return;
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
    first.cause_ids.emplace_back("only_at_first");
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
