// What is asked of every encoding. A law of an encoding with parameters holds if it holds for every
// draw tried, and fails if one draw breaks it. s(m, n) is the score of content x at the query's
// position m and content y at the key's position n.
#pragma once
#include "reference/encodings/encoding.h"

namespace ropewalk {

struct LawCell {
  /// The last two are reasons for which the law does not apply.
  enum Answer { holds, fails, not_of_vectors, causal };
  Answer answer = holds;
  /// Of a law that fails, the smallest counterexample: by d, then seed, then the largest position.
  std::string text = {};
};

struct EncodingLaw {
  std::string_view name;
  std::string_view meaning;  ///< one line
  /// Throws std::logic_error if two numbers are neither equal nor clearly apart.
  LawCell (*judge)(const Encoding& encoding);
};

/// The ten laws, in the order of the page.
const std::vector<EncodingLaw>& all_laws();

/// -1, 0 or 1. Numbers within 10^-80 of their size (at least 1) are equal: a few hundred operations
/// of 2^-333 each are below 10^-97, and sums of 4096 below 10^-93. Nothing that is not equal comes
/// that close, so a difference from 10^-80 to 10^-20 throws std::logic_error.
int order(const Real& a, const Real& b);

/// The score of contents x at m and y at n.
Real score_of(const Encoding& encoding, const Learned& learned, const Vector& x, Position m,
              const Vector& y, Position n);

}  // namespace ropewalk
