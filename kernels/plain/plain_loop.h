// The five-line loop that a user would write first.
#pragma once
#include "kernels/common/support.h"

namespace ropewalk {
namespace {  // as if the loop stood in the file that includes it

// Pair i is x[i * step] and x[i * step + apart]: (1, half) for half_split, (2, 1) for interleaved.
// 16-bit data is read into a Real and rounded once, on store. A table of another type is read into
// a Real too.
template <class Data, class Table, class Real = TableOf<Data>>
inline void rotate_head(const Data* x, Data* y, const Table* cos, const Table* sin,
                        std::int64_t half, std::int64_t step, std::int64_t apart, Real scale,
                        Real sign) {
  for (std::int64_t i = 0; i < half; ++i) {
    const Real x1 = x[i * step], x2 = x[i * step + apart];
    const Real c = static_cast<Real>(cos[i]), s = sign * static_cast<Real>(sin[i]);
    y[i * step] = Data(scale * (x1 * c - x2 * s));
    y[i * step + apart] = Data(scale * (x2 * c + x1 * s));
  }
}

template <class Data, class Table = TableOf<Data>>
void rotate_plainly(const rope_problem& p, const rope_operands& o) {
  using Real = TableOf<Data>;
  rotate_each_head<Data, Table>(
      p, o, [&](const Head<Data, Table>& head, std::int64_t half, Real scale, Real sign) {
        const auto rotate_one = [&](const Data* in, Data* out) {
          // Constant steps let the compiler vectorize each form.
          p.pairing == ROPE_INTERLEAVED
              ? rotate_head<Data, Table>(in, out, head.cos, head.sin, half, 2, 1, scale, sign)
              : rotate_head<Data, Table>(in, out, head.cos, head.sin, half, 1, half, scale, sign);
        };
        // In place is a loop over one pointer, as a user would write it.
        head.in == head.out ? rotate_one(head.out, head.out) : rotate_one(head.in, head.out);
      });
}

}  // namespace
}  // namespace ropewalk
