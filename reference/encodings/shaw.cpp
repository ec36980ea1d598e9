// shaw: a learned vector of the clipped distance is added to each key and each value.
//
// Source: Shaw, Uszkoreit, Vaswani 2018 (arXiv:1803.02155), equations 3 to 5: the vector is added
// behind W_k and W_v. RoFormer's equation 5 adds it to x instead.
#include <algorithm>

#include "reference/encodings/pieces.h"

namespace ropewalk {
namespace {

Vector placed(const Learned& learned, std::string_view matrix, std::string_view table,
              const Vector& x, std::int64_t distance) {
  const std::int64_t clipped = std::clamp(distance, -learned.clip, learned.clip);
  return sum(learned.times(matrix, x), learned.vector(table, clipped));
}

Vector key(const Learned& learned, const Vector& x, std::int64_t n, std::int64_t m) {
  return placed(learned, "W_k", "aK", x, n - m);
}

Vector value(const Learned& learned, const Vector& x, std::int64_t n, std::int64_t m) {
  return placed(learned, "W_v", "aV", x, n - m);
}

const RegisteredEncoding shaw({
    .name = "shaw",
    .title = "Shaw: vectors of the distance on keys and values",
    .source = "Shaw et al. 2018, arXiv:1803.02155, equations 3 to 5",
    .f_k = "W_k x_n + aK[c], c = clip(n - m, -r, r), aK learned",
    .f_v = "W_v x_n + aV[c], aV learned",
    .note = "The limit r is 2 here.",
    .has_parameters = true,
    .key = key,
    .value = value,
});

}  // namespace
}  // namespace ropewalk
