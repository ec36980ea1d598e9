// Attention in double-double, for laws about what attention makes of rotated queries and keys.
#pragma once
#include <optional>
#include <vector>

#include "reference/double_double.h"

namespace ropewalk {

using Numbers = std::vector<DoubleDouble>;
using Values = std::vector<Numbers>;  ///< [token][component]

/// |a - b| and |a|, to a few 2^-53.
double distance(const Numbers& a, const Numbers& b);
double length(const Numbers& a);

/// exp(x) for x <= 0, off by less than 2^-90 of itself. 0 for x < -600.
DoubleDouble exp_of_negative(const DoubleDouble& x);

/// The sum of exp(l_n) v_n over the sum of exp(l_n), over the first logits.size() tokens: those
/// that a causal mask leaves. Off by less than 2^-80 of the largest |v_n| for up to 2^7 tokens.
/// Empty if there is no token, as no weights have the sum 1 then.
std::optional<Numbers> softmax_attention(const Numbers& logits, const Values& values);

/// The numerator of RoFormer's eq. 19 in quadratic form: the sum of (q.k_n) v_n. Each q.k_n is of
/// rotated vectors. Without tokens it is empty.
Numbers linear_numerator(const Numbers& dots, const Values& values);

/// The same numerator in recurrent form. The state S is the sum of k_n v_n^T over the tokens so
/// far, and q reads q^T S from it. Each entry of S is a running sum, so its rounding grows with the
/// number of tokens: off by at most (tokens + 1) 2^-101 of the sum of |k_n||v_n|.
class LinearState {
 public:
  void add(const Numbers& k, const Numbers& v);
  Numbers read(const Numbers& q) const;

 private:
  std::vector<Numbers> state_;  ///< [component of k][component of v]
};

}  // namespace ropewalk
