// Position sweep: agreement at every position 0..131,071 and at the edges of the number types, so
// that an error at a single position cannot hide. One basis pair and one full-mantissa vector a
// position: the heads are e1, e2 and a full-mantissa vector (DataPattern::basis).
//
// Bound: that of agreement.
#include <algorithm>

#include "properties/property.h"

namespace ropewalk {
namespace {

constexpr std::int64_t swept_positions = 131'072;

// Where a float, a half or an integer type runs out of exact values, both sides of each.
std::vector<std::int64_t> edge_positions(bool negative, bool beyond_table) {
  std::vector<std::int64_t> edges = {255,  256,   257,   2047,  2048,  2049,  4095,  4096,
                                     4097, 65503, 65504, 65505, 65535, 65536, 65537, 131071};
  if (beyond_table)
    for (const std::int64_t p : {131072, 1 << 20, (1 << 24) - 1, 1 << 24, (1 << 24) + 1, 1000000,
                                 99999999, 2147483646, 2147483647})
      edges.push_back(p);
  if (negative) {
    const std::size_t count = edges.size();
    for (std::size_t i = 0; i < count; ++i) edges.push_back(-edges[i]);
    edges.push_back(-(std::int64_t{1} << 31));
  }
  return edges;
}

Case sweep_case(const Offer& offer, HeadSize size) {
  Case c = offer.base;
  c.property = "position_sweep";
  c.data = DataPattern::basis;
  c.rotary_dim = size.rotary_dim;
  c.tensors.resize(1, c.tensors[0]);
  if (!offer.base.tensors.empty() && offer.base.tensors.size() > 1) c.tensors = offer.base.tensors;
  for (TensorCase& t : c.tensors) {
    t.head_dim = size.head_dim;
    t.heads = offer.many_heads ? 3 : 2;
  }
  return c;
}

void add_sweep(std::vector<Case>& cases, const Offer& offer, HeadSize size, std::int64_t chunk) {
  for (std::int64_t from = 0; from < swept_positions; from += chunk) {
    Case c = sweep_case(offer, size);
    c.tokens = chunk;
    c.position_from = from;
    if (size.rotary_dim > 16) {
      // One full-mantissa head is enough beside the narrow sweep; and a table by position would
      // have to be laid out up to the last row each time.
      c.data = DataPattern::unit;
      for (TensorCase& t : c.tensors) t.heads = offer.many_heads ? 1 : t.heads;
      if (offer.rows_by_token) c.rows_by = ROPE_ROW_BY_TOKEN;
    }
    cases.push_back(c);
  }
}

std::vector<Case> fixed_cases(const Offer& offer, Profile profile) {
  std::vector<Case> cases;
  const auto by_size = [](HeadSize a, HeadSize b) { return a.rotary_dim < b.rotary_dim; };
  const HeadSize small = *std::min_element(offer.sizes.begin(), offer.sizes.end(), by_size);
  if (offer.tokens) {
    add_sweep(cases, offer, small, 16384);
    const auto usual = std::find_if(offer.sizes.begin(), offer.sizes.end(),
                                    [](HeadSize s) { return s.rotary_dim == 128; });
    if (profile != Profile::smoke && usual != offer.sizes.end())
      add_sweep(cases, offer, *usual, 4096);
  }
  // A kernel that takes one token a call meets the edges one by one.
  const bool table = offer.base.contract == ROPE_CONTRACT_TABLE;
  const auto edges = edge_positions(offer.negative_positions, !table || offer.rows_by_token);
  Case c = sweep_case(offer, small);
  if (table && offer.rows_by_token) c.rows_by = ROPE_ROW_BY_TOKEN;
  c.position_rule = PositionRule::list;
  const std::size_t at_once = offer.tokens ? edges.size() : 1;
  for (std::size_t i = 0; i < edges.size(); i += at_once) {
    c.positions.assign(edges.begin() + static_cast<std::ptrdiff_t>(i),
                       edges.begin() + static_cast<std::ptrdiff_t>(i + at_once));
    c.tokens = static_cast<std::int64_t>(at_once);
    cases.push_back(c);
  }
  return cases;
}

}  // namespace

const Property position_sweep{
    "position_sweep",
    "agreement at every position 0..131071 and at the edges of the number types",
    true,
    nullptr,
    "",
    nullptr,
    fixed_cases,
    agreement.check};

}  // namespace ropewalk
