#include "benchmarks/engine/workload_data.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>
#include <string_view>

#include "base/fingerprint.h"
#include "base/system/memory_limits.h"
#include "benchmarks/engine/rounds.h"
#include "benchmarks/workloads/traffic.h"
#include "benchmarks/workloads/workload_shape.h"

namespace ropewalk::bench {
namespace {

constexpr int tail_value = 0xa5;

/// Uniform in [-1, 1).
template <class Data>
void fill_values(std::byte* to, std::int64_t bytes, std::uint64_t& random) {
  Data* values = reinterpret_cast<Data*>(to);
  const std::int64_t count = bytes / static_cast<std::int64_t>(sizeof(Data));
  for (std::int64_t i = 0; i < count; ++i) {
    const double value = static_cast<double>(next_random(random) >> 40) * 0x1p-23 - 1.0;
    values[i] = Data{static_cast<TableOf<Data>>(value)};
  }
}

template <class Data>
void fill_table(std::byte* cos, std::byte* sin, std::int64_t rows,
                const std::vector<double>& inv_freq) {
  Data* to_cos = reinterpret_cast<Data*>(cos);
  Data* to_sin = reinterpret_cast<Data*>(sin);
  for (std::int64_t position = 0; position < rows; ++position)
    for (const double frequency : inv_freq) {
      const double angle_rad = static_cast<double>(position) * frequency;
      *to_cos++ = Data{static_cast<TableOf<Data>>(std::cos(angle_rad))};
      *to_sin++ = Data{static_cast<TableOf<Data>>(std::sin(angle_rad))};
    }
}

/// Every position once in a random order, and then the first of them again.
void scatter_all(std::int32_t* positions, std::int64_t held, std::uint64_t& random) {
  for (std::int64_t i = 0; i < cold_position_count; ++i) {
    const auto j =
        static_cast<std::int64_t>(next_random(random) % static_cast<std::uint64_t>(i + 1));
    positions[i] = positions[j];
    positions[j] = static_cast<std::int32_t>(i);
  }
  for (std::int64_t i = cold_position_count; i < held; ++i)
    positions[i] = positions[i - cold_position_count];
}

}  // namespace

AlignedBytes::AlignedBytes(std::int64_t bytes) : bytes_(static_cast<std::size_t>(bytes)) {
  const std::size_t rounded = (bytes_ + tail_bytes + 63) / 64 * 64;
  data_.reset(static_cast<std::byte*>(std::aligned_alloc(64, rounded)));
  if (data_ == nullptr) throw std::bad_alloc();
  std::memset(data_.get() + bytes_, tail_value, tail_bytes);
}

bool AlignedBytes::is_whole() {
  if (data_ == nullptr) return true;
  std::byte* const tail = data_.get() + bytes_;
  const bool whole =
      std::all_of(tail, tail + tail_bytes, [](std::byte b) { return b == std::byte{tail_value}; });
  if (!whole) std::memset(tail, tail_value, tail_bytes);
  return whole;
}

SealedBytes::SealedBytes(std::int64_t bytes) {
  const std::size_t mapped = static_cast<std::size_t>(bytes) + offset;
  void* pages = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) throw std::bad_alloc();
  pages_ = {static_cast<std::byte*>(pages), Unmap{mapped}};
}

void SealedBytes::seal(bool sealed) {
  mprotect(pages_.get(), pages_.get_deleter().bytes, sealed ? PROT_READ : PROT_READ | PROT_WRITE);
}

void SealedBytes::Unmap::operator()(std::byte* pages) const {
  munmap(pages, bytes);
}

WorkloadData::WorkloadData(const Workload& w, std::uint64_t seed)
    : workload_(w),
      inv_freq_(inv_freq_of(w, false)),
      inv_freq_f32_(inv_freq_of(w, true)),
      asked_(make_problem(w, inv_freq_, ROPE_ANGLES_TABLE, Operation::forward)),
      buffers_(w.fused ? 1 : 2) {
  std::uint64_t random = seed_of_name(seed, w.name);
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}})
    bytes_[buffer_of(i)] += room_bytes(w, w.tensors[i]);
  for (std::size_t i = 0; i < buffers_; ++i) {
    pristine_[i] = SealedBytes(bytes_[i]);
    work_[i] = AlignedBytes(bytes_[i]);
  }
  fill_inputs(random);
  const std::int64_t rows = max_position_of(w) + 1;
  const std::int64_t table_bytes = rows * (w.rotary_dim / 2) * table_element_bytes(w);
  cos_ = SealedBytes(table_bytes);
  sin_ = SealedBytes(table_bytes);
  with_floating_type(harness::table_dtype(w), [&]<class Data>(std::type_identity<Data>) {
    fill_table<Data>(cos_.data(), sin_.data(), rows, inv_freq_);
  });
  fill_positions(random);
  for (SealedBytes* const constant : {&cos_, &sin_, &positions_, &wide_positions_})
    constant->seal(true);
  seal_inputs(true);
}

void WorkloadData::fill_positions(std::uint64_t& random) {
  const Workload& w = workload_;
  const std::int64_t held = positions_held(w);
  positions_ = SealedBytes(held * 4);
  auto* positions = reinterpret_cast<std::int32_t*>(positions_.data());
  if (w.cold) scatter_all(positions, held, random);
  for (std::int64_t i = 0; i < w.batch * w.tokens && !w.cold; ++i) {
    const auto scattered = next_random(random) % std::uint64_t{scattered_position_count};
    positions[i] = w.scattered ? static_cast<std::int32_t>(scattered)
                               : static_cast<std::int32_t>(i % w.tokens);
  }
  if (w.position_dtype != Dtype::i64) return;
  wide_positions_ = SealedBytes(position_bytes(w, held));
  std::copy(positions, positions + held, reinterpret_cast<std::int64_t*>(wide_positions_.data()));
}

void WorkloadData::seal_inputs(bool sealed) {
  for (std::size_t i = 0; i < buffers_; ++i) pristine_[i].seal(sealed);
}

void WorkloadData::refresh(std::uint64_t seed) {
  seal_inputs(false);
  fill_inputs(seed);
  seal_inputs(true);
}

std::int64_t WorkloadData::disturb(std::uint64_t& random) {
  seal_inputs(false);
  for (std::size_t i = 0; i < buffers_ && is_in_place(workload_); ++i)
    std::memcpy(pristine_[i].data(), work_[i].data(), static_cast<std::size_t>(bytes_[i]));
  const auto below = [&](std::int64_t count) {
    return static_cast<std::int64_t>(next_random(random) % static_cast<std::uint64_t>(count));
  };
  const auto tensor = static_cast<std::size_t>(below(2));
  const harness::TensorCase& t = workload_.tensors[tensor];
  const std::int64_t head = below(workload_.batch * workload_.tokens * t.heads);
  const std::int64_t token = head / t.heads;
  const std::int64_t at =
      t.in_at + row(tensor, token, head % t.heads) + t.rotary_offset + below(workload_.rotary_dim);
  const auto bytes = static_cast<std::size_t>(element_bytes(workload_));
  const std::size_t buffer = buffer_of(tensor);
  std::byte* const element = pristine_[buffer].data() + static_cast<std::size_t>(at) * bytes;
  element[bytes - 1] ^= std::byte{0x80};  // flips its sign
  if (is_in_place(workload_))
    std::memcpy(work_[buffer].data() + static_cast<std::size_t>(at) * bytes, element, bytes);
  seal_inputs(true);
  return token;
}

void WorkloadData::fill_inputs(std::uint64_t& random) {
  for (std::size_t i = 0; i < buffers_; ++i)
    with_floating_type(workload_.dtype, [&]<class Data>(std::type_identity<Data>) {
      fill_values<Data>(pristine_[i].data(), bytes_[i], random);
    });
}

void WorkloadData::refill() {
  for (std::size_t i = 0; i < buffers_; ++i)
    std::memcpy(work_[i].data(), pristine_[i].data(), static_cast<std::size_t>(bytes_[i]));
}

void WorkloadData::poison() {
  if (is_in_place(workload_)) return refill();
  // All bits are one: a NaN of every type.
  for (std::size_t i = 0; i < buffers_; ++i)
    std::memset(work_[i].data(), 0xff, static_cast<std::size_t>(bytes_[i]));
}

rope_operands WorkloadData::operands(bool table) const {
  rope_operands o{};
  o.struct_size = sizeof(o);
  o.positions = handed(positions());
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    o.tensor[i].out = work_[buffer_of(i)].data() + begin_of(i);
    o.tensor[i].in = is_in_place(workload_) ? o.tensor[i].out : input(i);
    o.tensor[i].cos = table ? cos_.data() : nullptr;
    o.tensor[i].sin = table ? sin_.data() : nullptr;
  }
  return o;
}

std::vector<CeilingSpan> WorkloadData::spans() const {
  std::vector<CeilingSpan> out;
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) add_spans(i, out);
  return out;
}

// As few spans as there can be: one if all rows are equally far apart, else one for each token.
void WorkloadData::add_spans(std::size_t tensor, std::vector<CeilingSpan>& out) const {
  const Workload& w = workload_;
  const harness::TensorCase& t = w.tensors[tensor];
  const rope_tensor& p = asked_.tensor[tensor];
  const std::int64_t skipped = is_in_place(w) ? t.rotary_offset : 0;
  const std::int64_t elements = is_in_place(w) ? w.rotary_dim : t.head_dim;
  const std::byte* in = static_cast<const std::byte*>(operands(false).tensor[tensor].in);
  std::byte* const to = static_cast<std::byte*>(operands(false).tensor[tensor].out);
  const auto add = [&](std::int64_t from, std::int64_t rows, std::int64_t row_elements,
                       std::int64_t stride) {
    const std::int64_t at = (from + skipped) * element_bytes(w);
    out.push_back({in + at, to + at, rows, row_elements, stride});
  };
  const std::int64_t tokens = w.batch * w.tokens;
  if (w.layout == WorkloadLayout::packed || w.layout == WorkloadLayout::head_major)
    return add(0, tokens * t.heads, elements, t.head_dim);
  if (w.fused && elements == t.head_dim)
    return add(0, tokens, t.heads * t.head_dim, p.in_token_stride);
  for (std::int64_t b = 0; b < w.batch; ++b)
    for (std::int64_t token = 0; token < w.tokens; ++token)
      add(b * p.in_batch_stride + token * p.in_token_stride, t.heads, elements, p.in_head_stride);
}

std::string LazyData::refusal() {
  if (data_) return {};
  const std::int64_t needed = allocated_bytes(workload_);
  if (const std::string why = memory_refusal(needed); !why.empty()) return why;
  try {
    data_.emplace(workload_, seed_);
  } catch (const std::bad_alloc&) {
    return fmt::format("{} MiB of memory could not be had", needed >> 20);
  }
  return {};
}

}  // namespace ropewalk::bench
