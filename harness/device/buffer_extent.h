// The parts of a call's regions that its buffers use.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>

#include "harness/protocol.h"
#include "kernels/api/kernel.h"

namespace ropewalk::harness {

/// The region of a slot, in the order of protocol::Control::mapped.
inline const protocol::Region& region_of(const protocol::CallDescriptor& call, int slot) {
  if (slot == 0) return call.inv_freq;
  if (slot == 1) return call.positions;
  if (slot == protocol::slots_region) return call.slots;
  if (slot >= protocol::weight_region) return call.weight[slot - protocol::weight_region];
  const auto& t = call.tensor[(slot - 2) / 4];
  const protocol::Region* const regions[] = {&t.in, &t.out, &t.cos, &t.sin};
  return *regions[(slot - 2) % 4];
}

/// Returns a text like "tensor 0 out".
inline std::string slot_name(int slot) {
  if (slot == 0) return "inv_freq";
  if (slot == 1) return "positions";
  if (slot == protocol::slots_region) return "slots";
  if (slot >= protocol::weight_region)
    return "tensor " + std::to_string(slot - protocol::weight_region) + " weight";
  constexpr const char* names[] = {"in", "out", "cos", "sin"};
  return "tensor " + std::to_string((slot - 2) / 4) + " " + names[(slot - 2) % 4];
}

/// From the first byte of a buffer to the end of its last row. The problem's sizes are those that
/// the parent laid out in memory, so the products fit.
inline std::uint64_t buffer_bytes(const protocol::CallDescriptor& call, int slot) {
  const rope_problem& p = call.problem;
  const std::int64_t further = std::max(call.axes.axes, 1) - 1;  // axes after the first
  const auto bytes_of = [](std::int32_t dtype) { return data_type(Dtype{dtype}).bytes; };
  const auto last = [](std::int64_t count, std::int64_t stride) { return (count - 1) * stride; };
  std::int64_t elements = 0, element_bytes = 0;
  if (slot == 1) {
    elements = further * call.axes.position_axis_stride + last(p.batch, p.position_batch_stride) +
               last(p.tokens, p.position_token_stride) + 1;
    element_bytes = bytes_of(p.position_dtype);
  } else if (slot == protocol::slots_region) {
    elements = p.batch * p.tokens;
    element_bytes = bytes_of(call.append.slot_dtype);
  } else if (slot >= protocol::weight_region) {
    elements = p.tensor[slot - protocol::weight_region].head_dim;
    element_bytes = bytes_of(call.norm.weight_dtype);
  } else if (const int part = (slot - 2) % 4; part >= 2) {
    elements = further * call.axes.table_axis_stride + last(p.table_rows, p.table_row_stride) +
               p.rotary_dim / 2;
    element_bytes = bytes_of(p.table_dtype);
  } else {
    const auto tensor = static_cast<std::uint32_t>((slot - 2) / 4);
    const rope_tensor& t = p.tensor[tensor];
    const rope_append& a = call.append;
    elements = t.head_dim;
    if (part == 1 && marks(&a, tensor))
      elements += last(a.pages, a.page_stride[tensor]) + last(a.page_size, a.slot_stride[tensor]) +
                  last(t.heads, a.head_stride[tensor]);
    else
      elements += part == 0
                      ? last(p.batch, t.in_batch_stride) + last(p.tokens, t.in_token_stride) +
                            last(t.heads, t.in_head_stride)
                      : last(p.batch, t.out_batch_stride) + last(p.tokens, t.out_token_stride) +
                            last(t.heads, t.out_head_stride);
    element_bytes = bytes_of(t.in_dtype);
  }
  return static_cast<std::uint64_t>(elements * element_bytes);
}

struct PartOfRegion {
  std::uint64_t first, bytes;
};

/// The smallest part of a region that holds every buffer that lies in it.
inline PartOfRegion used_part(const protocol::CallDescriptor& call,
                              const protocol::Region& region) {
  std::uint64_t first = region.mapped_bytes, end = 0;
  for (int slot = 1; slot < protocol::axis_region; ++slot) {
    const protocol::Region& other = region_of(call, slot);
    if (other.mapped_bytes == 0 || other.file_offset != region.file_offset) continue;
    first = std::min(first, other.at);
    end = std::max(end, other.at + buffer_bytes(call, slot));
  }
  return {first, std::min(end, region.mapped_bytes) - first};
}

}  // namespace ropewalk::harness
