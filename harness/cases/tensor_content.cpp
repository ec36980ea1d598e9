#include "harness/cases/tensor_content.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "harness/cases/data.h"
#include "harness/cases/poison.h"
#include "harness/cases/problem.h"
#include "harness/cases/stored.h"

namespace ropewalk::harness {
namespace {

// The value of one rotated element of head h. `head_hash` holds the coordinates of the head.
double element_value(const Case& c, const DataType& type, std::uint64_t head_hash, std::int64_t h,
                     std::int64_t e) {
  const int mantissa = type.format.mantissa;
  const std::int64_t half = c.rotary_dim / 2;
  const bool first = c.pairing == Pairing::interleaved ? e % 2 == 0 : e < half;
  const std::int64_t pair = c.pairing == Pairing::interleaved ? e / 2 : first ? e : e - half;
  const std::uint64_t bits = hash(head_hash, e);
  switch (c.data) {
    case DataPattern::wide:
      return wide_value(bits, type);
    case DataPattern::tiny:
      return tiny_value(bits, type);
    case DataPattern::huge:
      return huge_value(bits, type);
    case DataPattern::special:
      return special_value(bits, type);
    case DataPattern::subnormal:
      return subnormal_value(bits, type.format);
    case DataPattern::edge:
      return edge_value(bits, type.format, c.attention_scale);
    case DataPattern::span:  // both elements of a pair have the same exponent
      return span_value(bits, hash(head_hash, ~pair), type.format, c.attention_scale);
    case DataPattern::basis:  // heads in turn: (1, 0), (0, 1), full mantissas
      return h % 3 == 2 ? unit_value(bits, mantissa) : (first == (h % 3 == 0) ? 1.0 : 0.0);
    case DataPattern::decay: {  // heads: half prefix indicators, then those of DecayHead
      const double stair = std::sqrt(static_cast<double>(half - pair));
      const bool imaginary = h == half + decay_ones_im || h == half + decay_stair_im;
      if (first == imaginary) return 0;
      if (h < half) return pair <= h ? 1 : 0;
      return h == half + decay_ones_re || h == half + decay_ones_im ? 1 : stair;
    }
    case DataPattern::zero_heads:
      return head_hash % 2 == 0 ? 0 : unit_value(bits, mantissa);
    case DataPattern::zeros:
      return 0;
    case DataPattern::small:
      return unit_value(bits, mantissa) * 0x1p-10;
    case DataPattern::large:
      return unit_value(bits, mantissa) * 0x1p10;
    case DataPattern::far: {  // 2^25 to where a head of the widest has a sum of squares of 2^127
      std::int64_t widest = 1;
      for (const TensorCase& t : c.tensors) widest = std::max(widest, t.head_dim);
      const int last =
          (127 - static_cast<int>(std::bit_width(static_cast<std::uint64_t>(widest - 1)))) / 2;
      const std::uint64_t level = mix(head_hash) % static_cast<std::uint64_t>(last - 24);
      return unit_value(bits, mantissa) * power_of_two_value(25 + static_cast<int>(level));
    }
    case DataPattern::prompt:  // fill_tensor() takes another seed for the first token
    case DataPattern::unit:
      return unit_value(bits, mantissa);
  }
  __builtin_unreachable();
}

// Elements that must be copied bit for bit: random bits, with infinities and NaN payloads among
// them. They also hold values that arithmetic would change: -0, a subnormal, a signalling NaN.
std::uint64_t copied_bits(Dtype dtype, std::uint64_t random, std::int64_t e) {
  const DataType& type = data_type(dtype);
  const std::uint64_t all = ~std::uint64_t{0} >> (64 - 8 * type.bytes);
  const std::uint64_t exponent = all >> 1 & ~std::uint64_t{0} << (type.format.mantissa - 1);
  const std::uint64_t special[] = {all ^ all >> 1, 0, 1, exponent | 1};
  if (e % 5 == 2) return special[random % 4];
  const std::uint64_t bits = (e % 5 == 1 ? random | exponent : random) & all;
  // In a narrow type, random bits are sometimes equal to poison.
  for (const Poison poison : {Poison::a, Poison::b, Poison::read_only})
    if (bits == poison_bits(poison, dtype)) return bits ^ 1;
  return bits;
}

// Writes the rotated window of head h, from element `begin` of the buffer.
void fill_window(const Case& c, Dtype dtype, std::uint64_t head_hash, std::int64_t h,
                 std::int64_t begin, std::vector<std::byte>& bytes) {
  const DataType& type = data_type(dtype);
  with_floating_type(dtype, [&]<class Stored>(std::type_identity<Stored>) {
    const auto fill = [&](auto&& value_of) {
      for (std::int64_t e = 0; e < c.rotary_dim; ++e)
        store_as<Stored>(bytes, begin + e, value_of(e));
    };
    if (c.data == DataPattern::unit)  // the most frequent pattern
      fill([&](std::int64_t e) { return unit_value(hash(head_hash, e), type.format.mantissa); });
    else
      fill([&](std::int64_t e) { return element_value(c, type, head_hash, h, e); });
  });
}

// Writes the elements of a head that are not rotated, from element `begin` of the buffer.
void fill_copied(Dtype dtype, std::uint64_t head_hash, std::int64_t from, std::int64_t to,
                 std::int64_t begin, std::vector<std::byte>& bytes) {
  const auto size = static_cast<std::size_t>(data_type(dtype).bytes);
  for (std::int64_t e = from; e < to; ++e) {
    const std::uint64_t bits = copied_bits(dtype, hash(head_hash, e), e);
    std::memcpy(bytes.data() + static_cast<std::size_t>(begin + e) * size, &bits, size);
  }
}

// The rows of a large tensor repeat after this many, as making a value takes longer than copying
// it. A prime, so that no power of two of rows, and no usual number of heads, is a period. 0: no
// row repeats.
std::int64_t period_of(const Case& c, const TensorCase& given, const rope_tensor& s) {
  constexpr std::int64_t prime = 509, large = 1 << 15;
  const bool by_head = c.data == DataPattern::basis || c.data == DataPattern::decay;
  const bool few = c.batch * c.tokens * s.heads * s.head_dim <= large;
  return by_head || few || !given.values.empty() ? 0 : prime;
}

}  // namespace

void fill_tensor(const Case& c, const rope_problem& p, std::uint32_t tensor, std::int64_t at,
                 const std::vector<std::int64_t>& slots, std::vector<std::byte>& bytes) {
  const TensorCase& given = c.tensors[tensor];
  const rope_tensor& s = p.tensor[tensor];
  const std::int64_t window = given.rotate ? given.rotary_offset : s.head_dim;
  const std::int64_t window_end = given.rotate ? window + c.rotary_dim : s.head_dim;
  const std::int64_t period = period_of(c, given, s);
  const Dtype dtype = tensor_dtype(c, given);
  const auto size = data_type(dtype).bytes;
  // Where tokens share memory, one with a slot may share it.
  const bool apart = s.in_token_stride != 0 && s.in_batch_stride != 0;
  const bool spoils = given.append && apart && hash(c.seed, 0x515) % 4 == 3;
  std::vector<std::int64_t> made;  // the rows that others repeat
  std::size_t next = 0;
  std::int64_t count = 0;
  for (std::int64_t b = 0; b < c.batch; ++b)
    for (std::int64_t t = 0; t < c.tokens; ++t)
      for (std::int64_t h = 0; h < s.heads; ++h) {
        const std::int64_t row = at + in_index(p, tensor, b, t, h);
        if (!given.values.empty()) {
          for (std::int64_t e = 0; e < s.head_dim; ++e, ++next)
            store(bytes, dtype, row + e, given.values[next]);
          continue;
        }
        if (spoils && slots[static_cast<std::size_t>(b * c.tokens + t)] < 0) {
          for (std::int64_t e = 0; e < s.head_dim; ++e) store(bytes, dtype, row + e, HUGE_VAL);
          continue;
        }
        if (period > 0 && count >= period) {
          const std::int64_t from = made[static_cast<std::size_t>(count++ % period)];
          std::memmove(bytes.data() + row * size, bytes.data() + from * size,
                       static_cast<std::size_t>(s.head_dim * size));
          continue;
        }
        if (period > 0) made.push_back(row);
        ++count;
        // hash() is a fold: the coordinates that a head's elements share are hashed once.
        const std::uint64_t outside = hash(c.seed, 0xb175, tensor, b, t, h);
        const bool is_bos = c.data == DataPattern::prompt && t == 0;  // of any prompt
        if (given.norm)  // NaN beside the window would make the whole head NaN
          for (std::int64_t e = 0; e < s.head_dim; ++e)
            store(bytes, dtype, row + e,
                  unit_value(hash(outside, e), data_type(dtype).format.mantissa));
        else
          fill_copied(dtype, outside, 0, window, row, bytes);
        if (given.rotate)
          fill_window(c, dtype, hash(is_bos ? 0 : c.seed, tensor, b, t, h), h, row + window, bytes);
        if (!given.norm) fill_copied(dtype, outside, window_end, s.head_dim, row, bytes);
      }
}

}  // namespace ropewalk::harness
