// What is written: all of the outputs, and copies of what is not rotated.
//
// Unwritten outputs: every element of every output row is written, and nothing else. The outputs
// begin as poison, with another payload in each of two runs. An element that is still poison was
// not written. Memory between and around the rows must still be poison, which every execution
// checks.
//
// unwritten_outputs kills by itself: untouched_never_written, two_tensors_only
//
// Untouched dims: elements outside the rotated window, and tensors with rotate = 0, are copied bit
// for bit, also NaN payloads and infinities. There is no bound: bits are equal or not.
//
// untouched_dims kills by itself: whole_head, untouched, rotates_all, copied_by_float
// untouched_dims kills by itself: skipped_token_shifts_slots, v_rotated, copied_rotated_above_14
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "harness/cases/checked.h"
#include "properties/fixed_cases.h"
#include "properties/property.h"
#include "properties/two_runs.h"
#include "properties/whole_output.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

// ---- unwritten_outputs

std::int64_t written_elements(const Problem& p) {
  std::int64_t count = 0;
  for (const Buffer& b : p.buffers)
    if (!b.holds_input) count += std::count(b.owned.begin(), b.owned.end(), 1);
  return count;
}

Finding judge_unwritten_outputs(Subject&, const Problem& problem, const Execution& execution,
                                const RowSample&) {
  Finding f;
  f.compared = std::ssize(execution.outputs) * written_elements(problem);
  f.bound_unit = "elements";
  if (execution.unwritten_elements > 0) {
    f.margin = static_cast<double>(execution.unwritten_elements);
    f.where = execution.unwritten;
    f.reason = "output elements were never written";
  }
  return f;
}

Finding check_unwritten_outputs(Subject& subject, const Case& c) {
  require(std::ranges::any_of(c.tensors, [](const auto& t) { return !t.in_place || t.append; }),
          "unwritten_outputs: needs in_place=0, as an output that is an input has no poison");
  const Run done = run(subject, c);
  return done.failed() ? done.failure
                       : judge_unwritten_outputs(subject, done.problem, done.execution, {});
}

const Registered unwritten_outputs({
    .name = "unwritten_outputs",
    .place = {"memory", 240},
    .claim = "every output element is written",
    .needs = {{Factor::placement, level::out_of_place}},
    .shape =
        [](Case& c, const Offer&) {
          for (TensorCase& t : c.tensors) t.in_place = false;
        },
    .check = check_unwritten_outputs,
    .judge = judge_unwritten_outputs,
});

// ---- untouched_dims

void compare_row(const Problem& p, const Outputs& outputs, std::uint32_t tensor, std::int64_t b,
                 std::int64_t t, std::int64_t h, Tally& tally) {
  const rope_tensor& s = p.asked.tensor[tensor];
  const auto to = static_cast<std::size_t>(p.output(tensor).buffer);
  const auto size = static_cast<std::size_t>(p.buffers[to].element_bytes());
  const std::byte* in = given(p, outputs, p.buffer(Operand::in, tensor)).data();
  const std::byte* out = outputs[to].data();
  const std::int64_t from = in_row(p, {tensor, b, t, h});
  const std::int64_t out_row = harness::out_row(p, outputs.placement, {tensor, b, t, h});
  if (out_row < 0 || marks(&p.norm, tensor)) return;  // what is normalized is compared with truth
  for (std::int64_t e = 0; e < s.head_dim; ++e) {
    const bool rotated =
        s.rotate != 0 && e >= s.rotary_offset && e < s.rotary_offset + p.asked.rotary_dim;
    if (rotated) continue;
    const bool equal = std::memcmp(in + static_cast<std::size_t>(from + e) * size,
                                   out + static_cast<std::size_t>(out_row + e) * size, size) == 0;
    tally.add(equal ? 0 : 1, 0, [&](Finding& f) {
      f.where = fmt::format("{} element {}", place_text(tensor, b, t, h), e);
      f.bound_unit = "bits";
      f.reason = equal ? "" : "an element that is not rotated is not a copy of its input";
    });
  }
}

Finding check_untouched_dims(Subject& subject, const Case& c) {
  const Run done = run(subject, c);
  return done.failed() ? done.failure : compare_untouched(done.problem, done.execution);
}

bool partial(const HeadWindow& size) {
  return size.rotary_dim < size.head_dim;
}

// Makes sure that the case has elements that are not rotated.
void shape_untouched_dims(Case& c, const Offer& offer) {
  for (const TensorCase& t : c.tensors)
    if (!t.rotate || t.head_dim > c.rotary_dim) return;
  const auto size = std::find_if(offer.sizes.begin(), offer.sizes.end(), partial);
  if (offer.any_size) {
    c = resized(c, {c.rotary_dim + 3, c.rotary_dim});
  } else if (size != offer.sizes.end()) {
    c = resized(c, *size);
  } else {
    c.tensors.resize(2, c.tensors[0]);
    c.tensors[1].rotate = false;
  }
}

// No tensor is rotated: there is nothing but copies to make.
std::vector<Case> fixed_cases_untouched_dims(const Offer& offer, Profile) {
  std::vector<Case> cases;
  if (!offer.takes_unrotated()) return cases;
  Case c = offer.base;
  // What offers tensors that are copied takes this, though it may refuse to rotate none.
  c.tensors.resize(2, c.tensors[0]);
  c.tensors[1].rotate = false;
  cases.push_back(c);
  c.tensors.resize(offer.base.tensors.size());
  for (TensorCase& t : c.tensors) {
    t.rotate = false;
    t.rotary_offset = 0;
  }
  cases.push_back(c);
  c.tensors.resize(2, c.tensors[0]);
  cases.push_back(c);
  if (!offer.takes(Factor::placement, level::in_place) ||
      !offer.takes(Factor::placement, level::out_of_place))
    return cases;
  c.tensors[0].in_place = !c.tensors[0].in_place;
  cases.push_back(c);
  return cases;
}

const Registered untouched_dims({
    .name = "untouched_dims",
    .place = {"memory", 230},
    .claim = "what is not rotated is copied bit for bit",
    .without_norm = true,
    .needs_one_of = {{Factor::room},
                     {Factor::tensors, level::copied_second},
                     {Factor::tensors, level::three}},
    .shape = shape_untouched_dims,
    .fixed_cases = fixed_cases_untouched_dims,
    .check = check_untouched_dims,
    .judge = [](Subject&, const Problem& problem, const Execution& execution,
                const RowSample& sample) { return compare_untouched(problem, execution, sample); },
});

}  // namespace

Finding compare_untouched(const Problem& problem, const Execution& execution,
                          const RowSample& sample) {
  const Case& c = problem.source;
  Tally tally;
  for (const Outputs& outputs : execution.outputs)
    for (std::uint32_t i = 0; i < problem.asked.tensor_count; ++i)
      for (std::int64_t b = 0; b < c.batch; ++b)
        for (std::int64_t t = 0; t < c.tokens; ++t)
          for (std::int64_t h = 0; sample.has(b, t) && h < problem.asked.tensor[i].heads; ++h)
            compare_row(problem, outputs, i, b, t, h, tally);
  return tally.finding();
}

}  // namespace ropewalk::properties
