// The norm and the append of a call, for a call that is a part of it: one tensor, or one token.
#pragma once
#include <cstdint>

#include "kernels/api/kernel.h"

namespace ropewalk {

class FusedNodes {
 public:
  FusedNodes(const rope_problem& p, const rope_operands& o) {
    if (const rope_norm* norm = norm_of(p)) norm_ = *norm, weights_ = *norm_of(o);
    if (const rope_append* append = append_of(p)) append_ = *append, caches_ = *append_of(o);
  }
  /// The part has tensor i alone, as its tensor 0.
  void keep_alone(std::uint32_t i) {
    norm_.tensors = norm_.tensors >> i & 1;
    weights_.weight[0] = weights_.weight[i];
    append_.tensors = append_.tensors >> i & 1;
    append_.page_stride[0] = append_.page_stride[i];
    append_.slot_stride[0] = append_.slot_stride[i];
    append_.head_stride[0] = append_.head_stride[i];
    caches_.cache[0] = caches_.cache[i];
  }
  /// The part begins at this token, counted over all batch rows.
  void begin_at(std::int64_t token, const rope_operands& whole) {
    if (append_.tensors == 0) return;
    const std::int64_t bytes = append_.slot_dtype == ROPE_I64 ? 8 : 4;
    caches_.slot = static_cast<const char*>(append_of(whole)->slot) + token * bytes;
  }
  /// Gives the part the chains of these nodes, and no others.
  void link(rope_problem& p, rope_operands& o) {
    p.next = o.next = nullptr;
    put(norm_, weights_, p, o);
    put(append_, caches_, p, o);
  }

 private:
  template <class Asked, class Given>
  static void put(Asked& asked, Given& given, rope_problem& p, rope_operands& o) {
    if (asked.tensors == 0) return;
    asked.ext.next = p.next;
    p.next = &asked.ext;
    given.ext.next = o.next;
    o.next = &given.ext;
  }

  rope_norm norm_{};
  rope_norm_operands weights_{};
  rope_append append_{};
  rope_append_operands caches_{};
};

}  // namespace ropewalk
