// Makes one call of a kernel inside the worker. It runs the steps and checks what the kernel must
// leave unchanged. Where the buffers lie is the matter of call_memory.h.
#pragma once
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "harness/call/descriptor.h"
#include "harness/call/operands.h"
#include "harness/process/call_memory.h"
#include "harness/process/extension_chain.h"
#include "harness/process/guarded_mapping.h"
#include "harness/process/script_host.h"
#include "harness/process/step_failed.h"
#include "harness/process/writable_memory.h"
#include "harness/protocol.h"
#include "harness/watch/entries.h"
#include "harness/watch/entry_watch.h"
#include "harness/watch/heap_guard.h"
#include "harness/watch/kernel_state.h"
#include "harness/watch/shown_problem.h"
#include "kernels/api/rope_kernel.h"

namespace ropewalk::harness {

// Repeats the same calls of apply, by one caller or by several at once. Each call must give the
// bits of a call made alone.
//
// Several callers find a race only if their calls overlap. So the calls that overlap another call
// are counted. The callers continue until there were enough of them, or until `longest` has passed.
// A quarter of a second is many slices of a scheduler. So even on one processor some call is
// interrupted by another. One caller has the time of protocol::repeat_limit_s.

/// The arguments of one caller, its state, and the memory that it lets the kernel write.
struct CallSite {
  ShownProblem problem;
  ShownStruct<rope_operands> operands;
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
    Caller caller{std::move(site), {}, {}, {}, {}};
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
      const CallSite& site = caller.site;
      const std::int32_t answer = enter_on_thread(Entry::apply, kernel_.apply, site.problem.shown(),
                                                  site.operands.shown(), site.state);
      changed = site.writable.space().left_changed();
      site.writable.space().wait(site.operands.shown()->stream);
      if (!changed.empty()) entry_failed(Entry::apply, changed);
      site.problem.hold(Entry::apply);
      site.operands.hold(Entry::apply);
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

inline void set_phase(protocol::Control& control, protocol::Phase phase) {
  control.phase = static_cast<std::uint32_t>(phase);
}

// The state between prepare and release, with what must live as long.
struct Prepared {
  const rope_kernel* kernel = nullptr;
  KernelState state;
  std::vector<GuardedMapping> held;
  std::vector<Given> of_problem;  ///< what the problem points to, copies in `held` once prepared
  ProblemNodes nodes;             ///< of the problem's chain
};

class Caller {
 public:
  /// `control` is told which entry is called and which memory the entry may reach.
  /// The buffers lie in `memory`. `has_driver`: a device's driver runs in this process.
  Caller(protocol::Control& control, CallMemory& memory, bool has_driver)
      : control_(control), memory_(memory), watch_(memory, has_driver) {}

  /// Runs the steps of the descriptor, and for step_repeat those of the following descriptors.
  /// Throws StepFailed. Returns the count of step_repeat.
  std::uint64_t run(const rope_kernel& kernel, const protocol::CallDescriptor& call,
                    std::uint32_t steps) {
    use_state(call.state);
    if (call.growth > protocol::values_behind)
      throw StepFailed{protocol::Status::failed, "no such growth"};
    growth_ = static_cast<protocol::Growth>(call.growth);
    std::uint64_t counted = 0;
    if (placed_for_ != &kernel) {
      memory_.unmap_all();
      watch_.about(&kernel);
      has_applied_ = waits_ = false;
    }
    placed_for_ = &kernel;
    set_phase(control_, protocol::Phase::copying);
    memory_.place(call, false);
    set_phase(control_, protocol::Phase::idle);
    if ((steps & (protocol::step_supports | protocol::step_prepare)) != 0) {
      hold_problem(call, (steps & protocol::step_prepare) != 0);
      hold_chain(problem_of(call), kernel);
    }
    if ((steps & protocol::step_supports) != 0) ask_supports(kernel, problem_of(call));
    if ((steps & protocol::step_prepare) != 0) prepare(kernel, call);
    if ((steps & protocol::step_apply) != 0) apply(kernel, call);
    if ((steps & protocol::step_repeat) != 0) counted = repeat(kernel, &call);
    if ((steps & protocol::step_release) != 0) {
      release(kernel, call);
      watch_.end_state();
    }
    set_phase(control_, protocol::Phase::idle);
    if ((steps & protocol::step_keep_mapped) == 0) memory_.finish();
    return counted;
  }

  /// What the entries did since the last look.
  protocol::Conduct take_conduct() { return watch_.take_conduct(); }
  bool has_conduct() const { return watch_.has_conduct(); }

  /// Call after code other than an entry ran in this process.
  void accept_output() { watch_.accept_output(); }

  /// True if the device can do nothing more in this process.
  bool is_lost() const { return memory_.is_lost(); }

  /// Ends the state without a release. True if the process is not as it was before.
  bool drop(bool in_full = true) {
    if (in_full) memory_.unmap_all();
    for (Prepared& state : states_) state = {};
    return watch_.left_changed(in_full);
  }

 private:
  void use_state(std::uint32_t number) {
    if (number >= protocol::most_states)
      throw StepFailed{protocol::Status::failed, "no such state"};
    live_ = &states_[number];
  }

  // What the problem points to must keep its address until release, so it is copied out of the
  // shared memory. If the kernel is only asked, it stays in the shared memory.
  void hold_problem(const protocol::CallDescriptor& call, bool until_release) {
    *live_ = {};
    const bool first_of_all = std::all_of(std::begin(states_), std::end(states_),
                                          [](const Prepared& s) { return s.kernel == nullptr; });
    if (first_of_all) memory_.forget_what_is_left();
    live_->nodes = call.nodes;
    for (std::size_t i = 0; i < call.given().size(); ++i) {
      const protocol::OperandPlace& operand = call.given()[i];
      if (!is_of_problem(operand.role)) continue;
      std::byte* at = memory_.address(i);
      if (until_release) {
        GuardedMapping& held = live_->held.emplace_back(operand.bytes);
        std::byte* const copy = held.data() + held.bytes() - operand.bytes;
        std::memcpy(copy, at, operand.bytes);
        held.make_read_only();
        at = copy;
      }
      control_.mapped[i] = {reinterpret_cast<std::uint64_t>(at), operand.bytes};
      live_->of_problem.push_back({operand.role, operand.tensor, at});
    }
  }

  rope_problem problem_of(const protocol::CallDescriptor& call) {
    rope_problem p = call.problem;
    for (const Given& given : live_->of_problem) set_address(p, live_->nodes, given.role, given.at);
    p.next = live_->nodes.chain();
    return p;
  }

  void ask_supports(const rope_kernel& kernel, const rope_problem& p) {
    set_phase(control_, protocol::Phase::supports);
    const char* reason = nullptr;
    const ShownProblem problem(p, growth_);
    const std::int32_t answer =
        watch_.enter(Entry::supports, kernel.supports, problem.shown(), &reason);
    problem.hold(Entry::supports);
    const std::string text = reason != nullptr ? reason : "no reason given";
    hold_supports(kernel, p, answer, text);
    if (answer == ROPE_UNSUPPORTED) throw StepFailed{protocol::Status::unsupported, text};
    hold_answer(Entry::supports, answer);
  }

  // supports is pure: an equal problem must get the same answer, also with reason == NULL.
  void hold_supports(const rope_kernel& kernel, const rope_problem& p, std::int32_t answer,
                     const std::string& text) {
    const ShownProblem elsewhere(p, growth_, true);
    const char* reason = nullptr;
    const auto hold = [&](std::int32_t again, const std::string& asked) {
      elsewhere.hold(Entry::supports);
      if (again != answer)
        throw StepFailed{protocol::Status::failed, "supports answered " + std::to_string(answer) +
                                                       " and then, asked again " + asked + ", " +
                                                       std::to_string(again)};
    };
    hold(enter_on_thread(Entry::supports, kernel.supports, elsewhere.shown(), &reason),
         "about an equal problem");
    if (answer == ROPE_UNSUPPORTED && text != (reason != nullptr ? reason : "no reason given"))
      throw StepFailed{protocol::Status::failed,
                       "supports gave two reasons for one problem: '" + text + "' and '" +
                           (reason != nullptr ? reason : "no reason given") + "'"};
    set_phase(control_, protocol::Phase::supports_without_reason);
    hold(enter_on_thread(Entry::supports, kernel.supports, elsewhere.shown(), nullptr),
         "with reason == NULL");
    set_phase(control_, protocol::Phase::supports);
  }

  void prepare(const rope_kernel& kernel, const protocol::CallDescriptor& call) {
    live_->kernel = &kernel;
    if (kernel.prepare == nullptr) return;
    set_phase(control_, protocol::Phase::prepare);
    choose_heap_placement(call.heap_at_end != 0);
    live_->state.prepare(watch_, kernel,
                         GrownProblem(problem_of(call), growth_, call.nodes_reversed != 0));
  }

  void apply(const rope_kernel& kernel, const protocol::CallDescriptor& call) {
    const bool reversed = call.workspace_at_end == 0;
    // neither is const, as a kernel may write there
    ShownProblem p(problem_of(call), growth_, reversed);
    const Workspace workspace = make_workspace(kernel, *p.shown(), call.workspace_at_end != 0);
    ShownStruct<rope_operands> o(memory_.operands(call, workspace, 0), growth_, reversed);
    apply(kernel, p, o, workspace, call);
    set_phase(control_, protocol::Phase::copying);
    memory_.collect();
    memory_.keep_what_is_left(workspace);
    set_phase(control_, protocol::Phase::idle);
  }

  // A capture that ended may have left an error in the driver, so the next call has a new process.
  StepFailed apply_failed(std::int32_t answer, const WhyFailed& told) {
    const std::string why = memory_.why_apply_failed();
    return {protocol::Status::failed, "apply answered " + std::to_string(answer) + why + told.text,
            !why.empty(), told.raised};
  }

  // One of a state's two usual calls is made as a graph, if the memory has such. The case says
  // which, once the kernel has made a plain call in this process: a kernel's code may be loaded at
  // the first one. What a framework makes in a state's first call, it makes plainly.
  bool makes_graph(const rope_kernel& kernel, const protocol::CallDescriptor& call) {
    const bool is_first = call.workspace_at_end != 0;
    const bool takes_first =
        has_applied_ && (kernel.flags & ROPE_INTERPRETED) == 0 && call.graph_first != 0;
    has_applied_ = true;
    return is_first == takes_first;
  }

  void apply(const rope_kernel& kernel, const ShownProblem& p,
             const ShownStruct<rope_operands>& operands, const Workspace& workspace,
             const protocol::CallDescriptor& call) {
    const rope_operands& o = *operands.shown();
    set_phase(control_, protocol::Phase::apply);
    std::int32_t answer = ROPE_OK;
    WhyFailed why;
    const auto make = [&](bool as_graph) {
      memory_.begin_apply(o, as_graph);
      why_failed();  // what a call of many callers may have left
      answer = watch_.enter(Entry::apply, kernel.apply, p.shown(), &o, live_->state.address());
      why = why_failed();
    };
    const bool as_graph = makes_graph(kernel, call) && !waits_;
    make(as_graph);
    // A framework may load code in a call: the next one can be captured. None can if it waits.
    if (answer != ROPE_OK && as_graph && (kernel.flags & ROPE_INTERPRETED) != 0) {
      make(false);
      if (answer == ROPE_OK) {
        memory_.wait(o.stream);
        make(true);
        waits_ = answer != ROPE_OK;
      }
      if (waits_) {
        watch_.note_waits();
        make(false);
      }
    }
    p.hold(Entry::apply);
    operands.hold(Entry::apply);
    live_->state.hold(Entry::apply);
    if (workspace.overrun())
      throw StepFailed{protocol::Status::failed, "apply wrote outside its workspace"};
    if (answer != ROPE_OK) throw apply_failed(answer, why);
    if (!why.text.empty()) watch_.note_strides(std::string(raises_at_strides) + why.text);
    memory_.launch(o);
  }

  Workspace make_workspace(const rope_kernel& kernel, const rope_problem& p, bool at_end) {
    control_.mapped[protocol::most_operands] = {};
    set_phase(control_, protocol::Phase::workspace);
    const std::size_t bytes = live_->state.workspace_bytes(watch_, kernel, p, growth_);
    return memory_.workspace(bytes, at_end);
  }

  // Every caller has its own regions and its own workspace, and the state of its descriptor.
  std::uint64_t repeat(const rope_kernel& kernel, const protocol::CallDescriptor* calls) {
    const std::uint32_t callers = calls->callers;
    if (callers < 1 || callers > protocol::most_callers)
      throw StepFailed{protocol::Status::failed, "no such number of callers"};
    RepeatedCalls repeated(kernel);
    std::vector<Workspace> workspaces;
    for (std::uint32_t i = 0; i < callers; ++i) {
      use_state(calls[i].state);
      memory_.place(calls[i], i > 0);
      const bool alone = callers == 1;
      CallSite site{ShownProblem(problem_of(calls[i])), ShownStruct<rope_operands>({}),
                    memory_.writable(calls[i], alone), memory_.writable(calls[i], !alone),
                    live_->state.address()};
      const Workspace& workspace = workspaces.emplace_back(
          make_workspace(kernel, *site.problem.shown(), calls[i].workspace_at_end != 0));
      site.operands = ShownStruct<rope_operands>(memory_.operands(calls[i], workspace, i));
      if (!alone) add_slots(*site.problem.shown(), *site.operands.shown(), site.writable);
      CallSite first = site;
      repeated.add(std::move(site), alone,
                   [&] { apply(kernel, first.problem, first.operands, workspace, calls[i]); });
    }
    set_phase(control_, protocol::Phase::apply);
    std::uint64_t counted = 0;
    // made here, as it allocates
    const std::function<void()> make_calls = [&] { counted = repeated.run(calls->rounds); };
    const auto run = [&] {
      const std::string kept = memory_.kept_by(make_calls);
      const std::string damage = heap_damage();
      if (!repeated.failure().empty())
        throw StepFailed{protocol::Status::failed, repeated.failure()};
      if (!damage.empty()) throw StepFailed{protocol::Status::failed, "apply " + damage};
      if (!kept.empty()) throw StepFailed{protocol::Status::failed, "apply " + kept, true};
    };
    // The threads of several callers are the worker's own, and starting them allocates.
    callers == 1 ? watch_.around(Entry::apply, run) : run();
    for (const Workspace& workspace : workspaces)
      if (workspace.overrun())
        throw StepFailed{protocol::Status::failed, "apply wrote outside its workspace"};
    set_phase(control_, protocol::Phase::copying);
    memory_.collect();
    return counted;
  }

  void release(const rope_kernel& kernel, const protocol::CallDescriptor& call) {
    set_phase(control_, protocol::Phase::supports);
    // the problem was supported before, and still is
    hold_supports(kernel, problem_of(call), ROPE_OK, {});
    set_phase(control_, protocol::Phase::release);
    live_->state.release(watch_);
    live_->state.hold(Entry::release);
    *live_ = {};
    const bool last_of_all = std::none_of(std::begin(states_), std::end(states_),
                                          [](const Prepared& s) { return s.kernel != nullptr; });
    // A framework's pool only grows.
    const bool counts = last_of_all && (kernel.flags & ROPE_INTERPRETED) == 0;
    const std::string kept = counts ? memory_.kept_by_states() : "";
    if (!kept.empty()) throw StepFailed{protocol::Status::failed, kept, true};
  }

  protocol::Control& control_;
  CallMemory& memory_;
  EntryWatch watch_;
  const rope_kernel* placed_for_ = nullptr;  // the kernel that the memory is placed for
  bool has_applied_ = false;                 // that kernel, in this process
  bool waits_ = false;                       // that kernel does, for its device, in its calls
  Prepared states_[protocol::most_states];
  Prepared* live_ = states_;                          // the state that the current call is about
  protocol::Growth growth_ = protocol::as_in_header;  // of the current call
};

}  // namespace ropewalk::harness
