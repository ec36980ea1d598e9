// The memory that a call may write, so that the call can be repeated and compared.
#pragma once
#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

namespace ropewalk::harness {

class WritableMemory {
 public:
  /// The content of all parts, in the order in which they were added.
  using Copy = std::vector<std::vector<std::byte>>;

  void add(std::byte* at, std::size_t bytes) { parts_.emplace_back(at, bytes); }

  Copy copy() const {
    Copy out;
    for (const auto& [at, bytes] : parts_) out.emplace_back(at, at + bytes);
    return out;
  }
  void restore(const Copy& from) const {
    for (std::size_t i = 0; i < from.size(); ++i)
      std::memcpy(parts_[i].first, from[i].data(), from[i].size());
  }
  bool equals(const Copy& other) const {
    for (std::size_t i = 0; i < other.size(); ++i)
      if (std::memcmp(parts_[i].first, other[i].data(), other[i].size()) != 0) return false;
    return true;
  }

 private:
  std::vector<std::pair<std::byte*, std::size_t>> parts_;
};

}  // namespace ropewalk::harness
