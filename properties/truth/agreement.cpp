// Agreement: every pair is the exact rotation of its input, within the bound for rounding.
//
// Bound for each pair (reference/bounds.h): against a given table, (1 + gamma u) - 1 relative to
// |x| |r^|. gamma = sqrt(5) is the largest error of a complex product in floating point. A rotation
// of the kernel's own may be off by 2 u, so the bound against the exact rotation is (1 + gamma u)(1
// + 2 u) - 1. f16 and bf16 data have the bound h of f32, plus half the distance of the 16-bit
// numbers around the rounded values: h + hypot_j half_ulp(|y_j| + h).
//
// Kills by itself: one_table_for_all, room_for_128_pairs, range_, half_truncated, half_products
// Kills by itself: half_table, half_position, half_overflows, half_flushes
// Kills by itself: one_head_only, backward_only, rows_alike_by_three, leaves_numbers
// Kills by itself: fourth_of_shared_heads
#include <fmt/format.h>

#include "properties/truth/agreement.h"

#include "harness/cases/layouts.h"
#include "harness/judge/judge.h"
#include "properties/fixed_cases.h"
#include "properties/property.h"

namespace ropewalk::properties {
using namespace harness;

Finding check_agreement(Subject& subject, const Case& c) {
  const Problem problem = make_problem(c, subject.oracle);
  const Execution execution = execute(subject, problem);
  const Finding failure = failure_of(execution);
  return failure.kind == Finding::Kind::measured ? compare_with_truth(subject, problem, execution)
                                                 : failure;
}

void add_broadcasts(std::vector<Case>& cases, const Case& c, const Offer& offer) {
  const auto add = [&](bool offered, std::int64_t Strides::*axis) {
    if (!offered) return;
    Case one = c;
    broadcast_input(one, axis);
    cases.push_back(one);
    if (!offer.takes(Factor::tensors, level::equal) || one.tensors.size() > 1) return;
    one.tensors.push_back(one.tensors[0]);
    one.tensors[0].in = {};  // Q as usual, K for all
    cases.push_back(one);
  };
  add(offer.takes(Factor::in_layout, level::broadcast), &Strides::head);
  add(offer.takes(Factor::in_layout, level::broadcast), &Strides::token);
  add(offer.takes(Factor::in_layout, level::broadcast), &Strides::batch);
}

namespace {

// The same case in the other operation and placement: backward and in place.
Case turned_round(const Case& c, const Offer& offer) {
  return with(c, offer, "op=transpose; in_place=1");
}

void add_both(std::vector<Case>& cases, const Case& c, const Offer& offer) {
  cases.push_back(c);
  cases.push_back(turned_round(c, offer));
}

// Values at the upper and lower end of the data type, with and without a scale, forward and
// backward. Then all magnitudes between the two ends.
void add_extremes(std::vector<Case>& cases, const Offer& offer) {
  if (has_norm(offer.base)) return;  // a sum of squares leaves the range
  Case c = with(offer.base, offer, "position_from=3");
  c.attention_scale = 0;
  for (const DataPattern data : {DataPattern::subnormal, DataPattern::edge}) {
    c.data = data;
    cases.push_back(c);
    const double scale = data == DataPattern::edge ? -3 : 1.1386294361119891;
    cases.push_back(turned_round(with(c, offer, fmt::format("scale={}", scale)), offer));
  }
  c.data = DataPattern::span;
  add_both(cases, with(c, offer, "tokens=4; heads=4"), offer);
}

// Q and K of several prompts, with heads that fill vectors.
void add_prompts(std::vector<Case>& cases, const Offer& offer, Profile profile) {
  if (!offer.takes(Factor::tokens)) return;
  const Case c = with(widened(offer.base, offer), offer, "position_from=5");
  add_both(cases, with(c, offer, "batch=2; tokens=130; heads=4; tensors=2"), offer);
  if (profile == Profile::smoke) return;
  // More than a cache holds: some kernels then use other stores.
  cases.push_back(with(c, offer, "tokens=512; heads=32"));
}

// Rows of a batch that agree in their first, middle and last positions alone.
void add_rows_alike(std::vector<Case>& cases, const Offer& offer) {
  if (!offer.takes(Factor::tokens) || !offer.takes(Factor::batch) || offer.base.positions_null)
    return;
  Case c = with(offer.base, offer, "batch=2; tokens=8");
  c.position_rule = PositionRule::list;
  c.positions = {5, 9, 12, 7, 30, 11, 26, 8, 5, 2, 17, 7, 30, 4, 19, 8};
  add_both(cases, c, offer);
}

// Four turned tensors in several batch rows, in every layout: the array has few of the combinations
// of the three.
void add_fourth(std::vector<Case>& cases, const Offer& offer) {
  if (!offer.takes(Factor::tensors, level::three) || !offer.takes(Factor::batch)) return;
  Case c = with(offer.base, offer, "position_from=5; batch=2; tokens=3; heads=2");
  c.tensors.assign(ROPE_MAX_TENSORS, TensorCase(c.tensors[0]));
  const TensorCase& t = c.tensors[0];
  constexpr std::int64_t gap = 4;
  const std::int64_t token = t.heads * t.head_dim + gap, head = t.head_dim + gap;
  const Strides layouts[] = {{},
                             {c.tokens * token, token, t.head_dim},
                             {c.tokens * t.heads * head, t.heads * head, head},
                             padded_strides(c, t, gap),
                             head_major_strides(c, t),
                             head_major_strides(c, t, gap)};
  for (const Strides& layout : layouts) {
    Case laid = c;
    for (TensorCase& each : laid.tensors) each.in = each.out = layout;
    add_both(cases, laid, offer);
  }
  add_broadcasts(cases, c, offer);
  if (!offer.takes(Factor::start, level::shifted))
    return;  // fused, all tensors but one begin anywhere
  fuse(c);
  add_both(cases, c, offer);
}

// Every usual head size, and shapes with many heads, tokens and batch rows. None of these is left
// to chance.
std::vector<Case> fixed_cases(const Offer& offer, Profile profile) {
  std::vector<Case> cases;
  const Case c = with(offer.base, offer, "position_from=5");
  for (const HeadWindow size : offer.sizes) add_both(cases, resized(c, size), offer);
  add_extremes(cases, offer);
  add_prompts(cases, offer, profile);
  add_rows_alike(cases, offer);
  add_fourth(cases, offer);
  const Case equal = resized(c, {c.tensors[0].head_dim, c.rotary_dim});
  for (const Case& crowd :
       adopted_lines(equal, offer,
                     {"batch=1; tokens=67; heads=33", "batch=9; tokens=3; heads=5",
                      "batch=2; tokens=16; heads=16"}))
    add_both(cases, crowd, offer);
  return cases;
}

const Registered agreement({
    .name = "agreement",
    .place = {"rotation", 10},
    .claim = "every pair is the exact rotation of its input",
    .judged_by_oracle = true,
    .shape = any_case,
    .fixed_cases = fixed_cases,
    .check = check_agreement,
    .judge = compare_with_truth,
});

}  // namespace
}  // namespace ropewalk::properties
