// Guards what a kernel allocates while one of its entries runs: an overrun is a fault or a changed
// pattern, a use after free is a fault. docs/decisions/0028 says how, and what it cannot see.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace ropewalk::harness {

/// From here on allocations of every thread are guarded, as the doing of this entry (static text).
/// Does nothing where the worker cannot guard: a sanitizer, another libc, limited addresses.
void begin_heap_guard(const char* entry);
void end_heap_guard();

/// The first block of an entry ends at a forbidden page (true) or begins behind one; the next
/// blocks take turns. With false, a freed block's address goes to the next block of its size; with
/// true addresses only rise. A case chooses, so that its replay places every block as before.
void choose_heap_placement(bool first_at_end);

/// What was written beside a block or freed wrongly since this was last asked, in words; empty:
/// nothing.
std::string heap_damage();

/// Says in words which block a fault belongs to; false: none. For a signal handler.
bool place_in_heap(std::uintptr_t address, bool is_write, char* text, std::size_t size);

/// What the allocator's functions ask (heap_watch.cpp).
namespace heap_guard {

bool is_on();
bool holds(const void* memory);
/// nullptr: the block is beyond the budget, glibc's own allocator serves it. `alignment` is a power
/// of two; `function` is static text.
void* allocate(const char* function, std::size_t bytes, std::size_t alignment, bool zero);
void release(void* memory);
/// The bytes that were asked for; 0, and damage noted, where no living block begins.
std::size_t size_of(void* memory);

}  // namespace heap_guard
}  // namespace ropewalk::harness
