// Finds memory of the device that a kernel keeps, by what is free. The driver gives memory out in
// large pieces, so one count may find no difference. Other processes allocate as well, so less free
// memory counts only if it is less three times and nobody else changes it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "harness/device/device.h"

namespace ropewalk::harness {

class KeptMemory {
 public:
  explicit KeptMemory(Device& device) : device_(device) {}

  /// What three runs of the calls keep, in words; empty: nothing.
  std::string by(const std::function<void()>& calls) {
    std::size_t kept = 0;
    for (int run = 0; run < believed; ++run) {
      const std::size_t before = device_.free_bytes();
      calls();
      if (device_.is_lost()) return {};  // the calls say why
      const std::size_t after = device_.free_bytes();
      if (after >= before) return {};
      kept = before - after;
    }
    if (device_.is_used_by_others()) return {};
    return "kept " + std::to_string(kept) +
           " bytes of device memory, and again when its calls were repeated";
  }

  /// Call once after each release. True if count_states() must be called now, with no memory of the
  /// worker's own on the device.
  bool wants_count() { return ++states_ % together == 0; }
  /// What the states keep, in words; empty: nothing.
  std::string count_states() {
    const std::size_t now = device_.free_bytes();
    const std::size_t before = std::exchange(free_after_states_, now);
    if (before == 0 || now > before) fell_ = 0;
    if (before == 0 || now >= before) return {};
    if (++fell_ < believed || device_.is_used_by_others()) return {};
    fell_ = 0;
    return "release kept device memory: " + std::to_string(before - now) + " bytes in the last " +
           std::to_string(together) + " states";
  }
  /// Another kernel may follow.
  void forget_states() {
    states_ = free_after_states_ = 0;
    fell_ = 0;
  }

 private:
  static constexpr int believed = 3;
  static constexpr std::uint64_t together = 16;

  Device& device_;
  std::uint64_t states_ = 0;
  std::size_t free_after_states_ = 0;
  int fell_ = 0;  // how many times less was free, and never more
};

}  // namespace ropewalk::harness
