// Makes one call of a kernel inside the worker. It maps the regions, runs the steps, and checks
// what the kernel must leave unchanged.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/system/memory_limits.h"
#include "harness/process/guarded_mapping.h"
#include "harness/protocol.h"
#include "harness/watch/entry_watch.h"
#include "harness/watch/heap_guard.h"
#include "harness/watch/repeated_calls.h"
#include "harness/watch/shown_problem.h"
#include "kernels/api/rope_kernel.h"

namespace ropewalk::harness {

inline constexpr std::size_t largest_workspace_bytes = std::size_t{1} << 30;

inline void set_phase(protocol::Control& control, protocol::Phase phase) {
  control.phase = static_cast<std::uint32_t>(phase);
}

// The state between prepare and release, with the frequencies that must live as long.
struct Prepared {
  const rope_kernel* kernel = nullptr;
  void* state = nullptr;
  GoneProblem problem;  // the problem that prepare was shown
  std::optional<std::size_t> workspace_bytes;
  GuardedMapping inv_freq;
  std::byte* frequencies_at = nullptr;
};

class Caller {
 public:
  /// `control` is told which entry is called and which memory the entry may reach.
  explicit Caller(protocol::Control& control) : control_(control) {}

  /// Runs the steps of the descriptor, and for step_repeat those of the following descriptors.
  /// Throws StepFailed. Returns the count of step_repeat.
  std::uint64_t run(const rope_kernel& kernel, const protocol::CallDescriptor& call,
                    std::uint32_t steps) {
    if (call.state >= protocol::most_states)
      throw StepFailed{protocol::Status::failed, "no such state"};
    live_ = &states_[call.state];
    std::uint64_t counted = 0;
    if (mapped_for_ != &kernel) {
      mappings_.clear();  // a kernel may have unmapped or protected some
      watch_.about(kernel);
    }
    mapped_for_ = &kernel;
    map_regions(call, steps == protocol::step_supports);
    if ((steps & (protocol::step_supports | protocol::step_prepare)) != 0)
      hold_frequencies(call, (steps & protocol::step_prepare) != 0);
    if ((steps & protocol::step_supports) != 0) ask_supports(kernel, problem_of(call));
    if ((steps & protocol::step_prepare) != 0) prepare(kernel, call);
    if ((steps & protocol::step_apply) != 0) apply(kernel, call);
    if ((steps & protocol::step_repeat) != 0) counted = repeat(kernel, &call);
    if ((steps & protocol::step_release) != 0) {
      release(kernel, call);
      watch_.end_state();
    }
    set_phase(control_, protocol::Phase::idle);
    if ((steps & protocol::step_keep_mapped) == 0) unmap_most();
    return counted;
  }

  /// Call after code other than an entry ran in this process.
  void accept_output() { watch_.accept_output(); }

  /// Ends the state without a release. True if the process is not as it was before.
  bool drop(bool in_full = true) {
    if (in_full) mappings_.clear();
    for (Prepared& state : states_) state = {};
    return watch_.left_changed(in_full);
  }

 private:
  // A part of the shared memory, and its address in this process.
  struct Mapped {
    std::uint64_t file_offset, bytes;
    bool writable;
    GuardedMapping mapping;
  };

  // Regions that an earlier call or caller mapped keep their addresses.
  void map_regions(const protocol::CallDescriptor& call, bool frequencies_alone = false) {
    try {
      map_all(call, frequencies_alone);
    } catch (const std::runtime_error& e) {  // too far apart for this machine's addresses
      throw StepFailed{protocol::Status::skipped, e.what()};
    }
  }

  void map_all(const protocol::CallDescriptor& call, bool frequencies_alone) {
    int next = 0;
    const auto map = [&](const protocol::Region& region) {
      const int slot = next++;
      addresses_[slot] = nullptr;
      control_.mapped[slot] = {};
      if (region.mapped_bytes == 0) return;
      auto found = find_mapped(region);
      if (found == mappings_.end()) {
        const bool writable = region.writable != 0;
        mappings_.push_back({region.file_offset, region.mapped_bytes, writable,
                             GuardedMapping(protocol::memory_descriptor, region.file_offset,
                                            region.mapped_bytes, writable)});
        found = std::prev(mappings_.end());
      }
      const GuardedMapping& mapping = found->mapping;
      addresses_[slot] = mapping.data() + region.at;
      control_.mapped[slot] = {reinterpret_cast<std::uint64_t>(mapping.data()), mapping.bytes()};
    };
    map(call.inv_freq);
    if (frequencies_alone) return;
    map(call.positions);
    for (const auto& t : call.tensor) {
      map(t.in);
      map(t.out);
      map(t.cos);
      map(t.sin);
    }
  }

  std::vector<Mapped>::iterator find_mapped(const protocol::Region& region) {
    return std::find_if(mappings_.begin(), mappings_.end(), [&](const Mapped& m) {
      return m.file_offset == region.file_offset && m.bytes == region.mapped_bytes &&
             m.writable == (region.writable != 0);
    });
  }

  // Small regions stay mapped: mapping them anew took a fifth of a verification's time.
  void unmap_most() {
    constexpr std::size_t most = 256, small_bytes = std::size_t{1} << 20;
    std::erase_if(mappings_, [](const Mapped& m) { return m.bytes > small_bytes; });
    if (mappings_.size() > most) mappings_.clear();
  }

  // inv_freq must keep its address until release, so it is copied out of the shared memory. If the
  // kernel is only asked, it stays in the shared memory.
  void hold_frequencies(const protocol::CallDescriptor& call, bool until_release) {
    *live_ = {};
    const bool first_of_all = std::all_of(std::begin(states_), std::end(states_),
                                          [](const Prepared& s) { return s.kernel == nullptr; });
    if (first_of_all) left_in_workspace_.clear();
    const auto bytes = static_cast<std::size_t>(call.problem.rotary_dim / 2) * sizeof(double);
    live_->frequencies_at = addresses_[0];
    if (until_release) {
      GuardedMapping& held = live_->inv_freq;
      held = GuardedMapping(bytes);
      live_->frequencies_at = held.data() + held.bytes() - bytes;
      std::memcpy(live_->frequencies_at, addresses_[0], bytes);
      held.make_read_only();
    }
    control_.mapped[0] = {reinterpret_cast<std::uint64_t>(live_->frequencies_at), bytes};
  }

  rope_problem problem_of(const protocol::CallDescriptor& call) const {
    rope_problem p = call.problem;
    p.inv_freq = reinterpret_cast<const double*>(live_->frequencies_at);
    p.next = nullptr;
    return p;
  }

  void ask_supports(const rope_kernel& kernel, const rope_problem& p) {
    set_phase(control_, protocol::Phase::supports);
    const char* reason = nullptr;
    const ShownProblem problem(p);
    const std::int32_t answer =
        watch_.enter(Entry::supports, kernel.supports, problem.shown(), &reason);
    problem.hold(Entry::supports);
    const std::string text = reason != nullptr ? reason : "no reason given";
    hold_supports(kernel, p, answer, text);
    if (answer == ROPE_UNSUPPORTED) throw StepFailed{protocol::Status::unsupported, text};
    if (answer != ROPE_OK)
      throw StepFailed{protocol::Status::failed, "supports answered " + std::to_string(answer)};
  }

  // supports is pure: an equal problem must get the same answer, also with reason == NULL.
  void hold_supports(const rope_kernel& kernel, const rope_problem& p, std::int32_t answer,
                     const std::string& text) {
    const ShownProblem elsewhere(p);
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
    // Apply gets another rope_problem. This one is overwritten and stays so, which exposes a kernel
    // that kept its address.
    const rope_problem given = *live_->problem.at() = problem_of(call);
    choose_heap_placement((call.problem.tokens + call.problem.rotary_dim / 2) % 2 == 0);
    const std::int32_t answer =
        watch_.enter(Entry::prepare, kernel.prepare, live_->problem.at(), &live_->state);
    const bool written = !same_bytes(*live_->problem.at(), given);
    live_->problem.fill();
    if (written) throw StepFailed{protocol::Status::failed, "prepare wrote into rope_problem"};
    if (answer != ROPE_OK)
      throw StepFailed{protocol::Status::failed, "prepare answered " + std::to_string(answer)};
  }

  // Enters another mode of the floating-point unit for the time of this object.
  class FloatMode {
   public:
    explicit FloatMode(std::uint32_t mode) {
      if (mode != protocol::to_nearest)
        before_.in_mode(static_cast<protocol::FloatMode>(mode)).restore();
    }
    ~FloatMode() { before_.restore(); }
    FloatMode(const FloatMode&) = delete;
    FloatMode& operator=(const FloatMode&) = delete;

   private:
    FloatState before_ = FloatState::now();
  };

  // Exactly the bytes that the kernel asked for, at one end of their pages. The rest of the pages
  // is watched.
  struct Workspace {
    GuardedMapping mapping;
    std::byte* address = nullptr;
    std::size_t bytes = 0;

    bool overrun() const {
      const auto untouched = [](std::byte b) { return b == std::byte{0xff}; };
      return address != nullptr &&
             !(std::all_of(mapping.data(), address, untouched) &&
               std::all_of(address + bytes, mapping.data() + mapping.bytes(), untouched));
    }
  };

  // workspace_bytes is pure as well. Its answer at a state's first call holds for all calls.
  std::size_t ask_workspace_bytes(const rope_kernel& kernel, const rope_problem& p) {
    if (kernel.workspace_bytes == nullptr) return 0;
    const ShownProblem problem(p), elsewhere(p);
    const std::size_t answer =
        watch_.enter(Entry::workspace_bytes, kernel.workspace_bytes, problem.shown());
    const std::size_t again =
        enter_on_thread(Entry::workspace_bytes, kernel.workspace_bytes, elsewhere.shown());
    for (const ShownProblem& shown : {problem, elsewhere}) shown.hold(Entry::workspace_bytes);
    const std::size_t first = live_->workspace_bytes.value_or(answer);
    live_->workspace_bytes = first;
    if (answer != first || again != first)
      throw StepFailed{protocol::Status::failed,
                       "workspace_bytes answered " + std::to_string(first) + " and later, for an " +
                           "equal problem, " + std::to_string(answer != first ? answer : again)};
    return answer;
  }

  void apply(const rope_kernel& kernel, const protocol::CallDescriptor& call) {
    // neither this nor the operands are const, as a kernel may write there
    rope_problem p = problem_of(call);
    const Workspace workspace = make_workspace(kernel, p, call.workspace_at_end != 0);
    rope_operands o = operands(workspace);
    const FloatMode mode(call.float_mode);
    apply(kernel, p, o, workspace);
    keep_what_is_left(workspace);
  }

  rope_operands operands(const Workspace& workspace) const {
    rope_operands o{};
    o.struct_size = sizeof o;
    o.positions = addresses_[1];
    for (std::uint32_t i = 0; i < ROPE_MAX_TENSORS; ++i) {
      std::byte* const* at = addresses_ + 2 + 4 * i;
      o.tensor[i] = {at[0], at[1], at[2], at[3]};
    }
    o.workspace = workspace.address;
    return o;
  }

  void apply(const rope_kernel& kernel, const rope_problem& p, const rope_operands& o,
             const Workspace& workspace) {
    const rope_problem given_problem = p;
    const rope_operands given_operands = o;
    set_phase(control_, protocol::Phase::apply);
    const std::int32_t answer = watch_.enter(Entry::apply, kernel.apply, &p, &o, live_->state);
    set_phase(control_, protocol::Phase::idle);
    if (!same_bytes(p, given_problem) || !same_bytes(o, given_operands))
      throw StepFailed{protocol::Status::failed, "apply wrote into rope_problem or rope_operands"};
    live_->problem.hold(Entry::apply);
    if (workspace.overrun())
      throw StepFailed{protocol::Status::failed, "apply wrote outside its workspace"};
    if (answer != ROPE_OK)
      throw StepFailed{protocol::Status::failed, "apply answered " + std::to_string(answer)};
  }

  // Fills with bytes that are NaN in every type. Of a large workspace only both ends are filled;
  // the rest is 0, as the system gives it.
  static void fill_workspace(const GuardedMapping& mapping) {
    constexpr std::size_t end = std::size_t{1} << 18;
    const std::size_t bytes = mapping.bytes();
    std::memset(mapping.data(), 0xff, std::min(bytes, end));
    if (bytes > end) std::memset(mapping.data() + bytes - end, 0xff, end);
  }

  Workspace make_workspace(const rope_kernel& kernel, const rope_problem& p, bool at_end) {
    control_.mapped[protocol::workspace_region] = {};
    set_phase(control_, protocol::Phase::workspace);
    Workspace w;
    w.bytes = ask_workspace_bytes(kernel, p);
    if (w.bytes == 0) return w;
    if (w.bytes > largest_workspace_bytes)
      throw StepFailed{protocol::Status::skipped,
                       "workspace of " + std::to_string(w.bytes) + " bytes is above 1 GiB"};
    if (const std::string why = memory_refusal(static_cast<std::int64_t>(w.bytes)); !why.empty())
      throw StepFailed{protocol::Status::skipped, "the workspace " + why};
    w.mapping = GuardedMapping(w.bytes);
    fill_workspace(w.mapping);
    constexpr std::size_t alignment = 64;
    w.address =
        w.mapping.data() + (at_end ? (w.mapping.bytes() - w.bytes) / alignment * alignment : 0);
    // A caller may hand out one workspace again and again. At the other end of the pages it holds
    // what the previous call left, of whichever state.
    if (!at_end) {
      const std::size_t kept = std::min(w.bytes, left_in_workspace_.size());
      std::copy_n(left_in_workspace_.begin(), kept, w.address);
    }
    control_.mapped[protocol::workspace_region] = {reinterpret_cast<std::uint64_t>(w.address),
                                                   w.bytes};
    return w;
  }

  void keep_what_is_left(const Workspace& workspace) {
    constexpr std::size_t most = std::size_t{1} << 20;
    left_in_workspace_.assign(workspace.address,
                              workspace.address + std::min(workspace.bytes, most));
  }

  // Every caller has its own regions and its own workspace.
  std::uint64_t repeat(const rope_kernel& kernel, const protocol::CallDescriptor* calls) {
    const std::uint32_t callers = calls->callers;
    if (callers < 1 || callers > protocol::most_callers)
      throw StepFailed{protocol::Status::failed, "no such number of callers"};
    RepeatedCalls repeated(kernel, live_->state);
    std::vector<Workspace> workspaces;
    for (std::uint32_t i = 0; i < callers; ++i) {
      map_regions(calls[i]);
      CallSite site{problem_of(calls[i]), {}, {}};
      const Workspace& workspace = workspaces.emplace_back(
          make_workspace(kernel, site.problem, calls[i].workspace_at_end != 0));
      site.operands = operands(workspace);
      for (const auto& t : calls[i].tensor)
        if (t.out.mapped_bytes != 0) site.writable.push_back(memory_of(t.out));
      CallSite first = site;
      repeated.add(std::move(site), callers == 1,
                   [&] { apply(kernel, first.problem, first.operands, workspace); });
    }
    set_phase(control_, protocol::Phase::apply);
    std::uint64_t counted = 0;
    const auto run = [&] {
      counted = repeated.run(calls->rounds);
      const std::string damage = heap_damage();
      if (!repeated.failure().empty())
        throw StepFailed{protocol::Status::failed, repeated.failure()};
      if (!damage.empty()) throw StepFailed{protocol::Status::failed, "apply " + damage};
    };
    // The threads of several callers are the worker's own, and starting them allocates.
    callers == 1 ? watch_.around(Entry::apply, run) : run();
    for (const Workspace& workspace : workspaces)
      if (workspace.overrun())
        throw StepFailed{protocol::Status::failed, "apply wrote outside its workspace"};
    return counted;
  }

  std::pair<std::byte*, std::size_t> memory_of(const protocol::Region& region) {
    const GuardedMapping& mapping = find_mapped(region)->mapping;
    return {mapping.data(), mapping.bytes()};
  }

  void release(const rope_kernel& kernel, const protocol::CallDescriptor& call) {
    set_phase(control_, protocol::Phase::supports);
    // the problem was supported before, and still is
    hold_supports(kernel, problem_of(call), ROPE_OK, {});
    if (live_->kernel != nullptr && live_->kernel->prepare != nullptr &&
        live_->kernel->release != nullptr) {
      set_phase(control_, protocol::Phase::release);
      watch_.enter(Entry::release, live_->kernel->release, live_->state);
      live_->problem.hold(Entry::release);
    }
    *live_ = {};
  }

  protocol::Control& control_;
  EntryWatch watch_;
  std::vector<Mapped> mappings_;
  const rope_kernel* mapped_for_ = nullptr;
  std::byte* addresses_[protocol::region_count] = {};
  Prepared states_[protocol::most_states];
  Prepared* live_ = states_;                  // the state that the current call is about
  std::vector<std::byte> left_in_workspace_;  // by the previous call, while states are alive
};

}  // namespace ropewalk::harness
