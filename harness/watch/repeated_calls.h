// Repeats the same calls of apply, by one caller or by several at once. Each call must give the
// bits of a call made alone.
//
// Several callers find a race only if their calls overlap. So the calls that overlap another call
// are counted. The callers continue until there were enough of them, or until `longest` has passed.
// A quarter of a second is many slices of a scheduler. So even on one processor some call is
// interrupted by another. One caller has the time of protocol::repeat_limit_s.
#pragma once
#include <sched.h>
#include <time.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "harness/process/step_failed.h"
#include "harness/process/writable_memory.h"
#include "harness/protocol.h"
#include "harness/watch/entries.h"
#include "harness/watch/shown_problem.h"
#include "kernels/api/rope_kernel.h"

namespace ropewalk::harness {

/// The arguments of one caller, its state, and the memory that it lets the kernel write.
struct CallSite {
  rope_problem problem;
  rope_operands operands;
  WritableMemory writable;
  WritableMemory caches;  ///< as a whole, where others may write other slots at the same time
  void* state;
};

/// Adds the slots of its caches that a call may write.
inline void add_slots(const rope_problem& p, const rope_operands& o, WritableMemory& to) {
  const rope_append* const append = append_of(p);
  if (append == nullptr) return;
  rope_append_operands given = *append_of(o);
  const auto slot_bytes = data_type(Dtype{append->slot_dtype}).bytes;
  const MemorySpace::Bytes slots =  // the kernel's memory may be a device's
      to.space().copy(static_cast<const std::byte*>(given.slot),
                      static_cast<std::size_t>(p.batch * p.tokens * slot_bytes));
  given.slot = slots.data();
  for (std::uint32_t i = 0; i < p.tensor_count; ++i) {
    const rope_tensor& t = p.tensor[i];
    const auto bytes = data_type(Dtype{t.out_dtype}).bytes;
    for (std::int64_t token = 0; token < p.batch * p.tokens && marks(append, i); ++token) {
      const std::int64_t slot = slot_at(*append, given, token);
      for (std::int64_t h = 0; h < t.heads && slot >= 0; ++h)
        to.add(static_cast<std::byte*>(given.cache[i]) +
                   (cache_index(*append, i, slot) + h * append->head_stride[i]) * bytes,
               static_cast<std::size_t>(t.head_dim * bytes));
    }
  }
}

class RepeatedCalls {
 public:
  explicit RepeatedCalls(const rope_kernel& kernel) : kernel_(kernel) {}

  /// If the caller is alone, `first_call` makes its first call, with the site's operands. The
  /// memory is kept as it was before this call and after it. Several callers make their first calls
  /// together, to show a race in what a state makes at its first call.
  template <class FirstCall>
  void add(CallSite site, bool alone, FirstCall&& first_call) {
    Caller caller{site.problem, site.operands, std::move(site), {}, {}, {}, {}};
    caller.before = caller.site.writable.copy();
    caller.caches_before = caller.site.caches.copy();
    if (alone) {
      first_call();
      caller.after = caller.site.writable.copy();
    }
    callers_.push_back(std::move(caller));
  }

  /// Returns the number of calls made (one caller) or of calls that overlapped another. `failure()`
  /// tells what differed.
  std::uint64_t run(std::uint64_t rounds) {
    const std::uint64_t wanted = rounds * callers_.size();
    counted_ = 0;
    deadline_ = Clock::now() + longest;
    if (callers_.size() == 1) {
      waiting_ = 0;
      began_s_ = thread_s();
      work(callers_[0], wanted, true);
      return counted_;
    }
    waiting_ = callers_.size();
    std::vector<std::thread> threads;
    for (Caller& caller : callers_)
      threads.emplace_back([this, &caller, wanted, number = threads.size()] {
        move_to_processor(number);
        work(caller, wanted, false);
      });
    for (std::thread& thread : threads) thread.join();
    // Several callers made their first calls together. The bits they agreed on must be those of a
    // call made alone.
    for (Caller& caller : callers_) {
      if (!caller.failure.empty() || caller.after.empty()) continue;
      if (caller.site.writable.space().is_lost()) break;
      caller.site.writable.restore(caller.before);
      caller.failure = call_once(caller);
      if (caller.failure.empty() && !difference(caller, 1).empty())
        caller.failure =
            "the first call, made beside others, gave other bits than a call made alone";
    }
    hold_caches();
    return counted_;
  }

  /// What went wrong, from the first caller that failed; empty: nothing.
  std::string failure() const {
    for (std::size_t i = 0; i < callers_.size(); ++i)
      if (!callers_[i].failure.empty())
        return callers_.size() == 1
                   ? callers_[i].failure
                   : "caller " + std::to_string(i) + " of " + std::to_string(callers_.size()) +
                         " at once: " + callers_[i].failure;
    return {};
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds longest{250};

  struct Caller {
    rope_problem shown_problem;  // those of the site must stay equal to these
    rope_operands shown_operands;
    CallSite site;
    WritableMemory::Copy before, after, caches_before;
    std::string failure;
  };

  // Callers write slots of their own, and nothing else of a cache.
  void hold_caches() {
    for (const Caller& caller : callers_) {
      if (!caller.failure.empty() || caller.site.writable.space().is_lost()) return;
      caller.site.writable.restore(caller.before);
    }
    for (Caller& caller : callers_)
      if (!caller.site.caches.equals(caller.caches_before))
        caller.failure = "the calls changed what is no slot of theirs in a cache";
  }

  // Memory of a device may fail between the calls as well.
  void work(Caller& caller, std::uint64_t wanted, bool alone) {
    try {
      if (!alone) begin_together(caller);
      repeat(caller, wanted, alone);
    } catch (const StepFailed& failure) {
      caller.failure = failure.text;
      stop_ = true;
    } catch (const abi::__forced_unwind&) {  // must be rethrown
      caller.failure = "apply ended the thread it was called on (pthread_exit)";
      stop_ = true;
      throw;
    }
  }

  // Callers begin on processors of their own, if there are several. The scheduler may move them.
  static void move_to_processor(std::size_t number) {
    cpu_set_t all, one;
    if (sched_getaffinity(0, sizeof all, &all) != 0 || CPU_COUNT(&all) < 2) return;
    number %= static_cast<std::size_t>(CPU_COUNT(&all));
    std::size_t processor = 0;
    while (!CPU_ISSET(processor, &all) || number-- > 0) ++processor;
    CPU_ZERO(&one);
    CPU_SET(processor, &one);
    sched_setaffinity(0, sizeof one, &one);
    sched_setaffinity(0, sizeof all, &all);
  }

  // No caller begins before all are ready.
  void begin_together(const Caller& caller) {
    const auto wait_for_others = [&] {
      --waiting_;
      // Callers begin as near to each other as they can, so at first none gives its place up.
      for (int look = 0; waiting_ > 0; ++look)
        if (look > 10'000) std::this_thread::yield();
    };
    try {
      caller.site.writable.space().begin_thread();
    } catch (const StepFailed&) {
      wait_for_others();
      throw;
    }
    wait_for_others();
  }

  void repeat(Caller& caller, std::uint64_t wanted, bool alone) {
    for (std::uint64_t call = alone ? 2 : 1; !stop_ && counted_ < wanted && has_time(alone);
         ++call) {
      if (alone || call > 1) caller.site.writable.restore(caller.before);  // or it is as it was
      caller.site.writable.space().add_load();
      const bool met_one = inside_.fetch_add(1) > 0;
      caller.failure = call_once(caller);
      const bool met_later = inside_.fetch_sub(1) > 1;
      if (alone || met_one || met_later) ++counted_;
      if (caller.after.empty()) caller.after = caller.site.writable.copy();
      if (caller.failure.empty()) caller.failure = difference(caller, call);
      if (!caller.failure.empty()) stop_ = true;
    }
  }

  static double thread_s() {  // of the processor
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  }

  // On a crowded machine several callers may take longer, until a first call has overlapped
  // another, and one caller may wait for the processor.
  bool has_time(bool alone) const {
    if (alone && thread_s() - began_s_ >= protocol::repeat_limit_s) return false;
    constexpr std::chrono::duration<double> more(10 * protocol::repeat_limit_s);
    if (alone) return Clock::now() < deadline_ + more;
    const auto now = Clock::now();
    return now < deadline_ || (counted_ == 0 && now < deadline_ + 20 * longest);
  }

  std::string call_once(Caller& caller) {
    std::string changed;
    const auto failed = failure_of([&] {
      const std::int32_t answer = enter_on_thread(Entry::apply, kernel_.apply, &caller.site.problem,
                                                  &caller.site.operands, caller.site.state);
      changed = caller.site.writable.space().left_changed();
      caller.site.writable.space().wait(caller.site.operands.stream);
      if (!changed.empty()) entry_failed(Entry::apply, changed);
      if (!same_bytes(caller.site.problem, caller.shown_problem) ||
          !same_bytes(caller.site.operands, caller.shown_operands))
        entry_failed(Entry::apply, "wrote into rope_problem or rope_operands");
      hold_answer(Entry::apply, answer);
    });
    return failed ? failed->text : "";
  }

  static std::string difference(const Caller& caller, std::uint64_t call) {
    if (caller.site.writable.equals(caller.after)) return {};
    return "call " + std::to_string(call) + " with the same input gave other bits than call 1";
  }

  const rope_kernel& kernel_;
  std::vector<Caller> callers_;
  Clock::time_point deadline_;
  double began_s_ = 0;  // of one caller
  std::atomic<std::uint64_t> waiting_{0}, inside_{0}, counted_{0};
  std::atomic<bool> stop_{false};
};

}  // namespace ropewalk::harness
