// Counts calls of the allocator while a kernel that may not allocate runs. The calls may come from
// any thread, from the command or from a shared library. docs/decisions/0013 explains the method
// and its limits.
#pragma once
#include <cstdint>
#include <string>

namespace ropewalk::harness {

/// False if calls cannot be counted: with a libc other than glibc, a sanitizer without hooks, or an
/// allocator that comes before this one, as in a library that is not in LD_PRELOAD.
bool heap_is_watched();

/// Counts calls from now on. Only one watch may be active at a time.
void begin_heap_watch();

/// True if the loader has allocated since the watch began. It does so for a library's thread_local
/// variables at their first use.
bool loader_has_allocated();

/// The number of calls in the present watch, or in the last one.
std::uint64_t heap_calls();

/// Ends the watch. Returns what was called, in words; empty: nothing.
std::string end_heap_watch();

}  // namespace ropewalk::harness
