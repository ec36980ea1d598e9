// shaw: a learned vector of the clipped distance is added to each key and each value.
//
// Source: Shaw, Uszkoreit, Vaswani 2018 (arXiv:1803.02155), equations 3 and 4: the vector is added
// behind W_k and W_v. RoFormer's equation 5 adds it to x instead.
#include <algorithm>

#include "reference/encodings/pieces.h"

namespace ropewalk {
namespace {

Vector of_distance(const Learned& learned, std::string_view table, Position distance) {
  return learned.vector(table, std::clamp(distance, -learned.clip, learned.clip));
}

const RegisteredEncoding shaw({
    .name = "shaw",
    .title = "Shaw: vectors of the distance on keys and values",
    .source = "Shaw et al. 2018, arXiv:1803.02155, equations 3 and 4",
    .f_k = "W_k x_n + aK[c], c = clip(n - m, -r, r), aK learned",
    .f_v = "W_v x_n + aV[c], aV learned",
    .note = "The limit r is 2 here.",
    .has_parameters = true,
    .key = [](const Learned& l, const Vector& x, Position n,
              Position m) { return sum(l.times("W_k", x), of_distance(l, "aK", n - m)); },
    .value = [](const Learned& l, const Vector& x, Position n,
                Position m) { return sum(l.times("W_v", x), of_distance(l, "aV", n - m)); },
});

}  // namespace
}  // namespace ropewalk
