#include "harness/cases/inputs.h"

#include <cstring>

#include "harness/cases/checked.h"

namespace ropewalk::harness {
std::vector<std::byte>& input_bytes(Problem& p, int placement, std::uint32_t tensor) {
  const auto in = static_cast<std::size_t>(p.buffer(Operand::in, tensor));
  return placement == 0 ? p.buffers[in].content : p.other_inputs[in];
}

void keep_positions(Problem& p) {
  p.other_positions = p.positions;
  p.other_slots = p.slots;
  const auto keep = [&](int buffer) {
    if (buffer >= 0) p.other_inputs[static_cast<std::size_t>(buffer)].clear();
  };
  for (const Operand role : {Operand::positions, Operand::slot, Operand::cos, Operand::sin})
    for (const Place& place : p.places[static_cast<std::size_t>(role)]) keep(place.buffer);
}

void replace_pairs(Problem& p,
                   const std::function<PairValue(int, const HeadPlace&, std::int64_t)>& value) {
  for (std::uint32_t i = 0; i < p.asked.tensor_count; ++i) {
    const rope_tensor& t = p.asked.tensor[i];
    require((p.asked.batch == 1 || t.in_batch_stride > 0) &&
                (p.asked.tokens == 1 || t.in_token_stride > 0) &&
                (t.heads == 1 || t.in_head_stride > 0),
            "this property changes its inputs: they must not be a broadcast (a stride of 0)");
  }
  for_each_head_of(p, [&](int placement, const HeadPlace& at) {
    if (p.asked.tensor[at.tensor].rotate == 0) return;
    auto& bytes = input_bytes(p, placement, at.tensor);
    const std::int64_t row = in_row(p, at);
    const Dtype dtype = tensor_dtype(p.source, at.tensor);
    for (std::int64_t i = 0; i < p.asked.rotary_dim / 2; ++i) {
      const PairValue x = value(placement, at, i);
      const PairIndex e = pair_elements(p.asked, at.tensor, i);
      store(bytes, dtype, row + e.first, x.re.hi);
      store(bytes, dtype, row + e.second, x.im.hi);
    }
  });
}

void copy_heads(const Problem& from, Problem& to, const HeadSource& source) {
  for_each_head_of(to, [&](int placement, const HeadPlace& at) {
    const HeadPlace origin = source(at);
    const Dtype dtype = tensor_dtype(to.source, at.tensor);
    require(dtype == tensor_dtype(from.source, origin.tensor), "copied heads must have one dtype");
    const std::int64_t size = data_type(dtype).bytes;
    const auto& read = given(from, placement, from.buffer(Operand::in, origin.tensor));
    auto& bytes = input_bytes(to, placement, at.tensor);
    std::memcpy(bytes.data() + in_row(to, at) * size, read.data() + in_row(from, origin) * size,
                static_cast<std::size_t>(to.asked.tensor[at.tensor].head_dim * size));
    const int weight = to.buffer(Operand::weight, at.tensor),
              of = from.buffer(Operand::weight, origin.tensor);
    if (weight < 0 || of < 0) return;
    const auto i = static_cast<std::size_t>(weight);
    (placement == 0 ? to.buffers[i].content : to.other_inputs[i]) = given(from, placement, of);
  });
}

}  // namespace ropewalk::harness
