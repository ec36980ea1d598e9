#include "benchmarks/workloads/workload_layout.h"

#include "benchmarks/workloads/traffic.h"
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
  if (has_append(w)) w.pages = pages_held(w);
}

void take_norm(Workload& w) {
  w.tensors[0].norm = w.tensors[1].norm = true;
}

void take_append(Workload& w) {
  w.tensors[1].append = true;
  w.tensors.resize(3, w.tensors[1]);
  w.tensors[2].rotate = w.tensors[2].norm = false;
  w.tensors[2].rotary_offset = 0;
  w.slot_rule = SlotRule::paged;
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

Case timed_case(const Workload& w, bool table, Operation operation, bool unfused) {
  Case c = w;
  if (unfused) {
    c.tensors.resize(2);
    for (TensorCase& t : c.tensors) t.in_place = has_norm(w);
    drop_norm(c);
    drop_append(c);
  }
  c.operation = operation;
  c.contract = table ? ROPE_CONTRACT_TABLE : ROPE_CONTRACT_EXACT;
  return c;
}

rope_problem make_problem(const Workload& w, const std::vector<double>& inv_freq,
                          std::int32_t angle_source, Operation operation, ProblemNodes* nodes,
                          bool unfused) {
  const Case c = timed_case(w, angle_source == ROPE_ANGLES_TABLE, operation, unfused);
  rope_problem p = without_positions(c);
  p.max_position = max_position_of(w);
  if (angle_source == ROPE_ANGLES_TABLE) p.table_rows = p.max_position + 1;
  p.inv_freq = inv_freq.data();
  if (nodes == nullptr) return p;
  *nodes = nodes_asked(c, p);
  set_address(p, *nodes, Operand::axis_of_pair, w.axis_of_pair.data());
  p.next = nodes->chain();
  return p;
}

}  // namespace ropewalk::bench
