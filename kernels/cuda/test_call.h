// For the tests of this folder: a call with memory of its own, and what a kernel made of it.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "kernels/api/kernel.h"
#include "kernels/common/integer_phase.h"

namespace ropewalk::cuda {

/// The shape of a call. Strides follow from it: rows lie one behind the other, `gap` elements
/// apart, and each buffer begins `shift` elements behind a multiple of 64 bytes. It lies between
/// guards of 64 bytes or more, which are NaN in each data type.
struct TestShape {
  std::int32_t data_type = ROPE_F32, pairing = ROPE_HALF_SPLIT;
  std::int64_t batch = 1, tokens = 3, heads = 4, second_heads = 0;
  std::int64_t head_dim = 64, rotary_dim = 64, offset = 0;
  std::int64_t gap = 0, shift = 0;
  bool in_place = false, table = true, by_token = false, copied_tensor = false, broadcast = false;
};

/// A call of that shape, with values that are the same each time it is made.
class TestCall {
 public:
  explicit TestCall(const TestShape& shape);
  TestCall(const TestCall&) = delete;
  TestCall& operator=(const TestCall&) = delete;

  const rope_problem& problem() const { return problem_; }
  const rope_operands& operands() const { return operands_; }
  const TurnFraction* fractions() const { return shape_.table ? nullptr : fractions_.data(); }
  /// The bytes of all outputs, gaps included.
  std::vector<std::byte> outputs() const;
  /// Whether inputs, tables, positions and the guards of all buffers are as they were made.
  bool only_outputs_changed() const;

 private:
  struct Buffer {
    std::vector<std::byte> bytes, given;
    std::byte* begin = nullptr;
    std::ptrdiff_t output_bytes = 0;
  };
  Buffer& buffer(std::int64_t elements, std::int64_t width, std::uint32_t seed);
  void add_tensor(std::int64_t heads, bool rotate);

  TestShape shape_;
  rope_problem problem_{};
  rope_operands operands_{};
  std::vector<Buffer> buffers_;
  std::vector<double> frequencies_;
  std::vector<TurnFraction> fractions_;
};

inline TestCall::Buffer& TestCall::buffer(std::int64_t elements, std::int64_t width,
                                          std::uint32_t seed) {
  Buffer made;
  const auto bytes = static_cast<std::size_t>(elements * width);
  made.bytes.resize(bytes + 192 + static_cast<std::size_t>(shape_.shift * width), std::byte{0xff});
  const auto address = reinterpret_cast<std::uintptr_t>(made.bytes.data());
  made.begin = made.bytes.data() + 64 + (64 - address % 64) + shape_.shift * width;
  // Small numbers of each type: values of a linear congruence, never NaN. Positions are set later.
  for (std::int64_t i = 0; i < elements && width <= 4; ++i) {
    seed = seed * 1664525U + 1013904223U;
    const float value = static_cast<float>(static_cast<std::int32_t>(seed)) * 0x1p-31F;
    const F16 half(value);
    const Bf16 brain(value);
    const void* from = &value;
    if (width == 2) from = shape_.data_type == ROPE_F16 ? &half.bits : &brain.bits;
    std::memcpy(made.begin + i * width, from, static_cast<std::size_t>(width));
  }
  buffers_.push_back(std::move(made));
  return buffers_.back();
}

inline void TestCall::add_tensor(std::int64_t heads, bool rotate) {
  const std::int64_t width = data_type(Dtype{shape_.data_type}).bytes;
  const std::int64_t row = shape_.head_dim + shape_.gap;
  const std::int64_t elements = shape_.batch * shape_.tokens * heads * row;
  const auto seed = static_cast<std::uint32_t>(heads * 7 + problem_.tensor_count + 1);
  auto& at = operands_.tensor[problem_.tensor_count];
  rope_tensor& t = problem_.tensor[problem_.tensor_count++];
  t.heads = heads;
  t.head_dim = shape_.head_dim;
  t.rotary_offset = shape_.offset;
  t.in_head_stride = t.out_head_stride = row;
  t.in_token_stride = t.out_token_stride = row * heads;
  t.in_batch_stride = t.out_batch_stride = row * heads * shape_.tokens;
  if (shape_.broadcast && !shape_.in_place) t.in_head_stride = 0;
  t.in_dtype = t.out_dtype = shape_.data_type;
  t.rotate = rotate ? 1 : 0;
  t.in_place = shape_.in_place ? 1 : 0;
  Buffer& out = buffer(elements, width, seed);
  out.output_bytes = elements * width;
  at.out = out.begin;
  at.in = shape_.in_place ? at.out : buffer(elements, width, seed + 1000).begin;
  if (!shape_.table) return;
  at.cos = buffer(problem_.table_rows * shape_.rotary_dim / 2, 4, 77).begin;
  at.sin = buffer(problem_.table_rows * shape_.rotary_dim / 2, 4, 78).begin;
}

inline TestCall::TestCall(const TestShape& shape) : shape_(shape) {
  buffers_.reserve(32);
  rope_problem& p = problem_;
  p.struct_size = sizeof p;
  p.abi_version = ROPE_ABI_VERSION;
  p.pairing = shape.pairing;
  p.angle_source = shape.table ? ROPE_ANGLES_TABLE : ROPE_ANGLES_INV_FREQ;
  p.table_dtype = ROPE_F32;
  p.table_rows_by = shape.by_token ? ROPE_ROW_BY_TOKEN : ROPE_ROW_BY_POSITION;
  p.position_dtype = ROPE_I64;
  p.batch = shape.batch;
  p.tokens = shape.tokens;
  p.rotary_dim = shape.rotary_dim;
  p.position_batch_stride = shape.tokens;
  p.position_token_stride = 1;
  p.table_rows = shape.batch * shape.tokens + 5;
  p.max_position = p.table_rows - 1;
  p.table_row_stride = shape.rotary_dim / 2;
  p.attention_scale = 0.75;
  operands_.struct_size = sizeof operands_;
  for (std::int64_t i = 0; i < shape.rotary_dim / 2; ++i) {
    frequencies_.push_back(1.0 / static_cast<double>(1 + 3 * i));
    fractions_.push_back(turn_fraction(frequencies_.back()));
  }
  p.inv_freq = frequencies_.data();
  if (!shape.by_token) {
    std::byte* positions = buffer(shape.batch * shape.tokens, 8, 1).begin;
    for (std::int64_t i = 0; i < shape.batch * shape.tokens; ++i) {
      const std::int64_t position = (i * 3 + 2) % p.table_rows;
      std::memcpy(positions + i * 8, &position, 8);
    }
    operands_.positions = positions;
  }
  add_tensor(shape.heads, true);
  if (shape.second_heads > 0) add_tensor(shape.second_heads, true);
  if (shape.copied_tensor) add_tensor(2, false);
  for (Buffer& made : buffers_) made.given = made.bytes;
}

inline std::vector<std::byte> TestCall::outputs() const {
  std::vector<std::byte> all;
  for (const Buffer& b : buffers_) all.insert(all.end(), b.begin, b.begin + b.output_bytes);
  return all;
}

inline bool TestCall::only_outputs_changed() const {
  return std::all_of(buffers_.begin(), buffers_.end(), [](const Buffer& b) {
    const std::ptrdiff_t begin = b.begin - b.bytes.data(), end = begin + b.output_bytes;
    return std::equal(b.given.begin(), b.given.begin() + begin, b.bytes.begin()) &&
           std::equal(b.given.begin() + end, b.given.end(), b.bytes.begin() + end);
  });
}

}  // namespace ropewalk::cuda
