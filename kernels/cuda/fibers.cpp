#include "kernels/cuda/fibers.h"

#include <ucontext.h>

#include <cstring>
#include <new>
#include <string_view>

// The sanitizers follow a thread from stack to stack only if they are told.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ROPEWALK_ASAN
#endif
#if __has_feature(thread_sanitizer)
#define ROPEWALK_TSAN
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define ROPEWALK_ASAN
#endif
#if defined(__SANITIZE_THREAD__)
#define ROPEWALK_TSAN
#endif
#ifdef ROPEWALK_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef ROPEWALK_TSAN
#include <sanitizer/tsan_interface.h>
#endif

namespace ropewalk::cuda {
namespace detail {

// Room for a body, and for a signal handler on top of it. AddressSanitizer makes frames larger.
#ifdef ROPEWALK_ASAN
constexpr std::size_t stack_bytes = 64 * 1024;
#else
constexpr std::size_t stack_bytes = 32 * 1024;
#endif

enum class Waiting : std::uint32_t { no, for_block, for_warp, finished };

struct Fiber {
  ucontext_t context;
  Fibers* fibers;
  Lane lane;
  std::uint32_t number, warp, epoch;
  Waiting waiting;
  Team::Place place;
  std::uint64_t value, taken;  // given to the collective, and taken from it
  std::uint32_t source;        // the lane of the warp to take from
  void* stack;
#ifdef ROPEWALK_ASAN
  void* fake_stack;
#endif
#ifdef ROPEWALK_TSAN
  void* tsan;
#endif
};

class Fibers {
 public:
  Fibers(const Grid& grid, const Extent& block, const TeamMemory& memory, LaunchFault& fault,
         RunLane run, const void* body);
  Fibers(const Fibers&) = delete;
  Fibers& operator=(const Fibers&) = delete;
  ~Fibers();

  void run_all(ThreadOrder at, const void* order);
  void wait(Fiber& fiber, Waiting what, const Team::Place& place);
  void* shared() const { return shared_; }
  std::uint32_t threads() const { return threads_; }

 private:
  void make(std::uint32_t i, const Grid& grid, const Extent& block);
  static void enter(unsigned high, unsigned low);
  void resume(Fiber& fiber);
  void leave(Fiber& fiber);  // back to the scheduler
  bool release_warps();
  bool release_warp(std::uint32_t first, std::uint32_t end);
  bool release_block();
  void report_left();

  Fiber* fibers_;
  std::byte* stacks_;
  void* shared_;
  std::uint32_t threads_;
  LaunchFault* fault_;
  RunLane run_;
  const void* body_;
  ucontext_t scheduler_;
#ifdef ROPEWALK_ASAN
  void* fake_stack_ = nullptr;
  const void* thread_stack_ = nullptr;
  std::size_t thread_stack_bytes_ = 0;
#endif
#ifdef ROPEWALK_TSAN
  void* tsan_ = nullptr;
#endif
};

namespace {

std::size_t rounded(std::size_t bytes) {
  return (bytes + 63) / 64 * 64;
}

bool same(const Team::Place& a, const Team::Place& b) {
  return a.line == b.line && std::string_view(a.file) == b.file;
}

}  // namespace

Fibers::Fibers(const Grid& grid, const Extent& block, const TeamMemory& memory, LaunchFault& fault,
               RunLane run, const void* body)
    : threads_(static_cast<std::uint32_t>(count_of(grid.threads))),
      fault_(&fault),
      run_(run),
      body_(body) {
  auto* at = static_cast<std::byte*>(memory.memory);
  stacks_ = at;
  at += std::size_t{threads_} * stack_bytes;
  shared_ = at;
  at += rounded(memory.shared_bytes);
  fibers_ = reinterpret_cast<Fiber*>(at);
  for (std::uint32_t i = 0; i < threads_; ++i) make(i, grid, block);
#ifdef ROPEWALK_TSAN
  tsan_ = __tsan_get_current_fiber();
#endif
}

void Fibers::make(std::uint32_t i, const Grid& grid, const Extent& block) {
  auto* fiber = new (&fibers_[i]) Fiber{};
  fiber->fibers = this;
  fiber->lane = {block, index_of(grid.threads, i), grid.blocks, grid.threads};
  fiber->number = i;
  fiber->warp = i / lanes_of_warp;
  fiber->stack = stacks_ + i * stack_bytes;
  getcontext(&fiber->context);
  fiber->context.uc_stack.ss_sp = fiber->stack;
  fiber->context.uc_stack.ss_size = stack_bytes;
  fiber->context.uc_link = nullptr;
  const auto address = reinterpret_cast<std::uintptr_t>(fiber);
  makecontext(&fiber->context, reinterpret_cast<void (*)()>(enter), 2,
              static_cast<unsigned>(address >> 32), static_cast<unsigned>(address));
#ifdef ROPEWALK_TSAN
  fiber->tsan = __tsan_create_fiber(0);
#endif
}

Fibers::~Fibers() {
#ifdef ROPEWALK_TSAN
  for (std::uint32_t i = 0; i < threads_; ++i) __tsan_destroy_fiber(fibers_[i].tsan);
#endif
#ifdef ROPEWALK_ASAN
  // No lane returned from its first function, and after a fault from none.
  __asan_unpoison_memory_region(stacks_, std::size_t{threads_} * stack_bytes);
#endif
}

// The first function of a lane. Its argument comes in two halves, as makecontext passes ints.
void Fibers::enter(unsigned high, unsigned low) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): two halves of a pointer
  auto& fiber = *reinterpret_cast<Fiber*>(std::uintptr_t{high} << 32 | low);
  Fibers& fibers = *fiber.fibers;
#ifdef ROPEWALK_ASAN
  __sanitizer_finish_switch_fiber(nullptr, &fibers.thread_stack_, &fibers.thread_stack_bytes_);
#endif
  Team team(fibers, fiber);
  fibers.run_(fibers.body_, fiber.lane, team);
  fiber.waiting = Waiting::finished;
  fibers.leave(fiber);
}

void Fibers::resume(Fiber& fiber) {
#ifdef ROPEWALK_ASAN
  __sanitizer_start_switch_fiber(&fake_stack_, fiber.stack, stack_bytes);
#endif
#ifdef ROPEWALK_TSAN
  __tsan_switch_to_fiber(fiber.tsan, 0);
#endif
  swapcontext(&scheduler_, &fiber.context);
#ifdef ROPEWALK_ASAN
  __sanitizer_finish_switch_fiber(fake_stack_, nullptr, nullptr);
#endif
}

void Fibers::leave(Fiber& fiber) {
#ifdef ROPEWALK_ASAN
  const bool ends = fiber.waiting == Waiting::finished;
  __sanitizer_start_switch_fiber(ends ? nullptr : &fiber.fake_stack, thread_stack_,
                                 thread_stack_bytes_);
#endif
#ifdef ROPEWALK_TSAN
  __tsan_switch_to_fiber(tsan_, 0);
#endif
  swapcontext(&fiber.context, &scheduler_);
#ifdef ROPEWALK_ASAN
  __sanitizer_finish_switch_fiber(fiber.fake_stack, &thread_stack_, &thread_stack_bytes_);
#endif
}

void Fibers::wait(Fiber& fiber, Waiting what, const Team::Place& place) {
  fiber.waiting = what;
  fiber.place = place;
  leave(fiber);
}

// Runs each lane up to where it waits, then lets those go on whose others have come, and so on.
void Fibers::run_all(ThreadOrder at, const void* order) {
  while (!fault_->met()) {
    bool ran = false;
    for (std::uint64_t i = 0; i < threads_ && !fault_->met(); ++i) {
      Fiber& fiber = fibers_[at(order, i)];
      if (fiber.waiting != Waiting::no) continue;
      ran = true;
      resume(fiber);
    }
    if (fault_->met() || release_warps() || release_block()) continue;
    if (!ran) return report_left();
  }
}

bool Fibers::release_warps() {
  bool released = false;
  for (std::uint32_t first = 0; first < threads_; first += lanes_of_warp) {
    const std::uint32_t end = first + lanes_of_warp < threads_ ? first + lanes_of_warp : threads_;
    released = release_warp(first, end) || released;
  }
  return released;
}

// Hands round the values of a warp whose lanes all wait in the same place.
bool Fibers::release_warp(std::uint32_t first, std::uint32_t end) {
  for (std::uint32_t i = first; i < end; ++i)
    if (fibers_[i].waiting != Waiting::for_warp || !same(fibers_[i].place, fibers_[first].place))
      return false;
  for (std::uint32_t i = first; i < end; ++i) {
    Fiber& fiber = fibers_[i];
    if (fiber.source >= end - first) {
      fault_->say("block %u thread %u takes from lane %u of a warp of %u", fiber.lane.block.x, i,
                  fiber.source, end - first);
      return false;
    }
    fiber.taken = fibers_[first + fiber.source].value;
  }
  for (std::uint32_t i = first; i < end; ++i) fibers_[i].waiting = Waiting::no;
  return true;
}

bool Fibers::release_block() {
  for (std::uint32_t i = 0; i < threads_; ++i)
    if (fibers_[i].waiting != Waiting::for_block || !same(fibers_[i].place, fibers_[0].place))
      return false;
  for (std::uint32_t i = 0; i < threads_; ++i) {
    fibers_[i].waiting = Waiting::no;
    ++fibers_[i].epoch;
  }
  return true;
}

// No lane can go on. If one still waits, others have left what it waits for.
void Fibers::report_left() {
  for (std::uint32_t i = 0; i < threads_; ++i) {
    const Fiber& fiber = fibers_[i];
    if (fiber.waiting == Waiting::finished) continue;
    const bool warp = fiber.waiting == Waiting::for_warp;
    const std::uint32_t first = warp ? fiber.warp * lanes_of_warp : 0;
    const std::uint32_t end =
        warp && first + lanes_of_warp < threads_ ? first + lanes_of_warp : threads_;
    std::uint32_t left = 0;
    for (std::uint32_t j = first; j < end; ++j)
      if (fibers_[j].waiting != fiber.waiting || !same(fibers_[j].place, fiber.place)) ++left;
    return fault_->say("block %u thread %u waits in line %u at a %s that %u of %u lanes have left",
                       fiber.lane.block.x, i, fiber.place.line,
                       warp ? "collective of its warp" : "barrier", left, end - first);
  }
}

void run_block(const Grid& grid, const Extent& block, const TeamMemory& memory, LaunchFault& fault,
               RunLane run, const void* body, ThreadOrder at, const void* order) {
  if (memory.bytes < TeamMemory::bytes_for(grid.threads, memory.shared_bytes))
    return fault.say("the memory of a block has no room for its fibers");
  Fibers fibers(grid, block, memory, fault, run, body);
  fibers.run_all(at, order);
}

}  // namespace detail

std::size_t TeamMemory::bytes_for(const Extent& threads, std::size_t shared_bytes) {
  return static_cast<std::size_t>(count_of(threads)) *
             (detail::stack_bytes + sizeof(detail::Fiber)) +
         detail::rounded(shared_bytes);
}

void Team::barrier(const Place& place) {
  fibers_->wait(*fiber_, detail::Waiting::for_block, place);
}

std::uint64_t Team::exchange(std::uint64_t bits, std::uint32_t source, const Place& place) {
  fiber_->value = bits;
  fiber_->source = source;
  fibers_->wait(*fiber_, detail::Waiting::for_warp, place);
  return fiber_->taken;
}

void* Team::shared() const {
  return fibers_->shared();
}
std::uint32_t Team::lane_of_warp() const {
  return fiber_->number % lanes_of_warp;
}
std::uint32_t Team::epoch() const {
  return fiber_->epoch;
}

}  // namespace ropewalk::cuda
