// Plain: the five-line loop that a user would write first. It is the baseline of every board. A
// norm and an append are those of for_each_head, which normalizes a head where it will be rotated.
#include "kernels/api/kernel.h"
#include "kernels/common/mixed_rows.h"
#include "kernels/plain/plain_loop.h"

namespace ropewalk {
namespace {

// Tensor by tensor, each with its own type and that of the table.
void rotate_mixed(const rope_problem& p, const rope_operands& o) {
  for_each_tensor_alone(p, o, [](const rope_problem& one, const rope_operands& at) {
    with_data_type(one, [&](auto data) {
      with_floating_type(Dtype{one.table_dtype}, [&]<class Table>(std::type_identity<Table>) {
        rotate_plainly<decltype(data), Table>(one, at);
      });
    });
  });
}

std::int32_t apply(const rope_problem* p, const rope_operands* o, void* state) {
  if (const rope_axes* axes = axes_of(*p); axes != nullptr) {
    rotate_by_mixed_rows(*p, *o, *axes, [&](const rope_problem& one, const rope_operands& at) {
      apply(&one, &at, state);
    });
    return ROPE_OK;
  }
  if (supports_data(*p, ROPE_ANGLES_TABLE, p->tensor[0].in_dtype, nullptr) != ROPE_OK) {
    rotate_mixed(*p, *o);
    return ROPE_OK;
  }
  with_data_type(*p, [&](auto data) { rotate_plainly<decltype(data)>(*p, *o); });
  return ROPE_OK;
}

const RegisteredKernel registered{{
    .name = "plain",
    .summary = "the five-line loop",
    .source = "RoFormer, arXiv:2104.09864, section 3.4.2",
    .flags = ROPE_IN_PLACE | ROPE_OUT_OF_PLACE | ROPE_THREAD_SAFE | ROPE_BITWISE_INVARIANT |
             ROPE_ROUNDS_WEIGHTED,
    .extensions = extension_bit(ROPE_EXT_AXES) | extension_bit(ROPE_EXT_NORM) |
                  extension_bit(ROPE_EXT_APPEND),
    .supports = supports_any_types,
    .workspace_bytes = mixed_rows_bytes,
    .apply = apply,
}};

}  // namespace
}  // namespace ropewalk
