#include "benchmarks/workloads/workload_layout.h"

#include "harness/cases/layouts.h"
#include "harness/cases/problem.h"

namespace ropewalk::bench {
using namespace harness;

void lay_out(Workload& w) {
  lay_plainly(w);
  if (w.layout == WorkloadLayout::fused) fuse(w);
  for (TensorCase& t : w.tensors) {
    if (w.layout == WorkloadLayout::head_major) t.in = t.out = head_major_strides(w, t);
    if (w.layout == WorkloadLayout::padded) t.in = t.out = padded_strides(w, t, padded_gap);
  }
}

Case case_of(Workload w, std::int64_t tokens) {
  w.tokens = tokens;
  lay_out(w);
  if (w.scattered) {
    w.position_rule = PositionRule::random;
    w.position_to = max_position_of(w);
  }
  return w;
}

bool begins_aligned(const Workload& w) {
  constexpr std::int64_t alignment = 64;
  for (const TensorCase& t : w.tensors)
    if (t.in_at * element_bytes(w) % alignment != 0) return false;
  return true;
}

std::vector<double> inv_freq_of(Case c, bool f32) {
  c.contract = f32 ? ROPE_CONTRACT_F32_ANGLE : ROPE_CONTRACT_EXACT;
  return frequencies_of(c);
}

rope_problem make_problem(const Workload& w, const std::vector<double>& inv_freq,
                          std::int32_t angle_source, Operation operation, rope_axes* axes) {
  Case c = w;
  c.operation = operation;
  c.contract = angle_source == ROPE_ANGLES_TABLE ? ROPE_CONTRACT_TABLE : ROPE_CONTRACT_EXACT;
  rope_problem p = without_positions(c);
  p.max_position = max_position_of(w);
  if (angle_source == ROPE_ANGLES_TABLE) p.table_rows = p.max_position + 1;
  p.inv_freq = inv_freq.data();
  if (axes == nullptr || w.axes == 1) return p;
  *axes = {{ROPE_EXT_AXES, sizeof(rope_axes), nullptr},
           static_cast<std::int32_t>(w.axes),
           0,
           w.batch * w.tokens,
           0,
           w.axis_of_pair.data()};
  p.next = &axes->ext;
  return p;
}

}  // namespace ropewalk::bench
