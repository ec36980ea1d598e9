// Where and how a call's data lies, and in which parts and order it comes, does not change the
// result. Each property is a row of a table: it makes other cases of a case, each of which must
// give what the case gives.
//
// Bound: none if the kernel promises ROPE_BITWISE_INVARIANT, else 2 e rho (within_two_errors). For
// position_types and tensors_apart it is always 2 e rho; the contract promises no equal bits there.
//
// position_types: positions as int32 and as int64 mean the same.
// position_types kills by itself: wide_positions_read_narrow
//
// placement: the place of the result does not change it. It finds an element that is overwritten
// before its partner is computed.
// placement kills by itself: stored_too_early, promises_bits
//
// strides: a tensor with gaps, heads before tokens, or Q and K side by side in one buffer is
// rotated like the same tensor packed.
// strides kills by itself: promises_bits, heads_taken_as_dense
//
// order: a permutation of batch rows, of heads, or of tokens with their positions permutes the
// result and changes nothing else. Here each axis is reversed. It finds a row that is taken for
// another, a head index in the arithmetic, and a neighbour that changes a result.
// order kills by itself: counts_on_exact, promises_bits
//
// chunks: a prompt in two parts gives the same as the whole. Inference runs such parts: a prefill
// in pieces, then a decode step. It finds a kernel that counts positions itself, treats a single
// token as the first, or continues from the token before.
// chunks kills by itself: decode_at_zero, row_zero_for_all, counts_on_exact
// chunks kills by itself: promises_bits, stretched_for_longest
//
// tensors_apart: Q and K in one call, with their own heads and strides, give what each gives alone.
// It finds shapes and strides of one tensor that are used for another.
// tensors_apart kills by itself: heads_of_first_tensor, strides_of_first_tensor
//
// alignment: every base pointer may lie at any multiple of its element's size, each at its own
// distance from a 64-byte line. The result equals that of the same data at the beginning of a page.
// A kernel with ROPE_NEEDS_ALIGN_64 is exempt.
// alignment kills by itself: promises_bits, aligned_loads
#include <algorithm>
#include <utility>
#include <vector>

#include "harness/cases/axes.h"
#include "harness/cases/checked.h"
#include "harness/cases/data.h"
#include "harness/cases/layouts.h"
#include "properties/fixed_cases.h"
#include "properties/property.h"
#include "properties/two_runs.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

// Compares a case with parts, which must give the same. A kernel may refuse a part of another type:
// it may take such a type only beside the usual one.
Finding compare_parts(Subject& subject, const Run& whole, const std::vector<Part>& parts, Law law) {
  if (whole.failed()) return whole.failure;
  Tally tally;
  for (const Part& part : parts) {
    const Run alone = run_part(subject, whole, part);
    const bool is_refused = alone.failure.kind == Finding::Kind::unsupported;
    if (is_refused && part.alone.tensors[0].dtype) continue;
    if (alone.failed()) return alone.failure;
    law.source = part.source;
    compare(subject, whole, alone, law, tally);
  }
  return tally.finding();
}

Finding nothing_to_change() {
  Finding f;
  f.kind = Finding::Kind::unsupported;
  f.reason = "there is nothing to change in this case";
  return f;
}

Finding check_position_types(Subject& subject, const Case& c) {
  Case other = c;
  other.position_dtype = c.position_dtype == Dtype::i32 ? Dtype::i64 : Dtype::i32;
  return compare_parts(subject, run(subject, c), {{other}},
                       within_two_errors(subject, c, "int32 and int64 positions differ"));
}

Finding check_placement(Subject& subject, const Case& c) {
  Case other = c;
  other.fused = other.one_buffer = false;
  for (TensorCase& t : other.tensors) {
    if (t.append) continue;
    t.in_place = true;
    t.out = t.in;
    t.out_at = t.in_at;
  }
  return compare_parts(subject, run(subject, c), {{other}},
                       the_same(subject, c, "in place differs from out of place"));
}

// Contiguous everywhere, each tensor in a buffer of its own.
Case packed(const Case& c) {
  Case out = listed_positions(c);
  lay_plainly(out);
  return out;
}

Finding check_strides(Subject& subject, const Case& c) {
  if (listed_positions(c) == packed(c)) return nothing_to_change();
  return compare_parts(subject, run(subject, c), {{packed(c)}},
                       the_same(subject, c, "the strides change the result"));
}

Finding check_order(Subject& subject, const Case& c) {
  const bool one_head = std::all_of(c.tensors.begin(), c.tensors.end(),
                                    [](const TensorCase& t) { return t.heads == 1; });
  if (c.batch == 1 && c.tokens == 1 && one_head) return nothing_to_change();
  Part reversed{listed_positions(c), [&](const HeadPlace& at) {
                  return HeadPlace{at.tensor, c.batch - 1 - at.b, c.tokens - 1 - at.t,
                                   c.tensors[at.tensor].heads - 1 - at.h};
                }};
  reverse_planes(reversed.alone.positions, c.axes);
  return compare_parts(subject, run(subject, c), {reversed},
                       the_same(subject, c, "another order gives another result"));
}

Finding check_chunks(Subject& subject, const Case& c) {
  if (c.tokens < 2 && c.batch < 2) return nothing_to_change();
  const CaseRange rows{0, c.batch}, tokens{0, c.tokens};
  std::vector<Part> parts;
  if (c.tokens > 1) {
    const std::int64_t cut = cut_of(c.cut, c.tokens);
    parts = {part_of(c, rows, {0, cut}), part_of(c, rows, {cut, c.tokens})};
  }
  if (c.batch > 1) {
    const std::int64_t cut = cut_of(c.cut, c.batch);
    parts.push_back(part_of(c, {0, cut}, tokens));
    parts.push_back(part_of(c, {cut, c.batch}, tokens));
  }
  Problem problem = make_problem(c, subject.oracle);
  keep_positions(problem);  // of the first placement: a part would get others than the whole
  return compare_parts(subject, run(subject, std::move(problem)), parts,
                       the_same(subject, c, "a part differs from the whole"));
}

Finding check_tensors_apart(Subject& subject, const Case& c) {
  require(!c.own_tables,
          "tensors_apart: needs own_tables=0, as all tensors must turn by the same angles");
  std::vector<Part> parts;
  for (std::uint32_t tensor = 0; tensor < c.tensors.size(); ++tensor) {
    if (!c.tensors[tensor].rotate) continue;
    parts.push_back({packed(c), [tensor](HeadPlace at) {
                       at.tensor = tensor;
                       return at;
                     }});
    parts.back().alone.tensors = {parts.back().alone.tensors[tensor]};
  }
  return compare_parts(subject, run(subject, c), parts,
                       within_two_errors(subject, c, "Q and K in one call differ from each alone"));
}

Finding check_alignment(Subject& subject, const Case& c) {
  const Problem problem = make_problem(c, subject.oracle);
  // Runs both placements with all buffers at these distances from the beginning of their pages.
  const auto run_at = [&](const std::function<std::uint64_t(std::size_t)>& lead) {
    return run_like(subject, problem, {.steps = 0, .lead = lead});
  };
  const auto distance = [&](std::size_t buffer) {
    const auto size = static_cast<std::uint64_t>(problem.buffers[buffer].element_bytes());
    const auto at = static_cast<std::int64_t>(buffer);
    const std::uint64_t chance = hash(c.seed, 0xa119, at);
    const bool common = c.lead >= 0 && chance % 3 != 0;
    const std::uint64_t elements = common ? static_cast<std::uint64_t>(c.lead) : chance >> 8;
    return elements % (64 / size) * size;
  };
  const Run plain = run_at([](std::size_t) { return 0; }), moved = run_at(distance);
  return compare_two(subject, plain, moved,
                     the_same(subject, c, "another alignment gives another result"));
}

// One token, whose table has one row. The stride of that row is never used, so it may be anything:
// less than a row, as in a broadcast, or far beyond the table.
std::vector<Case> one_table_row(const Offer& offer, Profile) {
  std::vector<Case> cases;
  if (!offer.takes(Factor::rows_by, level::by_token) ||
      !offer.takes(Factor::table_rows, level::row_gap))
    return cases;
  Case c = offer.base;
  // What offers padded tables takes this, though it may refuse a single token.
  c.tokens = std::max<std::int64_t>(c.tokens, 2);
  c.table_row_stride = c.rotary_dim / 2 + 3;
  cases.push_back(c);
  if (offer.takes(Factor::batch)) c.batch = 1;
  c.tokens = 1;
  if (c.batch > 1) return cases;
  c.position_from = 5;
  c.rows_by = ROPE_ROW_BY_TOKEN;
  for (const std::int64_t stride : {0, 1, 1'000'003}) {
    c.table_row_stride = stride;
    cases.push_back(c);
  }
  return cases;
}

// Batch rows at very different places, with the first and the last cut off alone. No row may depend
// on its neighbours, as a frequency that is stretched for the longest row would.
std::vector<Case> far_apart_rows(const Offer& offer, Profile profile) {
  std::vector<Case> cases = at_size(offer, profile);
  std::erase_if(cases, [](const Case& c) { return c.tokens < 2 && c.batch < 2; });
  if (!offer.takes(Factor::batch)) return cases;
  Case c = offer.base;
  c.position_rule = PositionRule::list;
  const bool table = c.contract == ROPE_CONTRACT_TABLE;
  for (const std::int64_t batch : {2, 4, 9, 17}) {
    c.batch = batch;
    c.positions.clear();
    for (std::int64_t b = 0; b < batch; ++b)
      for (std::int64_t t = 0; t < c.tokens; ++t)
        c.positions.push_back((b % 3 == 1 ? (table ? 900 : 900'000) : 3 * b) + t);
    for (const std::int64_t cut : {std::int64_t{0}, batch - 2}) {
      c.cut = cut;
      cases.push_back(c);
    }
  }
  return cases;
}

// K with more heads than Q, and K of each other type beside Q. A type that the kernel refuses is
// not planned, nor f64 under the f32_angle contract, which is not for it.
std::vector<Case> types_side_by_side(const Offer& offer, Profile) {
  std::vector<Case> cases =
      adopted_lines(offer.base, offer, {"position_from=3; !tensors=2 q.heads=2 k.heads=5"});
  if (!offer.takes(Factor::types)) return cases;
  Case c = with(widened(offer.base, offer), offer, "position_from=3");
  c.tensors.resize(2, c.tensors[0]);
  for (const Dtype dtype : types_beside(c.dtype)) {
    if (c.contract == ROPE_CONTRACT_F32_ANGLE && dtype == Dtype::f64) continue;
    c.tensors[1].dtype = dtype;
    cases.push_back(c);
  }
  return cases;
}

std::vector<Case> distances(const Offer& offer, Profile profile) {
  std::vector<Case> cases = at_size(offer, profile);
  Case c = with(offer.base, offer, "position_from=3; tokens=3");
  const std::int64_t count = profile == Profile::smoke ? 24 : 96;
  for (std::int64_t i = 1; i < count; ++i) {
    c.seed = static_cast<std::uint64_t>(i);
    c.lead = i < 16 ? i : -1;
    const HeadWindow size = offer.any_size && i % 4 == 3
                                ? HeadWindow{45, 18}
                                : offer.sizes[static_cast<std::size_t>(i) % offer.sizes.size()];
    cases.push_back(with(resized(c, size), offer, i % 3 == 0 ? "in_place=1" : "in_place=0"));
  }
  return cases;
}

const Registered layouts[] = {
    Registered({.name = "position_types",
                .place = {"memory", 160},
                .claim = "int32 and int64 positions mean the same",
                .needs = {{Factor::position_type, level::int32_positions},
                          {Factor::position_type, level::int64_positions}},
                .shape = any_case,
                .check = check_position_types}),
    Registered(
        {.name = "placement",
         .place = {"memory", 180},
         .claim = "in place gives what out of place gives",
         .needs = {{Factor::placement, level::in_place}, {Factor::placement, level::out_of_place}},
         .shape =
             [](Case& c, const Offer&) {
               for (TensorCase& t : c.tensors) t.in_place = false;
             },
         .check = check_placement}),
    Registered({.name = "strides",
                .place = {"memory", 190},
                .claim = "strided memory gives what contiguous memory gives",
                .needs_one_of = {{Factor::in_layout},
                                 {Factor::position_strides, level::token_stride},
                                 {Factor::table_rows, level::row_gap}},
                .shape = any_case,
                .fixed_cases = one_table_row,
                .check = check_strides}),
    Registered({.name = "order",
                .place = {"sequences", 200},
                .claim = "another order of rows, heads and tokens gives the same, in that order",
                .needs_one_of = {{Factor::batch}, {Factor::tokens}, {Factor::heads}},
                .shape = any_case,
                .fixed_cases = at_size,
                .check = check_order}),
    Registered({.name = "chunks",
                .place = {"sequences", 210},
                .claim = "a prompt in parts gives what the whole gives",
                .needs_one_of = {{Factor::tokens}, {Factor::batch}},
                .shape =
                    [](Case& c, const Offer& offer) {
                      if (offer.takes(Factor::tokens))
                        c.tokens = std::max<std::int64_t>(c.tokens, 2);
                    },
                .fixed_cases = far_apart_rows,
                .check = check_chunks}),
    Registered({.name = "tensors_apart",
                .place = {"memory", 220},
                .claim = "Q and K in one call give what each gives alone",
                .needs = {{Factor::tensors, level::one}},
                .needs_one_of = {{Factor::tensors, level::equal},
                                 {Factor::tensors, level::grouped},
                                 {Factor::tensors, level::reshaped}},
                .shape =
                    [](Case& c, const Offer&) {
                      c.own_tables = false;
                      if (c.tensors.size() < 2) c.tensors.resize(2, c.tensors[0]);
                    },
                .fixed_cases = types_side_by_side,
                .check = check_tensors_apart}),
    Registered({.name = "alignment",
                .place = {"memory", 270},
                .claim = "pointers at any multiple of their element give the same",
                .needs = {{Factor::start, level::shifted}},
                .fixed_cases = distances,
                .check = check_alignment})};

}  // namespace
}  // namespace ropewalk::properties
