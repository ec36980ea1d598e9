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
#include "benchmarks/workloads/timed_types.h"
#include "benchmarks/workloads/traffic.h"
#include "benchmarks/workloads/workload_shape.h"

namespace ropewalk::bench {
namespace {

constexpr int tail_value = 0xa5;

/// Uniform in [-1, 1).
template <class Real>
void fill_values(std::byte* to, std::int64_t bytes, std::uint64_t& random) {
  Real* values = reinterpret_cast<Real*>(to);
  const std::int64_t count = bytes / static_cast<std::int64_t>(sizeof(Real));
  for (std::int64_t i = 0; i < count; ++i)
    values[i] = static_cast<Real>(static_cast<double>(next_random(random) >> 40) * 0x1p-23 - 1.0);
}

template <class Real>
void fill_table(std::byte* cos, std::byte* sin, std::int64_t rows,
                const std::vector<double>& inv_freq) {
  Real* to_cos = reinterpret_cast<Real*>(cos);
  Real* to_sin = reinterpret_cast<Real*>(sin);
  for (std::int64_t position = 0; position < rows; ++position)
    for (const double frequency : inv_freq) {
      const double angle_rad = static_cast<double>(position) * frequency;
      *to_cos++ = static_cast<Real>(std::cos(angle_rad));
      *to_sin++ = static_cast<Real>(std::sin(angle_rad));
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
    : workload_(w), inv_freq_(workload_frequencies(w)), inv_freq_f32_(workload_frequencies_f32(w)) {
  std::uint64_t random = seed_of_name(seed, w.name);
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    tensor_bytes_[i] = tensor_bytes(w, w.tensors[i]);
    pristine_[i] = SealedBytes(tensor_bytes_[i]);
    work_[i] = AlignedBytes(tensor_bytes_[i]);
  }
  fill_inputs(random);
  const std::int64_t rows = max_position_of(w) + 1;
  const std::int64_t table_bytes = rows * (w.rotary_dim / 2) * element_bytes(w);
  cos_ = SealedBytes(table_bytes);
  sin_ = SealedBytes(table_bytes);
  with_timed_type(w.dtype, [&]<class Data>(std::type_identity<Data>) {
    fill_table<Data>(cos_.data(), sin_.data(), rows, inv_freq_);
  });
  positions_ = SealedBytes(positions_held(w) * 4);
  auto* positions = reinterpret_cast<std::int32_t*>(positions_.data());
  if (w.cold) scatter_all(positions, positions_held(w), random);
  for (std::int64_t i = 0; i < w.batch * w.tokens && !w.cold; ++i) {
    const auto scattered = next_random(random) % std::uint64_t{scattered_position_count};
    positions[i] = w.scattered ? static_cast<std::int32_t>(scattered)
                               : static_cast<std::int32_t>(i % w.tokens);
  }
  for (SealedBytes* const constant : {&cos_, &sin_, &positions_}) constant->seal(true);
  seal_inputs(true);
}

void WorkloadData::seal_inputs(bool sealed) {
  for (SealedBytes& tensor : pristine_) tensor.seal(sealed);
}

void WorkloadData::refresh(std::uint64_t seed) {
  seal_inputs(false);
  fill_inputs(seed);
  seal_inputs(true);
}

std::int64_t WorkloadData::disturb(std::uint64_t& random) {
  seal_inputs(false);
  if (workload_.in_place)
    for (const std::size_t i : {std::size_t{0}, std::size_t{1}})
      std::memcpy(pristine_[i].data(), work_[i].data(), static_cast<std::size_t>(tensor_bytes_[i]));
  const auto below = [&](std::int64_t count) {
    return static_cast<std::int64_t>(next_random(random) % static_cast<std::uint64_t>(count));
  };
  const auto tensor = static_cast<std::size_t>(below(2));
  const WorkloadTensor& t = workload_.tensors[tensor];
  const std::int64_t row = below(workload_.batch * workload_.tokens * t.heads);
  const std::int64_t at = row * t.head_dim + t.rotary_offset + below(workload_.rotary_dim);
  const auto bytes = static_cast<std::size_t>(element_bytes(workload_));
  std::byte* const element = pristine_[tensor].data() + static_cast<std::size_t>(at) * bytes;
  element[bytes - 1] ^= std::byte{0x80};  // flips its sign
  if (workload_.in_place)
    std::memcpy(work_[tensor].data() + static_cast<std::size_t>(at) * bytes, element, bytes);
  seal_inputs(true);
  return row / t.heads;
}

void WorkloadData::fill_inputs(std::uint64_t& random) {
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}})
    with_timed_type(workload_.dtype, [&]<class Data>(std::type_identity<Data>) {
      fill_values<Data>(pristine_[i].data(), tensor_bytes_[i], random);
    });
}

void WorkloadData::refill() {
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}})
    std::memcpy(work_[i].data(), pristine_[i].data(), static_cast<std::size_t>(tensor_bytes_[i]));
}

void WorkloadData::poison() {
  if (workload_.in_place) return refill();
  // All bits are one: a NaN of either type.
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}})
    std::memset(work_[i].data(), 0xff, static_cast<std::size_t>(tensor_bytes_[i]));
}

rope_operands WorkloadData::operands(bool table) const {
  rope_operands o{};
  o.struct_size = sizeof(o);
  o.positions = positions_.data();
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    o.tensor[i].in = workload_.in_place ? work_[i].data() : pristine_[i].data();
    o.tensor[i].out = work_[i].data();
    o.tensor[i].cos = table ? cos_.data() : nullptr;
    o.tensor[i].sin = table ? sin_.data() : nullptr;
  }
  return o;
}

std::vector<CeilingSpan> WorkloadData::spans() const {
  std::vector<CeilingSpan> out;
  const rope_operands o = operands(false);
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    const WorkloadTensor& t = workload_.tensors[i];
    const std::int64_t rows = workload_.batch * workload_.tokens * t.heads;
    if (!workload_.in_place) {
      out.push_back({o.tensor[i].in, o.tensor[i].out, rows, t.head_dim, t.head_dim});
      continue;
    }
    std::byte* window = work_[i].data() + t.rotary_offset * element_bytes(workload_);
    out.push_back({window, window, rows, workload_.rotary_dim, t.head_dim});
  }
  return out;
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
