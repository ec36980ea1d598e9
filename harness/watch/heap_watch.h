// Counts calls of the allocator while a kernel that may not allocate runs: from any thread, from
// the command or from a shared library. docs/decisions/0013 says how, and what it cannot see.
#pragma once
#include <string>

namespace ropewalk::harness {

/// False where nothing can be counted: another libc than glibc, or a sanitizer without hooks.
bool heap_is_watched();

/// From here on calls are counted. One watch at a time.
void begin_heap_watch();

/// Whether the loader has allocated since: a library's thread_local variables, met for the first
/// time.
bool loader_has_allocated();

/// Ends the watch: what was called, in words; empty when nothing was.
std::string end_heap_watch();

}  // namespace ropewalk::harness
