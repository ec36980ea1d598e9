// Cases beyond the sizes of usual tests. A kernel's second path (blocks of tokens, a loop over
// heads, a grid) begins there, and each promise must hold on it too.
#pragma once
#include <algorithm>
#include <iterator>
#include <string_view>
#include <vector>

#include "harness/cases/case.h"
#include "harness/judge/offer.h"

namespace ropewalk::properties {

/// Many tokens, many heads, and many batch rows, each in a case of its own, as far as the kernel
/// offers it. The cases have other operations, scales, types of positions and placements.
inline std::vector<harness::Case> at_size(const harness::Offer& offer, std::string_view property) {
  constexpr struct {
    std::int64_t batch, tokens, heads;
  } sizes[] = {{1, 96, 4}, {1, 81, 5}, {1, 4, 40}, {40, 2, 3}};
  std::vector<harness::Case> cases;
  for (std::size_t i = 0; i < std::size(sizes); ++i) {
    harness::Case c = i % 2 == 0 ? widened(offer.base, offer) : offer.base;
    c.property = property;
    c.seed = 0x512e + i;
    c.position_from = 5;
    if (offer.tokens) c.tokens = sizes[i].tokens;
    if (offer.batch) c.batch = sizes[i].batch;
    for (harness::TensorCase& t : c.tensors) {
      if (offer.many_heads) t.heads = sizes[i].heads;
      if (offer.in_place && i % 2 == 1) t.in_place = true;
    }
    if (offer.transpose && i >= 2) c.operation = Operation::transpose;
    if (offer.scale && i % 2 == 1) c.attention_scale = 1.5;
    if (offer.i64_positions && i == 1) c.position_dtype = Dtype::i64;
    if (offer.window_offset && i % 2 == 1)
      for (harness::TensorCase& t : c.tensors) {
        t.head_dim = c.rotary_dim + 3;
        t.rotary_offset = 2;
      }
    c.shift = std::max<std::int64_t>(c.tokens - 2, 0);
    cases.push_back(c);
  }
  return cases;
}

}  // namespace ropewalk::properties
