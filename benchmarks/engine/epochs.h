// The rounds of one group: how often everybody is called, and each epoch from fresh inputs to the
// judge.
#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "benchmarks/engine/cells.h"
#include "benchmarks/engine/crew.h"
#include "benchmarks/engine/paired.h"
#include "benchmarks/engine/process_watch.h"
#include "benchmarks/engine/workload_data.h"
#include "reference/oracle.h"

namespace ropewalk::bench {

/// The data of one workload, a set for each thread.
using Sets = std::deque<LazyData>;

/// One who is timed, or was to be.
struct Entrant {
  std::vector<std::unique_ptr<Cell>> cells;  ///< one a thread; the first has the row
  std::string owner;                         ///< the contestant: a twin's is its kernel
  double call_s = 0;                         ///< of one call, about
  std::int64_t calls = 1;                    ///< of an epoch
  double wall_s = 0, cpu_s = 0;
  Cell& cell() const { return *cells.front(); }
};

/// A cell for each thread, made by make(data).
template <class Make>
Entrant entrant_of(const std::string& owner, Sets& sets, int threads, Make&& make) {
  Entrant e;
  e.owner = owner;
  for (int i = 0; i < threads; ++i) e.cells.push_back(make(sets[static_cast<std::size_t>(i)]));
  return e;
}

/// Of a launch and a name: other numbers for each.
std::uint64_t seed_of(const PairedPlan& plan, const std::string& name);

struct RoundsOf {
  const Workload& workload;
  std::string name;  ///< their order and data follow from it
};

/// Times all entrants, each with a cell for each member of the crew; their rows are complete then.
/// NULL when all went well, else who has a refusal now. Throws std::runtime_error where `watch`
/// does: `now_running` has named the kernel then.
Entrant* time_rounds(const PairedPlan& plan, const RoundsOf& of, Sets& sets, Crew& crew,
                     std::vector<Entrant>& entrants, Oracle& oracle, ProcessWatch& watch);

}  // namespace ropewalk::bench
