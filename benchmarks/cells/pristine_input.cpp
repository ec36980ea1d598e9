#include "benchmarks/cells/pristine_input.h"

#include <algorithm>
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
  flip(next_random(seed) & changeable_);
}

void PristineInput::copy_to(std::byte* to) {
  for_each_piece([&](std::int64_t at, std::size_t bytes, const std::byte* from) {
    std::memcpy(to + at, from, bytes);
    return true;
  });
}

bool PristineInput::is_equal_to(const std::byte* other) {
  bool equal = true;
  for_each_piece([&](std::int64_t at, std::size_t bytes, const std::byte* here) {
    equal = std::memcmp(here, other + at, bytes) == 0;
    return equal;
  });
  return equal;
}

void PristineInput::read(std::int64_t at, std::size_t bytes, std::byte* to) const {
  const std::int64_t end = at + static_cast<std::int64_t>(bytes);
  for (std::int64_t from = at; from < end;) {
    const std::int64_t piece = from / most_kept_bytes, in_piece = from % most_kept_bytes;
    const std::int64_t count = std::min(end - from, most_kept_bytes - in_piece);
    std::memcpy(to + (from - at), data() + in_piece, static_cast<std::size_t>(count));
    if (const std::uint64_t flips = flips_of(piece); flips != 0)
      for (std::int64_t i = 0; i < count; ++i)
        to[from - at + i] ^= bytes_of(&flips)[(in_piece + i) % 8];
    from += count;
  }
}

std::uint64_t PristineInput::flips_of(std::int64_t piece) const {
  std::uint64_t flips = 0;
  for (int bit = 0; piece >> bit != 0; ++bit)
    if ((piece >> bit & 1) != 0) flips ^= flips_of_bit(bit);
  return flips;
}

template <class Use>
void PristineInput::for_each_piece(Use&& use) {
  std::int64_t piece = 0;
  for (std::int64_t at = 0; at < bytes_; at += most_kept_bytes) {
    const std::int64_t bytes = std::min(most_kept_bytes, bytes_ - at);
    if (!use(at, static_cast<std::size_t>(bytes), data())) break;
    if (at + bytes == bytes_) break;
    flip(flips_of(piece) ^ flips_of(piece + 1));
    ++piece;
  }
  flip(flips_of(piece));
}

void PristineInput::flip(std::uint64_t flips) {
  if (flips == 0) return;
  for (std::uint64_t& word : kept_) word ^= flips;
}

}  // namespace ropewalk::bench
