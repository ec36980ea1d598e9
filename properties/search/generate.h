// Turns small integers into cases. RapidCheck makes the integers. Each integer means the simplest
// choice at 0, so shrinking the integers simplifies the case.
#pragma once
#include <cstdint>

#include "harness/cases/case.h"
#include "harness/judge/offer.h"
#include "properties/property.h"

namespace ropewalk::properties {

/// One integer for each decision, with its largest value. A size is an index into a list of sizes:
/// small ones, powers of two and their neighbours, and some larger than any unrolled loop.
struct Choices {
  std::int64_t batch, tokens, heads, second_heads, pairs, size, extra_dims, window_offset,
      second_tensor, operation, in_place, scale, data, wide_positions, rows_by, spare_rows,
      table_gap, own_tables, broadcast, position_kind, position_log2, negative, theta, layout,
      out_layout, gap, start, scramble, shift;
  std::uint64_t seed;
};

/// Calls visit(name, field, largest value) for every decision.
template <class C, class Visit>
void visit_choices(C& c, Visit&& visit) {
  visit("batch", c.batch, 5);
  visit("tokens", c.tokens, 10);
  visit("heads", c.heads, 6);
  visit("second_heads", c.second_heads, 6);
  visit("pairs", c.pairs, 72);
  visit("size", c.size, 14);
  visit("extra_dims", c.extra_dims, 8);
  visit("window_offset", c.window_offset, 8);
  visit("second_tensor", c.second_tensor, 8);
  visit("operation", c.operation, 2);
  visit("in_place", c.in_place, 4);
  visit("scale", c.scale, 16);
  visit("data", c.data, 7);
  visit("wide_positions", c.wide_positions, 1);
  visit("rows_by", c.rows_by, 3);
  visit("spare_rows", c.spare_rows, 2);
  visit("table_gap", c.table_gap, 3);
  visit("own_tables", c.own_tables, 2);
  visit("broadcast", c.broadcast, 4);
  visit("position_kind", c.position_kind, 3);
  visit("position_log2", c.position_log2, 30);
  visit("negative", c.negative, 3);
  visit("theta", c.theta, 3);
  visit("layout", c.layout, 5);
  visit("out_layout", c.out_layout, 3);
  visit("gap", c.gap, 4);
  visit("start", c.start, 4);
  visit("scramble", c.scramble, 1);
  visit("shift", c.shift, 4096);
}

/// A valid case inside the offer, shaped for the property.
harness::Case generate_case(const harness::Offer& offer, const Property& property,
                            const Choices& choices);

}  // namespace ropewalk::properties
