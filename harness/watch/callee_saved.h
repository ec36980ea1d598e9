// Calls a function pointer in assembly, to compare the registers that belong to the caller before
// and after. Compiled code around the call would save and restore these registers, and hide a
// change.
#pragma once
#include <cstdint>
#include <string>
#include <type_traits>

namespace ropewalk::harness {

/// What a called function left in the registers that it must keep: on x86-64 rbx, rbp, r12 to r15
/// and the direction flag. On other processors no register is compared.
struct CalleeSaved {
  std::uint64_t registers[6];
  std::uint64_t flags;
};

#if defined(__x86_64__)

extern "C" std::uint64_t ropewalk_call_watched(const void* entry, std::uint64_t a, std::uint64_t b,
                                               std::uint64_t c, CalleeSaved* after);

/// What changed, in words; empty if nothing did.
std::string changed_registers(const CalleeSaved& after);

/// Calls `entry`. All its arguments are pointers, three at most.
template <class R, class... A>
R call_watched(CalleeSaved& after, R (*entry)(A...), A... arguments) {
  static_assert(sizeof...(A) <= 3 && (std::is_pointer_v<A> && ...));
  static_assert(std::is_void_v<R> || std::is_integral_v<R>);
  std::uint64_t words[3] = {};
  std::size_t next = 0;
  ((words[next++] = reinterpret_cast<std::uint64_t>(arguments)), ...);
  const std::uint64_t result = ropewalk_call_watched(reinterpret_cast<const void*>(entry), words[0],
                                                     words[1], words[2], &after);
  if constexpr (!std::is_void_v<R>) return static_cast<R>(result);
}

#else

inline std::string changed_registers(const CalleeSaved&) {
  return {};
}

template <class R, class... A>
R call_watched(CalleeSaved&, R (*entry)(A...), A... arguments) {
  return entry(arguments...);
}

#endif

}  // namespace ropewalk::harness
