#include "benchmarks/workloads/workload_layout.h"

#include "benchmarks/workloads/workload_shape.h"
#include "harness/cases/layouts.h"

namespace ropewalk::bench {
using namespace harness;
namespace {

void lay_out(Case& c, WorkloadLayout layout) {
  switch (layout) {
    case WorkloadLayout::packed:
      return;
    case WorkloadLayout::head_major:
      for (TensorCase& t : c.tensors) t.in = t.out = head_major_strides(c, t);
      return;
    case WorkloadLayout::fused:
      fuse(c);
      return;
    case WorkloadLayout::padded:
      for (TensorCase& t : c.tensors) t.in = t.out = padded_strides(c, t, padded_gap);
      return;
  }
}

Case laid_out(const Workload& w, std::int64_t tokens) {
  Case c;
  c.pairing = w.pairing;
  c.dtype = w.dtype;
  c.batch = w.batch;
  c.tokens = tokens;
  c.rotary_dim = w.rotary_dim;
  c.tensors.clear();
  for (const WorkloadTensor& given : w.tensors) {
    TensorCase t;
    t.heads = given.heads;
    t.head_dim = given.head_dim;
    t.rotary_offset = given.rotary_offset;
    t.in_place = w.in_place;
    c.tensors.push_back(t);
  }
  lay_out(c, w.layout);
  return c;
}

}  // namespace

std::array<TensorPlace, 2> tensor_places(const Workload& w) {
  const Case c = laid_out(w, w.tokens);
  std::array<TensorPlace, 2> out;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const TensorCase& t = c.tensors[i];
    const auto stride = [](std::int64_t given, std::int64_t packed) {
      return given == contiguous ? packed : given;
    };
    TensorPlace& place = out[i];
    place.at = t.in_at;
    place.head_stride = stride(t.in.head, t.head_dim);
    place.token_stride = stride(t.in.token, t.heads * t.head_dim);
    place.batch_stride = stride(t.in.batch, w.tokens * place.token_stride);
  }
  return out;
}

Case case_of(const Workload& w, std::int64_t tokens) {
  Case c = laid_out(w, tokens);
  c.position_dtype = w.position_dtype;
  c.attention_scale = w.attention_scale;
  c.rope_theta = w.rope_theta;
  if (w.scaling != FrequencyScaling{}) c.inv_freq = workload_frequencies(w);
  if (!w.scattered) return c;
  c.position_rule = PositionRule::random;
  c.position_to = max_position_of(w);
  return c;
}

bool begins_aligned(const Workload& w) {
  constexpr std::int64_t alignment = 64;
  for (const TensorPlace& place : tensor_places(w))
    if (place.at * element_bytes(w) % alignment != 0) return false;
  return true;
}

}  // namespace ropewalk::bench
