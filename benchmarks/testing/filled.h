// The data of a workload, as the tests of cells look at them.
#pragma once
#include <cstdint>

#include "benchmarks/cells/workload_data.h"
#include "benchmarks/testing/toys.h"

namespace ropewalk::bench {

struct Filled {
  explicit Filled(const Workload& given) : w(laid_out(given)) { data.refill(); }
  const Workload w;
  WorkloadData data{w, 7};

 private:
  static Workload laid_out(Workload w) {
    lay_out(w);
    return w;
  }
};

/// Calls check(head, i, given, left) for each element of each head.
template <class Check>
void for_each_element(const WorkloadMemory& rows, const Workload& w, Check&& check) {
  for (std::size_t tensor = 0; tensor < w.tensors.size(); ++tensor)
    for (std::int64_t row = 0; row < w.batch * w.tokens * w.tensors[tensor].heads; ++row) {
      const std::int64_t heads = w.tensors[tensor].heads;
      const harness::HeadPlace at = rows.place(tensor, row / heads, row % heads);
      const std::byte *const given = rows.given(at), *const left = rows.left(at);
      for (std::int64_t i = 0; i < w.tensors[tensor].head_dim; ++i)
        check(at, i, harness::load(given, w.dtype, i), harness::load(left, w.dtype, i));
    }
}

}  // namespace ropewalk::bench
