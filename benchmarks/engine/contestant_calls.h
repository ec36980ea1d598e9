// How the contestants of a group are called, one at a time: by all members of the crew at once,
// watched and announced, and until they have settled; what they do after calls, and between them.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "benchmarks/engine/epochs.h"

namespace ropewalk::bench {

class ContestantCalls {
 public:
  /// All three outlive it.
  ContestantCalls(const PairedPlan& plan, Crew& crew, ProcessWatch& watch)
      : plan_(plan), crew_(crew), watch_(watch) {}

  /// Prepares all, and has each make calls: at first until it has settled, which gives its call_s;
  /// later for an epoch. A kernel that is in `steady` settles in fewer calls. Another that seems
  /// slow gets a twentieth of `patience_s` more to settle, within limits. Unless each refills the
  /// buffers, the first alone does. Returns NULL if all went well, else the contestant that has a
  /// refusal now.
  Contestant* settle_all(std::vector<Contestant>& contestants, double epoch_s, bool is_first,
                         double patience_s, bool each_refills, std::set<std::string>& steady);

 protected:
  void announce(const Contestant& e) const {
    watch_.about(e.cell().kernel());
    if (!plan_.now_running) return;
    // The variants of a ceiling share a label, which would look like a hang.
    const report::TimingRow& row = e.cell().row;
    plan_.now_running(e.cell().label() + (row.is_ceiling() ? "|" + row.variant : ""));
  }

  /// Runs task(cell, member) for each cell of a contestant at the same time. Returns nothing if one
  /// refused.
  template <class Task>
  std::optional<Crew::Time> together(Contestant& e, Task&& task) {
    const auto share = [&](int i) { task(*e.cells[static_cast<std::size_t>(i)], i); };
    const auto all = [&] {
      for (int i = 0; i < crew_.size(); ++i) share(i);
    };
    Crew::Time time =
        e.has_own_threads ? crew_.run_alone(std::ref(all)) : crew_.run(std::ref(share));
    for (const auto& cell : e.cells) {
      if (!cell->refusal && cell->keeps_arguments()) continue;
      take_refusal(e, *cell);
      return {};
    }
    if (const auto own_s = e.cell().own_s()) time.wall_s = *own_s;
    return time;
  }

  static void take_refusal(Contestant& e, const Cell& of) {
    e.cell().refusal = of.refusal;
    if (of.is_fatal) throw std::runtime_error(of.refusal->reason);
  }

  const PairedPlan& plan_;
  Crew& crew_;
  ProcessWatch& watch_;

 private:
  bool get_ready(Contestant& e, bool refill);
  bool warm_up(Contestant& e, double epoch_s);
  bool settle(Contestant& e, double epoch_s, double epochs);
  bool settle_by_own_clock(Contestant& e, double epoch_s, const Cell::Calls& own);
};

/// True for a kernel with threads, its own or its plugin's. A thread that loading began may rest in
/// every call, so its kernel need not declare it.
bool may_hide_work(const Contestant& e);

/// Whether the outputs of an epoch stay as its last call left them. Otherwise it has a refusal.
/// Without `refill` the calls begin with what the buffers hold.
bool rests_after_calls(Contestant& e, Crew& crew, ProcessWatch& watch, bool refill,
                       std::uint64_t random);

/// Of a kernel that may hide work: whether a call takes as long after a pause if its inputs are
/// there before it as if they come after it. Otherwise its threads work between calls, and it has a
/// refusal. Notes in its row what the threads used meanwhile. True for other kernels.
bool rests_between_calls(Contestant& e, Contestant& baseline, Crew& crew, ProcessWatch& watch,
                         std::uint64_t random);

}  // namespace ropewalk::bench
