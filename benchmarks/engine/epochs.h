// The rounds of one group: how many calls each contestant makes, and each epoch from fresh inputs
// to the judge.
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "benchmarks/cells/cells.h"
#include "benchmarks/engine/crew.h"
#include "benchmarks/engine/group_memory.h"
#include "benchmarks/engine/paired.h"
#include "benchmarks/engine/process_watch.h"
#include "reference/oracle.h"

namespace ropewalk::bench {

/// A contestant of the group: a kernel, twin or ceiling that is timed, or was to be timed.
struct Contestant {
  std::vector<std::unique_ptr<Cell>> cells;  ///< one cell a thread; the first has the row
  /// Name of the kernel, also for a twin; empty for a ceiling.
  std::string owner;
  bool has_own_threads = false;  ///< one caller makes the calls of all cells
  double call_s = 0;             ///< estimated time of a settled call, in s; 0: not known yet
  std::int64_t calls = 1;        ///< calls in one epoch
  struct WarmUp {
    std::int64_t calls;
    double call_s;
  };
  std::vector<WarmUp> warm_ups;  ///< the calls before the rounds, in their order
  bool began_slowly = false;     ///< its slow first calls took an epoch's time or more
  double wall_s = 0, cpu_s = 0;
  /// What all calls together did (process_watch.h), and their number.
  std::int64_t heap_calls = 0, mapped_bytes = 0, switches = 0, called = 0;
  Cell& cell() const { return *cells.front(); }
  /// Drops what the rounds so far have noted.
  void forget_rounds();
};

/// Makes a contestant with one cell for each thread, by make(thread).
template <class Make>
Contestant contestant_of(const std::string& owner, int threads, Make&& make) {
  Contestant e;
  e.owner = owner;
  for (int i = 0; i < threads; ++i) e.cells.push_back(make(i));
  return e;
}

/// A seed that differs for each launch and name.
std::uint64_t seed_of(const PairedPlan& plan, const std::string& name);

struct RoundsOf {
  using Until = std::optional<std::chrono::steady_clock::time_point>;
  GroupMemory& memory;
  std::string name;  ///< seeds the order of the rounds
  /// The kernels whose calls were as fast at first as later, in the groups before.
  std::set<std::string>& steady;
  /// When the group ought to be done, if its time counts and not its rounds.
  Until until = {}, group_until = {};  ///< of this placement, and of all
  /// How often the group's buffers were placed before. The first time, contestants settle and
  /// epochs are chosen; later ones know their call_s.
  int placement = 0;
  // Found by the placements before, in s; 0: not yet.
  double epoch_s = 0, round_s = 0;
  double rounds_s = 0;  ///< what the rounds of a placement took
};

/// Times all contestants, each with a cell for each member of the crew. Afterwards their rows are
/// complete. Returns NULL if all went well, else the contestant that has a refusal now. Throws
/// std::runtime_error if `watch` does; `now_running` has named the kernel by then.
Contestant* time_rounds(const PairedPlan& plan, RoundsOf& of, Crew& crew,
                        std::vector<Contestant>& contestants, Oracle& oracle, ProcessWatch& watch);

}  // namespace ropewalk::bench
