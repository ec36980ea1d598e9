// What a kernel must leave as it found it in the floating-point unit: rounding, flushing, traps and
// precision. The sticky exception flags are nobody's promise.
#pragma once
#include <fmt/format.h>

#include <cstdint>
#include <string>

#include "harness/protocol.h"

namespace ropewalk {

struct FloatState {
  std::uint32_t mxcsr = 0;
  std::uint16_t x87 = 0;
  bool operator==(const FloatState&) const = default;

  static FloatState now() {
    FloatState s;
#if defined(__x86_64__)
    constexpr std::uint32_t sticky = 0x3f;
    __asm__ volatile("stmxcsr %0" : "=m"(s.mxcsr));
    __asm__ volatile("fnstcw %0" : "=m"(s.x87));
    s.mxcsr &= ~sticky;
#endif
    return s;
  }
  void restore() const {
#if defined(__x86_64__)
    __asm__ volatile("ldmxcsr %0" : : "m"(mxcsr));
    __asm__ volatile("fldcw %0" : : "m"(x87));
#endif
  }
  /// The same, but as a caller of that mode would have it.
  FloatState in_mode(protocol::FloatMode mode) const {
    FloatState s = *this;
    if (mode == protocol::flush_to_zero) s.mxcsr |= 0x8040;
    if (mode >= protocol::round_down) {
      const std::uint32_t rounding = mode - protocol::round_down + 1;
      s.mxcsr = (s.mxcsr & ~0x6000u) | rounding << 13;
      s.x87 = static_cast<std::uint16_t>((s.x87 & ~0x0c00u) | rounding << 10);
    }
    return s;
  }
  std::string text() const {
    return fmt::format("MXCSR {:#06x}, x87 {:#06x}", mxcsr, x87);
  }
};

}  // namespace ropewalk
