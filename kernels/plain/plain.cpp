// Plain: the five-line loop that a user would write first. It is the baseline of every board.
#include "kernels/api/kernel.h"
#include "kernels/common/support.h"

namespace ropewalk {
namespace {

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
void rotate(const rope_problem& p, const rope_operands& o) {
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

// Tensor by tensor, each with its own type and that of the table.
void rotate_mixed(const rope_problem& p, const rope_operands& o) {
  for_each_tensor_alone(p, o, [](const rope_problem& one, const rope_operands& at) {
    with_data_type(one, [&](auto data) {
      with_floating_type(Dtype{one.table_dtype}, [&]<class Table>(std::type_identity<Table>) {
        rotate<decltype(data), Table>(one, at);
      });
    });
  });
}

std::int32_t apply(const rope_problem* p, const rope_operands* o, void*) {
  if (supports_data(*p, ROPE_ANGLES_TABLE, p->tensor[0].in_dtype, nullptr) != ROPE_OK) {
    rotate_mixed(*p, *o);
    return ROPE_OK;
  }
  with_data_type(*p, [&](auto data) { rotate<decltype(data)>(*p, *o); });
  return ROPE_OK;
}

const RegisteredKernel registered{{
    .name = "plain",
    .summary = "the five-line loop",
    .source = "RoFormer, arXiv:2104.09864, section 3.4.2",
    .flags = ROPE_IN_PLACE | ROPE_OUT_OF_PLACE | ROPE_THREAD_SAFE | ROPE_BITWISE_INVARIANT,
    .supports = supports_any_types,
    .apply = apply,
}};

}  // namespace
}  // namespace ropewalk
