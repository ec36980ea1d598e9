#include "benchmarks/cells/pristine_input.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "benchmarks/workloads/traffic.h"
#include "harness/cases/stored.h"

namespace ropewalk::bench {
namespace {

/// The bits of sign and mantissa in eight bytes of a type, which change no binade.
std::uint64_t sign_and_mantissa(Dtype dtype) {
  const DataType& type = data_type(dtype);
  const auto bits = static_cast<int>(8 * type.bytes);
  std::uint64_t out = 0;
  for (int at = 0; at < 64; at += bits)
    out |= ((std::uint64_t{1} << (type.format.mantissa - 1)) - 1) << at | std::uint64_t{1}
                                                                              << (at + bits - 1);
  return out;
}

}  // namespace

PristineInput::PristineInput(std::int64_t bytes, Dtype dtype, std::uint64_t& random)
    : bytes_(bytes), changeable_(sign_and_mantissa(dtype)), seed_(next_random(random)) {
  const auto size = static_cast<std::int64_t>(data_type(dtype).bytes);
  std::vector<std::byte> halves(8);
  for (std::int64_t i = 0; i < 8 / size; ++i) harness::store(halves, dtype, i, 0.5);
  const auto half = harness::load_as<std::uint64_t>(halves, 0);
  kept_.resize(static_cast<std::size_t>((std::min(bytes, most_kept_bytes) + 15) / 16 * 2));
  for (std::uint64_t& word : kept_) word = half | (next_random(random) & changeable_);
}

void PristineInput::refresh(std::uint64_t seed) {
  const std::uint64_t flips = next_random(seed) & changeable_;
  for (std::uint64_t& word : kept_) word ^= flips;
}

bool PristineInput::is_equal_to(const std::byte* other) const {
  std::vector<std::byte> here(1 << 16);
  for (std::int64_t at = 0; at < bytes_; at += std::ssize(here)) {
    const auto bytes = static_cast<std::size_t>(std::min(bytes_ - at, std::ssize(here)));
    read(at, bytes, here.data());
    if (std::memcmp(here.data(), other + at, bytes) != 0) return false;
  }
  return true;
}

void PristineInput::read(std::int64_t at, std::size_t bytes, std::byte* to) const {
  const std::int64_t end = at + static_cast<std::int64_t>(bytes);
  for (std::int64_t count = 0; at < end; at += count, to += count) {
    const std::int64_t piece = at / most_kept_bytes, in_piece = at % most_kept_bytes;
    count = std::min(end - at, most_kept_bytes - in_piece);
    std::memcpy(to, reinterpret_cast<const std::byte*>(kept_.data()) + in_piece,
                static_cast<std::size_t>(count));
    std::uint64_t flips = 0;  // what this repetition differs by from the first
    for (int bit = 0; piece >> bit != 0; ++bit)
      if ((piece >> bit & 1) != 0) flips ^= flips_of_bit(bit);
    if (flips == 0) continue;
    flips = std::rotr(flips, static_cast<int>(in_piece % 8 * 8));
    std::int64_t i = 0;
    for (; i + 8 <= count; i += 8) {
      std::uint64_t word;
      std::memcpy(&word, to + i, 8);
      word ^= flips;
      std::memcpy(to + i, &word, 8);
    }
    for (; i < count; ++i) to[i] ^= static_cast<std::byte>(flips >> i % 8 * 8);
  }
}

}  // namespace ropewalk::bench
