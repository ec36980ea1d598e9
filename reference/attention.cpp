#include "reference/attention.h"

#include <algorithm>
#include <cmath>

namespace ropewalk {

double distance(const Numbers& a, const Numbers& b) {
  double square = 0;
  for (std::size_t e = 0; e < a.size(); ++e) {
    const auto d = static_cast<double>(a[e] - b[e]);
    square += d * d;
  }
  return std::sqrt(square);
}

double length(const Numbers& a) {
  return distance(a, Numbers(a.size()));
}

// exp(x) = 2^k exp(r) with |r| <= ln(2) / 2. The series takes e = exp(r / 2^9) - 1, where thirteen
// terms leave less than 2^-140 of e. Then exp(2 r) - 1 = e (e + 2), nine times. The product k ln(2)
// is off by 2^-92 at x = -600, and that is the largest error.
DoubleDouble exp_of_negative(const DoubleDouble& x) {
  if (x.hi < -600) return 0;
  constexpr DoubleDouble ln2{0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};
  constexpr int halvings = 9;
  const double k = std::nearbyint(x.hi / ln2.hi);
  const DoubleDouble r = (x - ln2 * k) * std::ldexp(1.0, -halvings);
  DoubleDouble sum = r, term = r;
  for (int n = 2; n <= 13; ++n) {
    term = term * r / DoubleDouble(n);
    sum = sum + term;
  }
  for (int i = 0; i < halvings; ++i) sum = sum * (sum + 2.0);
  return (sum + 1.0) * std::ldexp(1.0, static_cast<int>(k));
}

std::optional<Numbers> softmax_attention(const Numbers& logits, const Values& values) {
  if (logits.empty()) return std::nullopt;
  const DoubleDouble largest =
      *std::ranges::max_element(logits, [](const DoubleDouble& a, const DoubleDouble& b) {
        return a.hi < b.hi || (a.hi == b.hi && a.lo < b.lo);
      });
  DoubleDouble all;
  Numbers weights, out(values[0].size());
  for (const DoubleDouble& l : logits)
    all = all + weights.emplace_back(exp_of_negative(l - largest));
  for (std::size_t n = 0; n < weights.size(); ++n)
    for (std::size_t e = 0; e < out.size(); ++e) out[e] = out[e] + weights[n] * values[n][e];
  for (DoubleDouble& component : out) component = component / all;
  return out;
}

Numbers linear_numerator(const Numbers& dots, const Values& values) {
  Numbers out(dots.empty() ? 0 : values[0].size());
  for (std::size_t n = 0; n < dots.size(); ++n)
    for (std::size_t e = 0; e < out.size(); ++e) out[e] = out[e] + dots[n] * values[n][e];
  return out;
}

void LinearState::add(const Numbers& k, const Numbers& v) {
  state_.resize(k.size(), Numbers(v.size()));
  for (std::size_t i = 0; i < k.size(); ++i)
    for (std::size_t e = 0; e < v.size(); ++e) state_[i][e] = state_[i][e] + k[i] * v[e];
}

Numbers LinearState::read(const Numbers& q) const {
  Numbers out(state_.empty() ? 0 : state_[0].size());
  for (std::size_t i = 0; i < state_.size(); ++i)
    for (std::size_t e = 0; e < out.size(); ++e) out[e] = out[e] + q[i] * state_[i][e];
  return out;
}

}  // namespace ropewalk
