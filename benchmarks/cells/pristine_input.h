// The input of a buffer as it was made, which no kernel sees.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/random.h"
#include "kernels/api/types.h"

namespace ropewalk::bench {

/// Numbers of one binade, of either sign. Of a large buffer only a piece of most_kept_bytes is
/// kept, and each repetition of it has other signs and mantissas.
class PristineInput {
 public:
  PristineInput() = default;
  PristineInput(std::int64_t bytes, Dtype dtype, std::uint64_t& random);
  /// Makes new numbers of the old ones: changes the same bits of sign and mantissa in all of them.
  void refresh(std::uint64_t seed);
  void copy_to(std::byte* to) const { read(0, static_cast<std::size_t>(bytes_), to); }
  bool is_equal_to(const std::byte* other) const;
  /// Copies the bytes from `at` on.
  void read(std::int64_t at, std::size_t bytes, std::byte* to) const;
  /// The piece that is kept, padded to 16 bytes.
  const std::vector<std::uint64_t>& kept() const { return kept_; }
  /// The second half of 2^(bit + 1) repetitions is the first with these bits of each eight bytes
  /// turned over.
  std::uint64_t flips_of_bit(int bit) const {
    return mix(seed_ + static_cast<std::uint64_t>(bit)) & changeable_;
  }

 private:
  std::int64_t bytes_ = 0;
  std::uint64_t changeable_ = 0, seed_ = 0;
  std::vector<std::uint64_t> kept_;
};

}  // namespace ropewalk::bench
