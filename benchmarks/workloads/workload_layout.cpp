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

rope_problem make_problem(const Workload& w, const std::vector<double>& inv_freq,
                          std::int32_t angle_source, Operation operation) {
  rope_problem p{};
  p.struct_size = sizeof(p);
  p.abi_version = ROPE_ABI_VERSION;
  p.operation = in_contract(operation);
  p.pairing = in_contract(w.pairing);
  p.angle_source = angle_source;
  p.table_dtype = in_contract(data_type(w.dtype).computed_in);
  p.table_rows_by = ROPE_ROW_BY_POSITION;
  p.position_dtype = in_contract(w.position_dtype);
  p.attention_scale = w.attention_scale;
  p.batch = w.batch;
  p.tokens = w.tokens;
  p.rotary_dim = w.rotary_dim;
  p.position_batch_stride = w.tokens;
  p.position_token_stride = 1;
  p.max_position = max_position_of(w);
  if (angle_source == ROPE_ANGLES_TABLE) {
    p.table_rows = p.max_position + 1;
    p.table_row_stride = w.rotary_dim / 2;
  }
  p.inv_freq = inv_freq.data();
  p.tensor_count = 2;
  const std::array<TensorPlace, 2> places = tensor_places(w);
  for (const std::uint32_t i : {0u, 1u}) {
    const WorkloadTensor& given = w.tensors[i];
    rope_tensor& tensor = p.tensor[i];
    tensor.heads = given.heads;
    tensor.head_dim = given.head_dim;
    tensor.rotary_offset = given.rotary_offset;
    tensor.in_head_stride = tensor.out_head_stride = places[i].head_stride;
    tensor.in_token_stride = tensor.out_token_stride = places[i].token_stride;
    tensor.in_batch_stride = tensor.out_batch_stride = places[i].batch_stride;
    tensor.in_dtype = tensor.out_dtype = in_contract(w.dtype);
    tensor.rotate = 1;
    tensor.in_place = w.in_place ? 1 : 0;
  }
  return p;
}

}  // namespace ropewalk::bench
