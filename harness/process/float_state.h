// What a kernel must leave unchanged in the floating-point unit: rounding, flushing, traps and
// precision. The x87 stack must be empty, as the x86-64 psABI demands at every call and return. MMX
// code without an emms leaves the stack full, and the next long double result is a NaN. The sticky
// exception flags may change.
#pragma once
#include <fmt/format.h>

#include <cstdint>
#include <string>

namespace ropewalk::harness {

/// Whether FloatState and CalleeSaved (entries.h) see anything.
#if defined(__x86_64__)
inline constexpr bool has_float_state = true;
#else
inline constexpr bool has_float_state = false;
#endif

struct FloatState {
  std::uint32_t mxcsr = 0;
  std::uint16_t x87 = 0;
  bool x87_in_use = false;  ///< a register of its stack is not empty
  bool operator==(const FloatState&) const = default;

  static FloatState now() {
    FloatState s;
#if defined(__x86_64__)
    constexpr std::uint32_t sticky = 0x3f;
    __asm__ volatile("stmxcsr %0" : "=m"(s.mxcsr));
    s.mxcsr &= ~sticky;
    struct {  // the format of fnstenv
      std::uint32_t control, status, tags, rest[4];
    } x87;
    // fnstenv masks the exceptions, so the control word is loaded again.
    __asm__ volatile("fnstenv %0\n\tfldcw %0" : "=m"(x87));
    constexpr std::uint16_t all_empty = 0xffff;
    s.x87 = static_cast<std::uint16_t>(x87.control);
    s.x87_in_use = static_cast<std::uint16_t>(x87.tags) != all_empty;
#endif
    return s;
  }
  void restore() const {
#if defined(__x86_64__)
    __asm__ volatile("ldmxcsr %0" : : "m"(mxcsr));
    __asm__ volatile("fninit\n\tfldcw %0" : : "m"(x87));
#endif
  }
  std::string text() const {
    return fmt::format("MXCSR {:#06x}, x87 {:#06x}{}", mxcsr, x87,
                       x87_in_use ? " with registers in use (no emms after MMX?)" : "");
  }
};

}  // namespace ropewalk::harness
