// A plugin for tests. Each of its kernels damages the heap in one way, and one uses all of the
// allocator correctly. None of them rotates anything.
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "kernels/api/kernel.h"

namespace ropewalk {
namespace {

std::int32_t always(const rope_problem*, const char**) {
  return ROPE_OK;
}
std::int32_t do_nothing(const rope_problem*, const rope_operands*, void*) {
  return ROPE_OK;
}

// The compiler knows what the allocator does and warns of these errors. These functions hide them.
template <class Value>
Value unknown(Value value) {
  asm volatile("" : "+r"(value));
  return value;
}
char* hidden(void* memory) {
  return static_cast<char*>(unknown(memory));
}
void write(char* at, std::ptrdiff_t from, std::ptrdiff_t to) {
  for (std::ptrdiff_t i = from; i < to; ++i) static_cast<volatile char*>(at)[i] = 1;
}
volatile char sink;
void read(const char* at, std::ptrdiff_t from, std::ptrdiff_t to) {
  for (std::ptrdiff_t i = from; i < to; ++i) sink = static_cast<const volatile char*>(at)[i];
}

// A kernel whose prepare is this. Its state is freed, unless it is NULL.
template <class Prepare>
KernelInfo with_prepare(const char* name, Prepare) {
  KernelInfo k{.name = name, .supports = always, .apply = do_nothing};
  k.prepare = [](const rope_problem*, void** state) -> std::int32_t {
    *state = nullptr;
    Prepare{}(*state);
    return ROPE_OK;
  };
  k.release = [](void* state) { std::free(state); };
  return k;
}
template <class Prepare>
RegisteredKernel heap(const char* name, Prepare prepare) {
  return RegisteredKernel(with_prepare(name, prepare));
}

const auto overruns = heap("heap_overruns", [](void*& state) {
  state = std::malloc(24);
  write(hidden(state), 24, 4024);
});
const auto far_past = heap("heap_writes_far_past", [](void*& state) {
  state = std::malloc(24);
  constexpr std::ptrdiff_t far = std::ptrdiff_t{8} << 30;
  write(hidden(state), far, far + 1);
});
// Keeps 10,000 blocks from its first prepare, and overruns the oldest without pages in the second.
const auto old = heap("heap_overruns_an_old_one", [](void*&) {
  static char* oldest = nullptr;
  if (oldest != nullptr) return write(oldest, 40, 4040);
  for (int i = 0; i < 10'000; ++i) {
    char* const kept = hidden(std::malloc(40));
    if (i == 40) oldest = kept;
  }
});
const auto by_one = heap("heap_overruns_by_one", [](void*& state) {
  state = std::malloc(25);
  write(hidden(state), 25, 26);
});
const auto before = heap("heap_writes_before", [](void*& state) {
  state = std::malloc(24);
  write(hidden(state), -8, 0);
});
const auto reads = heap("heap_reads_past", [](void*& state) {
  state = std::malloc(4000);
  read(hidden(state), 4000, 4100);
});
const auto many = heap("heap_overruns_the_last_of_many", [](void*& state) {
  for (int i = 0; i < 1000; ++i) state = std::malloc(40);
  write(hidden(state), 40, 48);
});
const auto twice = heap("heap_frees_twice", [](void*&) {
  char* const memory = hidden(std::malloc(100));
  char* const again = hidden(memory);
  std::free(memory);
  std::free(again);
});
const auto inside =
    heap("heap_frees_inside", [](void*&) { std::free(hidden(std::malloc(100)) + 16); });
const auto freed = heap("heap_reads_freed", [](void*&) {
  char* const memory = hidden(std::malloc(100));
  const char* const kept = hidden(memory);
  std::free(memory);
  read(kept, 0, 1);
});
const auto throws = heap("heap_overruns_and_throws", [](void*& state) {
  state = std::malloc(25);
  write(hidden(state), 25, 26);
  throw std::runtime_error("too late");
});
KernelInfo in_apply() {
  KernelInfo k = with_prepare("heap_overruns_in_apply", [](void*& s) { s = std::malloc(64); });
  k.apply = [](const rope_problem*, const rope_operands*, void* state) {
    write(hidden(state), 64, 68);
    return std::int32_t{ROPE_OK};
  };
  return k;
}
const RegisteredKernel later{in_apply()};

// ---- uses all of it, correctly

char* const from_the_constructor = hidden(std::malloc(48));
char* grown = hidden(std::malloc(8));
bool all_are(const char* at, std::size_t bytes, char value) {
  return std::all_of(at, at + bytes, [&](char c) { return c == value; });
}

bool sizes_and_contents() {
  char* fresh = hidden(std::malloc(64));
  bool good = malloc_usable_size(fresh) >= 64;
  std::memset(fresh, 7, 64);
  fresh = hidden(std::realloc(fresh, 100'000));
  good = good && all_are(fresh, 64, 7);
  fresh = hidden(std::realloc(fresh, 3));
  good = good && all_are(fresh, 3, 7);
  fresh = hidden(reallocarray(fresh, 10, 10));
  good = good && all_are(fresh, 3, 7);
  std::free(fresh);
  char* const zeros = hidden(std::calloc(1000, 77));
  good = good && all_are(zeros, 77'000, 0);
  std::free(zeros);
  good = good && hidden(std::calloc(unknown(SIZE_MAX / 2), 4)) == nullptr;
  good = good && hidden(std::malloc(unknown(SIZE_MAX / 2))) == nullptr;
  std::free(std::malloc(0));  // NOLINT(clang-analyzer-optin.portability.UnixAPI): on purpose
  std::free(std::realloc(nullptr, 10));
  std::free(nullptr);
  for (int i = 0; i < 40; ++i) {
    char* const text = strdup("forty years on the ropewalk");
    good = good && std::strcmp(text, "forty years on the ropewalk") == 0;
    std::free(text);
  }
  return good;
}

bool alignments() {
  bool good = true;
  const auto take = [&](void* memory, std::size_t alignment, std::size_t bytes) {
    good = good && memory != nullptr && reinterpret_cast<std::uintptr_t>(memory) % alignment == 0;
    if (memory != nullptr) std::memset(memory, 3, bytes);
    std::free(memory);
  };
  for (std::size_t alignment = 16; alignment <= std::size_t{1} << 21; alignment *= 2)
    for (const std::size_t bytes : {std::size_t{1}, std::size_t{100}, 3 * alignment}) {
      take(memalign(alignment, bytes), alignment, bytes);
      take(std::aligned_alloc(alignment, bytes), alignment, bytes);
      void* memory = nullptr;
      good = good && posix_memalign(&memory, alignment, bytes) == 0;
      take(memory, alignment, bytes);
    }
  take(valloc(10), 4096, 10);
  take(pvalloc(10), 4096, 4096);
  void* none = nullptr;
  good = good && posix_memalign(&none, 3, 10) == EINVAL && none == nullptr;
  struct alignas(256) Wide {
    char bytes[256];
  };
  return good && reinterpret_cast<std::uintptr_t>(std::make_unique<Wide>().get()) % 256 == 0;
}

bool much() {
  const std::size_t large = std::size_t{100} << 20;
  char* const memory = hidden(std::malloc(large));
  memory[0] = memory[large - 1] = 1;
  std::free(memory);
  std::vector<char*> blocks;
  for (std::size_t i = 0; i < 20'000; ++i) {
    blocks.push_back(hidden(std::malloc(1 + i % 500)));
    std::memset(blocks.back(), static_cast<char>(i), 1 + i % 500);
  }
  bool good = true;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    good = good && all_are(blocks[i], 1 + i % 500, static_cast<char>(i));
    std::free(blocks[i]);
  }
  std::map<int, std::string> nodes;
  for (int i = 0; i < 500; ++i) nodes[i] = std::string(static_cast<std::size_t>(i), 'x');
  return good && nodes.size() == 500;
}

bool threads_and_processes() {
  // NOLINTNEXTLINE(clang-analyzer-unix.Malloc): the first thread frees it
  char* given = hidden(std::malloc(100));
  std::vector<std::thread> threads;
  std::vector<char*> taken(4);
  for (std::size_t i = 0; i < taken.size(); ++i)
    threads.emplace_back([&, i] {
      for (int n = 1; n <= 100; ++n) std::free(std::malloc(static_cast<std::size_t>(n)));
      if (i == 0) std::free(given);
      taken[i] = hidden(std::malloc(50));
      thread_local std::vector<int> own(1000, 1);
      own.push_back(1);
    });
  for (std::thread& thread : threads) thread.join();
  for (char* memory : taken) std::free(memory);
  const pid_t child = fork();
  if (child == 0) {
    std::free(std::malloc(10));
    _exit(5);
  }
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 5;
}

bool libraries() {
  bool good = false;
  try {
    throw std::runtime_error(std::string(100, 'x'));
  } catch (const std::runtime_error& e) {
    good = std::strlen(e.what()) == 100;
  }
  if (std::FILE* const file = std::fopen("/dev/null", "r")) std::fclose(file);
  return good;
}

char* once = nullptr;  // kept until the process ends

std::int32_t use_everything(const rope_problem*, void** state) {
  if (once == nullptr) {
    once = hidden(std::malloc(1000));
    std::free(from_the_constructor);
  }
  grown = hidden(std::realloc(grown, 100));
  *state = std::malloc(10);
  std::memset(*state, 1, 10);
  const bool good =
      sizes_and_contents() && alignments() && much() && threads_and_processes() && libraries();
  return good ? ROPE_OK : ROPE_FAILED;
}
KernelInfo answering(const char* name, decltype(rope_kernel::prepare) prepare) {
  KernelInfo k = with_prepare(name, [](void*&) {});
  k.prepare = prepare;
  return k;
}
const RegisteredKernel right{answering("heap_right", use_everything)};
const RegisteredKernel fresh{answering("heap_fresh", [](const rope_problem*, void** state) {
  *state = std::malloc(64);
  return std::int32_t{all_are(hidden(*state), 64, '\xff') ? ROPE_OK : ROPE_FAILED};
})};

}  // namespace
}  // namespace ropewalk

ROPEWALK_PLUGIN();
