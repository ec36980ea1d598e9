// Where inputs, rows of tensors and tables, and positions may lie.
//
// Shared inputs: several outputs may read the same input. Cases have an input stride of 0 along
// heads, tokens or batch rows; one input for Q and K; one cos for both with a sin of K's own; Q and
// K side by side in one buffer, each in place; and inputs in the buffer of their outputs, but out
// of place, in any order.
//
// Bound: that of agreement for every pair. No other element may change.
//
// shared_inputs kills by itself: zero_stride, fused_in_place, overlap_is_in_place
// shared_inputs kills by itself: behind_other_is_in_place
//
// Far strides: rows may lie more than 2^31 elements apart, because offsets are 64-bit numbers.
// - Rows of tensors in another batch row, token or head (far_rows). Three lie 2^30 + 64 elements
//   from each other, so the third is 2^31 + 128 elements behind the first, which 32 bits with a
//   sign cannot hold, in elements or in bytes. Or they lie 2^31 + 64 elements apart, and the third
//   is 2^32 + 128 elements behind the first, which 32 bits cannot hold at all.
// - The strides of the case. Table rows, positions, their planes, the tables of each axis, and
//   pages, slots and heads of a cache are 2^31 + 64 elements apart. A packed table has rows beyond
//   2^18 and 2^24.
// - Packed slots behind 2^24, which f32 cannot count, 2^31 and 2^32 (slots_behind).
// The memory between them is never touched, and only the used rows of a table are made. So a case
// takes addresses and hardly any memory. Without the addresses the case is SKIPPED.
//
// Bound: that of agreement. What is not rotated is copied bit for bit.
//
// far_strides kills by itself: offsets_in_32, byte_offsets_in_32, table_offset_in_32
// far_strides kills by itself: position_offset_in_32, row_in_f32, unsigned_offsets_in_32_bits
// far_strides kills by itself: tail_offset_in_32_bits, copied_offset_in_32_bits
// far_strides kills by itself: plane_stride_of_32, axis_table_stride_of_32, slot_of_32, slot_in_f32
// far_strides kills by itself: slot_offset_of_32, cache_head_stride_of_32, page_offset_of_32
// far_strides kills by itself: cuda_offset_in_32, wide_offsets_in_32
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "harness/cases/data.h"
#include "harness/cases/layouts.h"
#include "properties/fixed_cases.h"
#include "properties/property.h"
#include "properties/truth/agreement.h"
#include "properties/two_runs.h"
#include "properties/whole_output.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

// ---- shared_inputs

std::vector<Case> with_two_tensors(Case c, const Offer& offer) {
  std::vector<Case> cases;
  const bool fused = offer.takes(Factor::in_layout, level::fused);
  if (fused && offer.takes(Factor::placement, level::out_of_place)) {
    cases.push_back(c);
    share_input(cases.back());
  }
  if (fused && offer.takes(Factor::placement, level::in_place)) {
    cases.push_back(c);
    cases.back().tensors.resize(2, c.tensors[0]);
    for (TensorCase& t : cases.back().tensors) t.in_place = true;
    fuse(cases.back());
  }
  if (offer.takes(Factor::tables, level::own_tables) &&
      (offer.takes(Factor::tensors, level::equal) || c.tensors.size() > 1)) {
    cases.push_back(c);
    cases.back().tensors.resize(2, c.tensors[0]);
    cases.back().own_sin = true;
  }
  return cases;
}

// The output of every token or head behind its input.
void add_alternating(std::vector<Case>& cases, Case c, const Offer& offer) {
  if (!offer.takes(Factor::placement, level::out_of_place) ||
      !offer.takes(Factor::start, level::shifted) || has_append(offer.base))
    return;
  round_sizes(c, offer.form);
  if (offer.takes(Factor::tensors, level::equal)) c.tensors.resize(2, c.tensors[0]);
  for (const auto alternate : {alternate_tokens, alternate_heads}) {
    cases.push_back(c);
    alternate(cases.back());
  }
}

// Inputs and outputs of one to three tensors, packed in one buffer in every order of the first two:
// adjacent or with gaps, with dims beside the window and without. A cache is in no such buffer.
void add_orders(std::vector<Case>& cases, const Offer& offer, std::uint64_t seed) {
  if (!offer.takes(Factor::placement, level::out_of_place) || has_append(offer.base)) return;
  const auto draw = [&](std::int64_t below) {
    return static_cast<std::int64_t>((seed = hash(seed, 0x0de)) %
                                     static_cast<std::uint64_t>(below));
  };
  std::vector<std::size_t> order{0, 1};
  if (offer.takes(Factor::tensors, level::equal) || offer.base.tensors.size() > 1)
    order = {0, 1, 2, 3};
  do {
    Case c = with(draw(2) == 0 ? widened(offer.base, offer) : offer.base, offer,
                  fmt::format("position_from={}; batch={}; tokens={}; heads={}", 5 + draw(3),
                              1 + draw(3), 1 + draw(3), 1 + draw(3)));
    if (draw(2) == 0) c = with(c, offer, "op=transpose");
    if (draw(2) == 0) c = with(c, offer, "scale=1.5");
    c.seed = seed;
    round_sizes(c, offer.form);
    const std::int64_t room = draw(4);
    if (offer.any_size)
      set_window(c, room, offer.takes(Factor::window, level::inside) ? draw(room + 1) : 0);
    std::vector<std::size_t> all = order;
    if (offer.takes(Factor::tensors, level::three) && draw(3) == 0) {
      all.insert(all.begin() + draw(5), 4);
      all.insert(all.begin() + draw(6), 5);
    }
    c.tensors.resize(all.size() / 2, c.tensors[0]);
    if (offer.takes_unrotated() && all.size() > 2 && draw(4) == 0) c.tensors.back().rotate = false;
    place_in_order(c, all, offer.takes(Factor::start, level::shifted) && draw(4) > 0 ? 1 : 64);
    cases.push_back(c);
  } while (std::next_permutation(order.begin(), order.end()));
}

std::vector<Case> fixed_cases_shared_inputs(const Offer& offer, Profile profile) {
  std::vector<Case> cases;
  for (const bool backwards : {false, true}) {
    if (backwards && !offer.takes(Factor::operation)) continue;
    Case c = with(offer.base, offer, "position_from=5; batch=3; tokens=5; heads=3");
    if (backwards) c.operation = Operation::transpose;
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

const Registered shared_inputs({
    .name = "shared_inputs",
    .place = {"memory", 290},
    .claim = "an input or a cos that several outputs share serves each of them",
    .judged_by_oracle = true,
    .needs_one_of = {{Factor::in_layout, level::broadcast},
                     {Factor::in_layout, level::fused},
                     {Factor::tables, level::own_tables}},
    .fixed_cases = fixed_cases_shared_inputs,
    .check = check_whole_output,
});

// ---- far_strides

constexpr std::int64_t entries_apart = (std::int64_t{1} << 31) + 64;

// The case with packed positions, and with table rows for the used positions alone.
Case near(Case c) {
  c.position_batch_stride = c.position_token_stride = c.table_row_stride = contiguous;
  c.position_axis_stride = c.table_axis_stride = contiguous;
  c.table_spare_rows = 0;
  for (TensorCase& t : c.tensors) t.cache = {};
  if (c.contract == ROPE_CONTRACT_TABLE) c.rows_by = ROPE_ROW_BY_TOKEN;
  return c;
}

// Moves the slots of a call so far on, in whole pages.
void move_slots(Problem& out, std::int64_t by) {
  const std::int64_t pages = by / out.append.page_size + 1;
  out.append.pages += pages;
  const auto buffer = static_cast<std::size_t>(out.buffer(Operand::slot));
  const auto move = [&](std::vector<std::int64_t>& slots, std::vector<std::byte>& bytes) {
    for (std::int64_t& slot : slots) slot += slot < 0 ? 0 : pages * out.append.page_size;
    if (!bytes.empty()) std::memcpy(bytes.data(), slots.data(), bytes.size());
  };
  move(out.slots, out.buffers[buffer].content);
  move(out.other_slots, out.other_inputs[buffer]);
}

// What the kernel is asked: the case's own problem, with rows of tensors or slots moved apart.
Problem far(const Case& c, const Problem& near) {
  Problem out = near;
  const Problem question = make_question(c);
  rope_problem& p = out.asked;
  p = question.asked;
  out.axes = question.axes;
  out.append = question.append;
  if (c.slots_behind > 0) move_slots(out, c.slots_behind);
  for (rope_tensor& t : p.tensor) {
    if (c.far_rows == FarRows::batch) t.in_batch_stride = t.out_batch_stride = c.rows_apart;
    if (c.far_rows == FarRows::token) t.in_token_stride = t.out_token_stride = c.rows_apart;
    if (c.far_rows == FarRows::head) t.in_head_stride = t.out_head_stride = c.rows_apart;
  }
  return out;
}

Finding check_far_strides(Subject& subject, const Case& c) {
  if (c.slots_behind > 0 && (!has_append(c) || c.slot_dtype != Dtype::i64))
    throw BadCase("far_strides: slots_behind is for slots of i64");
  const Problem problem = make_problem(near(c), subject.oracle);
  const Problem asked = far(c, problem);
  Execution e;
  const Call first{protocol::step_supports | protocol::step_prepare | protocol::step_apply, 0,
                   false};
  const Call second{protocol::step_apply | protocol::step_release, 1, false};
  perform_far(subject, problem, asked, first, e, e.outputs[0]);
  if (e.result.kind == CallResult::Kind::ok)
    perform_far(subject, problem, asked, second, e, e.outputs[1]);
  return compare_whole_output(subject, problem, e);
}

bool has_far_positions(const Offer& offer) {
  return offer.takes(Factor::position_strides, level::token_stride) &&
         offer.takes(Factor::tokens) && !offer.base.positions_null;
}
Case base_case(const Offer& offer) {
  return with(offer.base, offer, "position_from=3");
}

// The same rows twice as far apart, out of place where the kernel offers it, or in place.
Case farther(Case c, const Offer& offer, bool in_place) {
  c.rows_apart = entries_apart;
  return with(c, offer, in_place ? "in_place=1" : "in_place=0");
}

// Other code paths: vectors, the backward pass, the second tensor.
Case turned(const Case& c, const Offer& offer) {
  return widened(with(c, offer, "tensors=2; op=transpose"), offer);
}

// Heads have dims outside their window, and the second tensor is not rotated: both are copied.
// Returns false if the kernel offers neither.
bool copies(Case& c, const Offer& offer) {
  const auto size = std::find_if(offer.sizes.begin(), offer.sizes.end(),
                                 [](const HeadWindow& s) { return s.rotary_dim < s.head_dim; });
  const bool partial = offer.takes(Factor::window, level::inside) || size != offer.sizes.end();
  if (offer.takes(Factor::window, level::inside))
    set_window(c, 64, 32);
  else if (partial)
    c = resized(c, *size);
  if (offer.takes_unrotated()) {
    c.tensors.resize(2, c.tensors[0]);
    c.tensors[1].rotate = false;
    c.tensors[1].rotary_offset = 0;
  }
  return partial || offer.takes_unrotated();
}

void add_tensor_rows(std::vector<Case>& cases, const Offer& offer) {
  if (!offer.takes_gaps()) return;
  for (const Case& c :
       adopted_lines(base_case(offer), offer,
                     {"!batch=3; in_place=0; far_rows=batch rows_apart=1073741888",
                      "!tokens=3; in_place=1; far_rows=token rows_apart=1073741888",
                      "!heads=3; in_place=0; far_rows=head rows_apart=1073741888"})) {
    cases.push_back(c);
    cases.push_back(turned(farther(c, offer, !c.tensors[0].in_place), offer));
    Case copied = farther(c, offer, false);
    if (copies(copied, offer)) cases.push_back(copied);
  }
}

void add_table_rows(std::vector<Case>& cases, const Offer& offer) {
  if (!offer.takes(Factor::table_rows, level::row_gap)) return;
  Case c = base_case(offer);
  c.position_from = 0;
  c.tokens = 3;
  c.table_row_stride = entries_apart;
  cases.push_back(c);
  cases.push_back(turned(with(c, offer, "rows_by=token"), offer));
}

// Tables of pairs alone, of up to 64 MiB in f32.
void add_late_rows(std::vector<Case>& cases, const Offer& offer) {
  if (offer.base.contract != ROPE_CONTRACT_TABLE || offer.base.rows_by == ROPE_ROW_BY_TOKEN) return;
  Case c = with(base_case(offer), offer, "tokens=3");
  c.position_step = 1 << 23;
  c.position_from = (1 << 18) + 1 + (offer.takes(Factor::tokens) ? 0 : 2 * c.position_step);
  if (offer.any_size) c.rotary_dim = 2;
  cases.push_back(c);
}

void add_positions(std::vector<Case>& cases, const Offer& offer) {
  if (!has_far_positions(offer)) return;
  Case c = with(base_case(offer), offer, "batch=2; tokens=2");
  c.position_rule = PositionRule::list;
  c.positions = {3, 5, 2, 7};
  c.positions.resize(static_cast<std::size_t>(c.batch * c.tokens));
  c.position_token_stride = c.position_batch_stride = entries_apart;
  ++c.position_batch_stride;
  cases.push_back(c);
  cases.push_back(turned(with(c, offer, "position_dtype=i64"), offer));
}

// Planes of positions, and the tables of each axis.
void add_axes(std::vector<Case>& cases, const Offer& offer) {
  if (!offer.takes(Factor::axes)) return;
  Case c = with(base_case(offer), offer, "tokens=3");
  give_axes(c, offer);
  if (has_far_positions(offer)) {
    cases.push_back(c);
    cases.back().position_axis_stride = entries_apart;
    cases.push_back(turned(with(cases.back(), offer, "position_dtype=i64"), offer));
    cases.back().position_axis_stride = 2 * entries_apart;
  }
  if (c.contract != ROPE_CONTRACT_TABLE || !offer.takes(Factor::table_rows, level::row_gap) ||
      !offer.takes(Factor::rows_by, level::by_token))
    return;
  c.rows_by = ROPE_ROW_BY_TOKEN;
  for (const std::int64_t times : {1, 2}) {
    c.table_axis_stride = times * entries_apart;
    cases.push_back(c);
  }
}

// Pages, slots of a page and heads, and late slots.
void add_caches(std::vector<Case>& cases, const Offer& offer) {
  if (!offer.takes(Factor::append)) return;
  Case c = with(base_case(offer), offer, "tokens=5; heads=3; tensors=2");
  give_append(c);
  c.page_size = 4;
  for (std::int64_t Strides::*const stride : {&Strides::batch, &Strides::token, &Strides::head}) {
    cases.push_back(c);
    for (TensorCase& t : cases.back().tensors)
      if (t.append) t.cache.*stride = entries_apart;
  }
  c = with(c, offer, "heads=1");
  c.page_size = 1;  // the number of a page is that of its slot
  for (const int bits : {24, 31, 32}) {
    c.slots_behind = std::int64_t{1} << bits;
    cases.push_back(c);
  }
}

std::vector<Case> fixed_cases_far_strides(const Offer& offer, Profile) {
  std::vector<Case> cases;
  add_caches(cases, offer);
  add_axes(cases, offer);
  add_tensor_rows(cases, offer);
  add_table_rows(cases, offer);
  add_late_rows(cases, offer);
  add_positions(cases, offer);
  return cases;
}

const Registered far_strides({
    .name = "far_strides",
    .place = {"memory", 310},
    .claim =
        "rows of tensors, tables and caches, and positions may lie more than 2^31 elements apart",
    .judged_by_oracle = true,
    .needs_one_of = {{Factor::position_strides, level::token_stride},
                     {Factor::in_layout, level::token_gap},
                     {Factor::in_layout, level::head_gap},
                     {Factor::in_layout, level::both_gaps},
                     {Factor::table_rows, level::row_gap},
                     {Factor::append}},
    .fixed_cases = fixed_cases_far_strides,
    .check = check_far_strides,
});

}  // namespace
}  // namespace ropewalk::properties
