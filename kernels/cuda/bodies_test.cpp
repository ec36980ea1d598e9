#include "kernels/cuda/bodies.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include "kernels/api/kernel.h"
#include "kernels/common/integer_phase.h"
#include "kernels/cuda/host_entries.h"

namespace ropewalk::cuda {
namespace {

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

TestCall::Buffer& TestCall::buffer(std::int64_t elements, std::int64_t width, std::uint32_t seed) {
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

void TestCall::add_tensor(std::int64_t heads, bool rotate) {
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

TestCall::TestCall(const TestShape& shape) : shape_(shape) {
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

std::vector<std::byte> TestCall::outputs() const {
  std::vector<std::byte> all;
  for (const Buffer& b : buffers_) all.insert(all.end(), b.begin, b.begin + b.output_bytes);
  return all;
}

bool TestCall::only_outputs_changed() const {
  return std::all_of(buffers_.begin(), buffers_.end(), [](const Buffer& b) {
    const std::ptrdiff_t begin = b.begin - b.bytes.data(), end = begin + b.output_bytes;
    return std::equal(b.given.begin(), b.given.begin() + begin, b.bytes.begin()) &&
           std::equal(b.given.begin() + end, b.given.end(), b.bytes.begin() + end);
  });
}

using Bytes = std::vector<std::byte>;

constexpr DeviceSize tiny_device{.threads_of_block = 32, .most_blocks = 3, .threads_at_once = 64};

// The launches of a call, by one of the three kernels.
template <class Bodies>
Launches launches(const TestCall& call) {
  const PlanOptions options = Bodies::naive                 ? naive_options(tiny_device)
                              : call.fractions() != nullptr ? phase_options(tiny_device)
                                                            : table_options(tiny_device);
  return launches_of(call.problem(), call.operands(), options, call.fractions());
}

// What a launch made of a call.
struct Ran {
  Bytes outputs;
  std::string fault;
  bool in_bounds;
};

// Runs a call. `change` may plant an error into a launch.
template <class Bodies, class Change>
Ran run(const TestShape& shape, std::uint64_t seed, Change&& change) {
  const TestCall call(shape);
  Launches all = launches<Bodies>(call);
  LaunchFault fault;
  for (int i = 0; i < all.count; ++i) {
    change(all.launch[i]);
    with_body<Bodies>(all.launch[i], [&](auto body) {
      run_grid(all.launch[i].grid, seed, fault,
               [&](const Lane& lane) { body(all.launch[i], lane, HostAccess(fault)); });
    });
  }
  return {call.outputs(), fault.text(), call.only_outputs_changed()};
}

// What a loop over pairs makes of the call. It has the type of the contract's own walk.
template <class Data>
Bytes expected_of(const TestShape& shape) {
  const TestCall call(shape);
  const rope_problem& p = call.problem();
  const auto scale = static_cast<float>(scale_of(p));
  for_each_token(p, call.operands(), [&](const Token& token) {
    for_each_head<Data>(p, call.operands(), token, [&](const Head<Data>& head) {
      for (std::int64_t i = 0; i < p.rotary_dim / 2; ++i) {
        const PairIndex at = pair_index(p.pairing, i, p.rotary_dim / 2);
        const float x1 = head.in[at.first], x2 = head.in[at.second];
        float c = 0, s = 0;
        if (head.cos != nullptr) {
          c = head.cos[i];
          s = head.sin[i];
        } else {
          const CosSin turn = cos_sin(phase_of(turn_fraction(p.inv_freq[i]), token.position));
          c = static_cast<float>(turn.cos);
          s = static_cast<float>(turn.sin);
        }
        head.out[at.first] = Data(scale * (x1 * c - x2 * s));
        head.out[at.second] = Data(scale * (x2 * c + x1 * s));
      }
    });
  });
  return call.outputs();
}
Bytes expected(const TestShape& shape) {
  if (shape.data_type == ROPE_F32) return expected_of<float>(shape);
  return shape.data_type == ROPE_F16 ? expected_of<F16>(shape) : expected_of<Bf16>(shape);
}

// Wide and general paths, tails, windows, gaps, odd pointers, broadcasts, copied tensors, several
// batch rows, and fewer items than lanes.
std::vector<TestShape> shapes() {
  std::vector<TestShape> all;
  for (const std::int32_t pairing : {ROPE_HALF_SPLIT, ROPE_INTERLEAVED})
    for (const std::int32_t type : {ROPE_F32, ROPE_F16, ROPE_BF16})
      for (const bool in_place : {false, true}) {
        TestShape s;
        s.pairing = pairing;
        s.data_type = type;
        s.in_place = in_place;
        all.push_back(s);
        s.heads = 13;
        s.second_heads = 5;
        s.batch = 2;
        s.copied_tensor = !in_place;
        all.push_back(s);
        s.by_token = true;
        s.head_dim = 96;
        s.rotary_dim = 32;
        s.offset = 16;
        s.gap = 8;
        all.push_back(s);
        s.shift = 1;
        s.broadcast = true;
        all.push_back(s);
        s.by_token = false;
        s.head_dim = 23;
        s.rotary_dim = 14;
        s.offset = 3;
        s.gap = 1;
        s.tokens = 1;
        all.push_back(s);
        s.rotary_dim = 2;
        s.heads = 1;
        all.push_back(s);
      }
  return all;
}

std::string name_of(const TestShape& s) {
  std::ostringstream out;
  out << "type " << s.data_type << " pairing " << s.pairing << " in place " << s.in_place << " dim "
      << s.rotary_dim << " of " << s.head_dim << " shift " << s.shift << " table " << s.table;
  return out.str();
}

template <class Bodies>
void gives(const TestShape& shape, std::uint64_t seed, const Bytes& right) {
  const Ran ran = run<Bodies>(shape, seed, [](Launch&) {});
  EXPECT_EQ(ran.fault, "");
  EXPECT_TRUE(ran.in_bounds);
  EXPECT_EQ(ran.outputs, right);
}

template <class Bodies>
void orders_agree(TestShape shape) {
  shape.table = !std::is_same_v<Bodies, CudaPhaseBodies>;
  SCOPED_TRACE(name_of(shape));
  if (!shape.table) shape.by_token = false;
  const Bytes right = expected(shape);
  gives<Bodies>(shape, 4, right);
  gives<Bodies>(shape, 11, right);
}

TEST(Bodies, AnyOrderGivesTheBitsOfALoopWithinItsBuffers) {
  for (const TestShape& shape : shapes()) {
    orders_agree<CudaBodies>(shape);
    orders_agree<CudaPhaseBodies>(shape);
    orders_agree<CudaNaiveBodies>(shape);
  }
}

TEST(Bodies, PlantedErrorsOfALaunchAreSeen) {
  TestShape shape;
  const auto ran = [&](auto change) { return run<CudaBodies>(shape, 4, change); };
  EXPECT_NE(ran([](Launch& l) { l.tensor[0].in_head = 4; }).fault.find("misaligned"),
            std::string::npos);
  EXPECT_FALSE(ran([](Launch& l) { l.tensor[0].out_head += 16; }).in_bounds);
  const auto back = [](Launch& l) {
    l.tensor[0].out = static_cast<std::byte*>(l.tensor[0].out) - 16;
  };
  EXPECT_FALSE(ran(back).in_bounds);
  EXPECT_FALSE(
      ran([](Launch& l) { l.tensor[0].out = const_cast<void*>(l.tensor[0].in); }).in_bounds);
  EXPECT_NE(ran([](Launch& l) { l.tensor[0].in_head += 16; }).outputs, expected(shape));
  // More items than the call has: other lanes begin again at its first token.
  shape.in_place = true;
  shape.tokens = 5;
  EXPECT_NE(ran([](Launch& l) { l.items += 8; }).outputs, expected(shape));
}

TEST(Plan, WideWhereEachAccessIsAligned) {
  const auto wide = [](TestShape shape) {
    const TestCall call(shape);
    return fits_wide(call.problem(), call.operands(), 0);
  };
  TestShape shape;
  EXPECT_TRUE(wide(shape));
  for (const std::int32_t type : {ROPE_F32, ROPE_F16, ROPE_BF16}) {
    const std::int64_t width = type == ROPE_F32 ? 4 : 8;
    TestShape s;
    s.data_type = type;
    for (const std::int64_t dim : {64, 128, 256}) {
      s.head_dim = s.rotary_dim = dim;
      EXPECT_TRUE(wide(s));
    }
    s.shift = width;
    EXPECT_TRUE(wide(s));
    s.shift = 1;
    EXPECT_FALSE(wide(s));
    s.shift = 0;
    s.gap = 1;
    EXPECT_FALSE(wide(s));
    s.gap = 0;
    s.rotary_dim = 3 * width;  // half a window is no whole access
    EXPECT_FALSE(wide(s));
    s.pairing = ROPE_INTERLEAVED;
    EXPECT_TRUE(wide(s));
    s.offset = 2;
    EXPECT_FALSE(wide(s));
  }
}

TEST(Plan, CallsOfMixedTensorsHaveTwoLaunches) {
  TestShape shape;
  shape.second_heads = 2;
  const TestCall call(shape);
  EXPECT_EQ(launches<CudaBodies>(call).count, 1);
  rope_operands odd = call.operands();
  odd.tensor[1].in = static_cast<const std::byte*>(odd.tensor[1].in) + 4;
  const Launches both = launches_of(call.problem(), odd, table_options(tiny_device), nullptr);
  ASSERT_EQ(both.count, 2);
  EXPECT_TRUE(both.launch[0].wide);
  EXPECT_FALSE(both.launch[1].wide);
}

TEST(Plan, IndicesHave64BitsWhereItemsNeedThem) {
  TestShape shape;
  const TestCall call(shape);
  rope_problem p = call.problem();
  p.tensor[0].in_place = 1;  // 8 units of 4 heads in each token
  const auto small = [&](std::int64_t tokens, const PlanOptions& options) {
    p.tokens = tokens;
    return launches_of(p, call.operands(), options, nullptr).launch[0].small_index;
  };
  const PlanOptions naive = naive_options(tiny_device);  // 128 items a token
  EXPECT_TRUE(small((std::int64_t{1} << 24) - 1, naive));
  EXPECT_FALSE(small(std::int64_t{1} << 24, naive));
  const PlanOptions table = table_options(tiny_device);
  EXPECT_TRUE(small(std::int64_t{1} << 27, table));
  EXPECT_FALSE(small(std::int64_t{1} << 28, table));
}

// The last items of a launch that needs 64 bits, without running the others.
TEST(Bodies, The64BitIndexReachesTheLastToken) {
  TestShape shape;
  shape.rotary_dim = shape.head_dim = 16;
  shape.in_place = true;
  const TestCall call(shape);
  rope_problem p = call.problem();
  p.tokens = (std::int64_t{1} << 32) + 1;
  p.tensor[0].in_token_stride = p.tensor[0].out_token_stride = 0;  // no such tensor: one token
  p.position_token_stride = 0;
  const Launches all = launches_of(p, call.operands(), naive_options(tiny_device), nullptr);
  ASSERT_EQ(all.count, 1);
  const Launch& launch = all.launch[0];
  ASSERT_FALSE(launch.small_index);
  ASSERT_EQ(launch.items, static_cast<std::uint64_t>(p.tokens) * 8 * 4);
  const Bytes before = call.outputs();
  LaunchFault fault;
  const Lane last{{static_cast<std::uint32_t>((launch.items - 1) / 32), 0, 0},
                  {static_cast<std::uint32_t>((launch.items - 1) % 32), 0, 0},
                  {0x7fffffff},
                  {32}};
  with_body<CudaNaiveBodies>(launch, [&](auto body) { body(launch, last, HostAccess(fault)); });
  EXPECT_STREQ(fault.text(), "");
  const Bytes after = call.outputs();
  // Pair 7 of head 3: elements 7 and 15 of its row.
  std::vector<std::size_t> changed;
  for (std::size_t i = 0; i < before.size(); ++i)
    if (before[i] != after[i] && (changed.empty() || changed.back() != i / 4))
      changed.push_back(i / 4);
  EXPECT_EQ(changed, (std::vector<std::size_t>{3 * 16 + 7, 3 * 16 + 15}));
}

}  // namespace
}  // namespace ropewalk::cuda
