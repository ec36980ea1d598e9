#include "harness/watch/heap_watch.h"

#include <dlfcn.h>
#include <elf.h>
#include <fmt/format.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <sys/auxv.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "harness/process/guarded_mapping.h"
#include "harness/watch/heap_guard.h"

namespace ropewalk::harness {
namespace {

constinit std::atomic<bool> watching{false};
constinit std::atomic<bool> loader_called{false};
constinit std::atomic<std::uint64_t> calls{0};
constinit std::atomic<const char*> first_function{nullptr};
constinit std::atomic<std::size_t> first_bytes{0};

void note(const char* function, std::size_t bytes) {
  if (calls.fetch_add(1, std::memory_order_relaxed) != 0) return;
  first_function = function;
  first_bytes = bytes;
}

}  // namespace

void begin_heap_watch() {
  calls = 0;
  loader_called = false;
  watching = true;
}

bool loader_has_allocated() {
  return loader_called;
}

std::uint64_t heap_calls() {
  return calls;
}

std::string end_heap_watch() {
  watching = false;
  const std::uint64_t count = calls;
  if (count == 0) return {};
  const std::string function = first_function.load();
  const std::string first =
      function == "free" ? function : fmt::format("{} for {} bytes", function, first_bytes.load());
  if (count == 1) return "called " + first;
  return fmt::format("called the allocator {} times, first {}", count, first);
}

}  // namespace ropewalk::harness

#if defined(ROPEWALK_SANITIZED)

// The sanitizer replaces malloc and reports its calls. The symbol is weak, because UBSan alone has
// no allocator. The loader allocates a thread_local variable at its first use, which looks like the
// kernel's own call. So the first two calls of a process are forgiven.
extern "C" [[gnu::weak]] int __sanitizer_install_malloc_and_free_hooks(  // NOLINT: its own name
    void (*on_malloc)(const volatile void*, std::size_t), void (*on_free)(const volatile void*));

namespace ropewalk::harness {
namespace {

void note_unless_loader(const char* function, std::size_t bytes) {
  static std::atomic<int> forgiven{0};
  if (watching.load() && forgiven.fetch_add(1) >= 2) note(function, bytes);
}

}  // namespace

bool heap_is_watched() {
  static const bool installed =
      __sanitizer_install_malloc_and_free_hooks != nullptr &&
      __sanitizer_install_malloc_and_free_hooks(
          [](const volatile void*, std::size_t bytes) { note_unless_loader("malloc", bytes); },
          [](const volatile void* memory) {
            if (memory != nullptr) note_unless_loader("free", 0);
          }) != 0;
  return installed;
}

}  // namespace ropewalk::harness

#elif defined(__GLIBC__)

namespace ropewalk::harness {
namespace {

// The address range of a library.
struct Image {
  std::uintptr_t begin, end = 0;
  explicit Image(std::uintptr_t base) : begin(base) {
    if (begin == 0) return;
    const auto* header = reinterpret_cast<const ElfW(Ehdr)*>(begin);  // NOLINT: an integer is given
    const auto* part = reinterpret_cast<const ElfW(Phdr)*>(begin + header->e_phoff);  // NOLINT
    for (int i = 0; i < header->e_phnum; ++i)
      if (part[i].p_type == PT_LOAD)
        end = std::max<std::uintptr_t>(end, begin + part[i].p_vaddr + part[i].p_memsz);
  }
  bool holds(std::uintptr_t address) const { return address >= begin && address < end; }
};

std::uintptr_t base_of_libc() {
  Dl_info info{};
  const bool found = dladdr(reinterpret_cast<const void*>(&gnu_get_libc_version), &info) != 0;
  return found ? reinterpret_cast<std::uintptr_t>(info.dli_fbase) : 0;
}

// Two kinds of calls are not the kernel's. The dynamic loader allocates a library's thread_local
// variables when a thread first touches one. The C library notes the destructor of a static when
// its function is first called. Its list grows by 32 places, and the command's own statics fill it.
const Image loader(getauxval(AT_BASE)), libc(base_of_libc());
constexpr std::size_t places_for_destructors_bytes = 2 * 8 + 32 * 4 * 8;

void note_call(const char* function, std::size_t bytes, const void* caller) {
  const auto address = reinterpret_cast<std::uintptr_t>(caller);
  if (loader.holds(address) || (bytes == places_for_destructors_bytes && libc.holds(address)))
    loader_called = true;
  else
    note(function, bytes);
}

// The caller's guarded block, or nullptr if this call must not be guarded. Calls of the loader are
// its own.
void* guarded(const char* function, std::size_t bytes, std::size_t alignment, bool zero,
              const void* caller) {
  if (loader.holds(reinterpret_cast<std::uintptr_t>(caller))) return nullptr;
  return heap_guard::allocate(function, bytes, alignment, zero);
}

bool is_power_of_two(std::size_t n) {
  return n != 0 && (n & (n - 1)) == 0;
}

}  // namespace

bool heap_is_watched() {
  static const bool comes_first = [] {
    Dl_info found{}, own{};
    return dladdr(dlsym(RTLD_DEFAULT, "malloc"), &found) != 0 &&
           dladdr(reinterpret_cast<const void*>(&heap_is_watched), &own) != 0 &&
           found.dli_fbase == own.dli_fbase;
  }();
  return comes_first;
}

}  // namespace ropewalk::harness

// These functions have the allocator's own names, so every library of the process finds them first.
// Each takes two tests of flags and a jump to the function in glibc.
#define ROPEWALK_CALLER __builtin_extract_return_addr(__builtin_return_address(0))
#define ROPEWALK_NOTE(bytes)                                                    \
  if (ropewalk::harness::watching.load(std::memory_order_relaxed)) [[unlikely]] \
  ropewalk::harness::note_call(__func__, bytes, ROPEWALK_CALLER)
#define ROPEWALK_GUARD(bytes, alignment, zero)                                             \
  if (ropewalk::harness::heap_guard::is_on()) [[unlikely]]                                 \
    if (void* const block =                                                                \
            ropewalk::harness::guarded(__func__, bytes, alignment, zero, ROPEWALK_CALLER)) \
  return block

// NOLINTBEGIN: these names and types are glibc's
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void __libc_free(void*);

[[gnu::visibility("default")]] void* malloc(std::size_t bytes) noexcept {
  ROPEWALK_NOTE(bytes);
  ROPEWALK_GUARD(bytes, alignof(std::max_align_t), false);
  return __libc_malloc(bytes);
}
[[gnu::visibility("default")]] void* calloc(std::size_t count, std::size_t bytes) noexcept {
  std::size_t all = 0;
  if (__builtin_mul_overflow(count, bytes, &all)) all = SIZE_MAX;  // glibc refuses it
  ROPEWALK_NOTE(all);
  ROPEWALK_GUARD(all, alignof(std::max_align_t), true);
  return __libc_calloc(count, bytes);
}
[[gnu::visibility("default")]] void* realloc(void* memory, std::size_t bytes) noexcept {
  ROPEWALK_NOTE(bytes);
  if (memory == nullptr) ROPEWALK_GUARD(bytes, alignof(std::max_align_t), false);
  if (!ropewalk::harness::heap_guard::holds(memory)) [[likely]]
    return __libc_realloc(memory, bytes);
  if (bytes == 0) {
    ropewalk::harness::heap_guard::release(memory);
    return nullptr;
  }
  const std::size_t kept = std::min(ropewalk::harness::heap_guard::size_of(memory), bytes);
  void* moved = nullptr;
  if (ropewalk::harness::heap_guard::is_on())
    moved =
        ropewalk::harness::heap_guard::allocate(__func__, bytes, alignof(std::max_align_t), false);
  if (moved == nullptr) moved = __libc_malloc(bytes);
  if (moved == nullptr || kept == 0) return moved;
  std::memcpy(moved, memory, kept);
  ropewalk::harness::heap_guard::release(memory);
  return moved;
}
[[gnu::visibility("default")]] void* memalign(std::size_t alignment, std::size_t bytes) noexcept {
  ROPEWALK_NOTE(bytes);
  if (ropewalk::harness::is_power_of_two(alignment)) ROPEWALK_GUARD(bytes, alignment, false);
  return __libc_memalign(alignment, bytes);
}
[[gnu::visibility("default")]] void* aligned_alloc(std::size_t alignment,
                                                   std::size_t bytes) noexcept {
  ROPEWALK_NOTE(bytes);
  if (ropewalk::harness::is_power_of_two(alignment)) ROPEWALK_GUARD(bytes, alignment, false);
  return __libc_memalign(alignment, bytes);
}
[[gnu::visibility("default")]] int posix_memalign(void** memory, std::size_t alignment,
                                                  std::size_t bytes) noexcept {
  ROPEWALK_NOTE(bytes);
  if (alignment % sizeof(void*) != 0 || !ropewalk::harness::is_power_of_two(alignment))
    return EINVAL;
  void* found = nullptr;
  if (ropewalk::harness::heap_guard::is_on())
    found = ropewalk::harness::guarded(__func__, bytes, alignment, false, ROPEWALK_CALLER);
  if (found == nullptr) found = __libc_memalign(alignment, bytes);
  if (found == nullptr) return ENOMEM;
  *memory = found;
  return 0;
}
[[gnu::visibility("default")]] void* valloc(std::size_t bytes) noexcept {
  ROPEWALK_NOTE(bytes);
  ROPEWALK_GUARD(bytes, ropewalk::harness::page_bytes(), false);
  return __libc_memalign(ropewalk::harness::page_bytes(), bytes);
}
[[gnu::visibility("default")]] void* pvalloc(std::size_t bytes) noexcept {
  ROPEWALK_NOTE(bytes);
  const std::size_t page = ropewalk::harness::page_bytes();
  const std::size_t whole = bytes > SIZE_MAX - page ? bytes : (bytes + page - 1) / page * page;
  ROPEWALK_GUARD(whole, page, false);
  return __libc_memalign(page, whole);
}
[[gnu::visibility("default")]] std::size_t malloc_usable_size(void* memory) noexcept {
  if (ropewalk::harness::heap_guard::holds(memory))
    return ropewalk::harness::heap_guard::size_of(memory);
  static const auto of_glibc =
      reinterpret_cast<std::size_t (*)(void*)>(dlsym(RTLD_NEXT, "malloc_usable_size"));
  return of_glibc != nullptr ? of_glibc(memory) : 0;
}
[[gnu::visibility("default")]] void free(void* memory) noexcept {
  if (memory != nullptr) ROPEWALK_NOTE(0);
  if (ropewalk::harness::heap_guard::holds(memory)) [[unlikely]]
    ropewalk::harness::heap_guard::release(memory);
  else
    __libc_free(memory);
}
}
// NOLINTEND

#else

namespace ropewalk::harness {

bool heap_is_watched() {
  return false;
}

}  // namespace ropewalk::harness

#endif
