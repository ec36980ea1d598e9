// Shared inputs: several outputs may read the same input. Cases have an input stride of 0 along
// heads, tokens or batch rows; one input for Q and K; one cos for both with a sin of K's own; Q and
// K side by side in one buffer, each in place; and inputs in the buffer of their outputs, but out
// of place, in any order.
//
// Bound: that of agreement for every pair. No other element may change.
//
// Kills by itself: zero_stride, one_sin, fused_in_place, overlap_is_in_place
// Kills by itself: behind_other_is_in_place
#include <algorithm>
#include <vector>

#include "harness/cases/data.h"
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

// The output of every token or head behind its input.
void add_alternating(std::vector<Case>& cases, Case c, const Offer& offer) {
  if (!offer.out_of_place || !offer.any_alignment) return;
  round_sizes(c, offer.form);
  if (offer.two_tensors) c.tensors.resize(2, c.tensors[0]);
  for (const auto alternate : {alternate_tokens, alternate_heads}) {
    cases.push_back(c);
    alternate(cases.back());
  }
}

// Inputs and outputs of one to three tensors, packed in one buffer in every order of the first two:
// adjacent or with gaps, with dims beside the window and without.
void add_orders(std::vector<Case>& cases, const Offer& offer, std::uint64_t seed) {
  if (!offer.out_of_place) return;
  const auto draw = [&](std::int64_t below) {
    return static_cast<std::int64_t>((seed = hash(seed, 0x0de)) %
                                     static_cast<std::uint64_t>(below));
  };
  std::vector<std::size_t> order{0, 1};
  if (offer.two_tensors || offer.base.tensors.size() > 1) order = {0, 1, 2, 3};
  do {
    Case c = with(draw(2) == 0 ? widened(offer.base, offer) : offer.base, offer,
                  {.from = 5 + draw(3),
                   .batch = 1 + draw(3),
                   .tokens = 1 + draw(3),
                   .heads = 1 + draw(3),
                   .backward = draw(2) == 0,
                   .scale = draw(2) == 0 ? 1.5 : 0});
    c.seed = seed;
    round_sizes(c, offer.form);
    const std::int64_t room = draw(4);
    if (offer.any_size) set_window(c, room, offer.window_offset ? draw(room + 1) : 0);
    std::vector<std::size_t> all = order;
    if (offer.three_tensors && draw(3) == 0) {
      all.insert(all.begin() + draw(5), 4);
      all.insert(all.begin() + draw(6), 5);
    }
    c.tensors.resize(all.size() / 2, c.tensors[0]);
    if (offer.unrotated_tensor && all.size() > 2 && draw(4) == 0) c.tensors.back().rotate = false;
    place_in_order(c, all, offer.any_alignment && draw(4) > 0 ? 1 : 64);
    cases.push_back(c);
  } while (std::next_permutation(order.begin(), order.end()));
}

std::vector<Case> fixed_cases(const Offer& offer, Profile profile) {
  std::vector<Case> cases;
  for (const bool backwards : {false, true}) {
    if (backwards && !offer.transpose) continue;
    const Wish wish{.from = 5, .batch = 3, .tokens = 5, .heads = 3, .backward = backwards};
    const Case c = with(offer.base, offer, wish);
    for (const Case& width : {c, widened(c, offer)}) {
      add_broadcasts(cases, width, offer);
      for (const Case& two : with_two_tensors(width, offer)) cases.push_back(two);
      add_alternating(cases, width, offer);
    }
  }
  for (std::uint64_t round = 0; round < (profile == Profile::smoke ? 2 : 8); ++round)
    add_orders(cases, offer, round);
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
