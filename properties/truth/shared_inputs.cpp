// Shared inputs: several outputs may read the same input. Cases have an input stride of 0 along
// heads, tokens or batch rows; one input for Q and K; one cos for both with a sin of K's own; Q and
// K side by side in one buffer, each in place; and inputs in the buffer of their outputs, but out
// of place.
//
// Bound: that of agreement for every pair. No other element may change.
//
// Kills by itself: zero_stride, one_sin, fused_in_place, overlap_is_in_place
#include <vector>

#include "harness/cases/layouts.h"
#include "properties/fixed_cases.h"
#include "properties/property.h"
#include "properties/whole_output.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

void add_broadcasts(std::vector<Case>& cases, Case c, const Offer& offer) {
  const auto add = [&](bool offered, std::int64_t Strides::*axis) {
    if (!offered) return;
    Case one = c;
    broadcast_input(one, axis);
    cases.push_back(one);
    if (!offer.two_tensors || one.tensors.size() > 1) return;
    one.tensors.push_back(one.tensors[0]);
    one.tensors[0].in = {};  // Q as usual, K for all
    cases.push_back(one);
  };
  add(offer.broadcast_heads, &Strides::head);
  add(offer.broadcast_tokens, &Strides::token);
  add(offer.broadcast_batch, &Strides::batch);
}

std::vector<Case> with_two_tensors(Case c, const Offer& offer) {
  std::vector<Case> cases;
  if (offer.shared_input) {
    cases.push_back(c);
    share_input(cases.back());
  }
  if (offer.fused_in_place) {
    cases.push_back(c);
    cases.back().tensors.resize(2, c.tensors[0]);
    for (TensorCase& t : cases.back().tensors) t.in_place = true;
    fuse(cases.back());
  }
  if (offer.own_tables && (offer.two_tensors || c.tensors.size() > 1)) {
    cases.push_back(c);
    cases.back().tensors.resize(2, c.tensors[0]);
    cases.back().own_sin = true;
  }
  return cases;
}

// Inputs in one buffer with their outputs: before them, behind them, and in turn with them.
void add_one_buffers(std::vector<Case>& cases, Case c, const Offer& offer) {
  if (!offer.out_of_place) return;
  round_sizes(c, offer.form);
  if (offer.two_tensors) c.tensors.resize(2, c.tensors[0]);
  for (const bool output_first : {false, true}) {
    cases.push_back(c);
    place_behind(cases.back(), output_first, offer.any_alignment ? 1 : 64);
  }
  if (!offer.any_alignment) return;
  for (const auto alternate : {alternate_tokens, alternate_heads}) {
    cases.push_back(c);
    alternate(cases.back());
  }
}

std::vector<Case> fixed_cases(const Offer& offer, Profile) {
  std::vector<Case> cases;
  for (const bool backwards : {false, true}) {
    if (backwards && !offer.transpose) continue;
    const Wish wish{.from = 5, .batch = 3, .tokens = 5, .heads = 3, .backward = backwards};
    const Case c = with(offer.base, offer, wish);
    for (const Case& width : {c, widened(c, offer)}) {
      add_broadcasts(cases, width, offer);
      for (const Case& two : with_two_tensors(width, offer)) cases.push_back(two);
      add_one_buffers(cases, width, offer);
    }
  }
  return cases;
}

bool applies(const Offer& offer) {
  return !fixed_cases(offer, Profile::smoke).empty();
}

const Registered shared_inputs({
    .name = "shared_inputs",
    .order = 290,
    .claim = "an input or a cos that several outputs share serves each of them",
    .judged_by_oracle = true,
    .applies = applies,
    .needs = "broadcast or shared inputs",
    .fixed_cases = fixed_cases,
    .check = check_whole_output,
});

}  // namespace
}  // namespace ropewalk::properties
