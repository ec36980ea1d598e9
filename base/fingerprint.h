// A hash that tells files or tables apart. It protects against accidents, not against intent.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ropewalk {

/// FNV-1a with 128 bits (Fowler, Noll, Vo; RFC draft-eastlake-fnv), as "fnv1a128:" and 32 digits.
class Fingerprint {
 public:
  void add(const void* data, std::size_t bytes) {
    const auto* at = static_cast<const unsigned char*>(data);
    for (std::size_t i = 0; i < bytes; ++i) state_ = (state_ ^ at[i]) * prime;
  }
  void add(double value) { add(&value, sizeof value); }

  void add(std::string_view text) { add(text.data(), text.size()); }

  std::string text() const { return "fnv1a128:" + digits(); }
  std::string digits() const {
    constexpr char hex[] = "0123456789abcdef";
    std::string out;
    for (int shift = 124; shift >= 0; shift -= 4)
      out += hex[static_cast<unsigned>(state_ >> shift) & 15u];
    return out;
  }

 private:
  __extension__ using Wide = unsigned __int128;
  static constexpr Wide prime = (Wide{1} << 88) + 0x13b;
  Wide state_ = (Wide{0x6c62272e07bb0142} << 64) | 0x62b821756295c58d;
};

/// The fingerprint of a file's bytes; empty if the file cannot be read.
std::optional<std::string> fingerprint_of_file(const std::string& file);

/// The usual start of FNV-1a with 64 bits.
inline constexpr std::uint64_t name_seed = 0xcbf29ce484222325;
/// FNV-1a with 64 bits, started from `seed`, so each name gets a seed of its own.
inline std::uint64_t seed_of_name(std::uint64_t seed, std::string_view name) {
  for (const char c : name) seed = (seed ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return seed;
}

}  // namespace ropewalk
