// Where the stack lies changes the speed of some loops by percents.
#pragma once
#include <alloca.h>

#include <cstddef>

namespace ropewalk::bench {

/// Offsets are multiples of the step below a page.
inline constexpr std::size_t stack_page = 4096, stack_step = 16;

/// Calls `function` with the stack `bytes` further down.
template <class Function>
[[gnu::noinline]] auto at_stack_offset(std::size_t bytes, Function&& function) {
  volatile auto* room = static_cast<volatile char*>(alloca(bytes + 16));
  room[0] = 0;
  const auto result = function();
  room[bytes] = 0;  // prevents a tail call, so the room stays
  return result;
}

}  // namespace ropewalk::bench
