// Guards the blocks that a kernel allocates while one of its entries runs. An overrun is a fault or
// a changed pattern, and a use after free is a fault. docs/decisions/0028 explains the method and
// its limits.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace ropewalk::harness {

/// Guards the allocations of every thread from now on, on account of this entry (static text). Does
/// nothing if the worker cannot guard: under a sanitizer, with another libc, or with limited
/// addresses.
void begin_heap_guard(const char* entry);
void end_heap_guard();

/// With true, the first block of an entry ends at a forbidden page; with false, it begins behind
/// such a page. The next blocks alternate. With false, a freed block's address goes to the next
/// block of its size. With true, addresses only rise. The case chooses, so its replay places every
/// block as before.
void choose_heap_placement(bool first_at_end);

/// Returns writes beside blocks and wrong frees since the last call, in words; empty: none.
std::string heap_damage();

/// Writes to `text` which block a fault belongs to, and returns false if none is within 1 MiB. A
/// signal handler may call this.
bool place_in_heap(std::uintptr_t address, bool is_write, char* text, std::size_t size);

/// The allocator's functions in heap_watch.cpp call these.
namespace heap_guard {

bool is_on();
bool holds(const void* memory);
/// Returns nullptr if the block exceeds the budget; then glibc's own allocator serves it.
/// `alignment` is a power of two, `function` is static text.
void* allocate(const char* function, std::size_t bytes, std::size_t alignment, bool zero);
void release(void* memory);
/// The number of bytes that were asked for. Returns 0 and notes damage if no living block begins
/// there.
std::size_t size_of(void* memory);

}  // namespace heap_guard
}  // namespace ropewalk::harness
