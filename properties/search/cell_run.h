// Judges one pairing and data type of a kernel: a cell. Threads share out the rows of the covering
// array, then the properties.
#pragma once
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "properties/array/factors.h"
#include "properties/judge_threads.h"
#include "properties/search/verify.h"

namespace ropewalk::properties {

/// What one cell of a kernel leaves to the next.
struct Carried {
  std::vector<Levels> large;   ///< the large cases that were met (ArrayLimits::large)
  std::set<std::string> told;  ///< the exceptions that rows have told
  std::string hung_in;         ///< the property in which the kernel hung; empty: none
  std::size_t claims = 0;      ///< of the kernel, as far as known before it is judged
  std::size_t judged = 0;      ///< of these, in the cells that are done
};

struct PlannedCell {
  JudgeThreads& threads;
  std::vector<harness::Subject>& subjects;  ///< one for each thread
  const VerifyPlan& plan;
  const harness::Offer& offer;
  const std::function<void(const report::VerdictRow&)>& on_row;
  const std::function<void(const std::string&)>& on_progress;
};

/// Judges the properties of the plan. Rows are those of one thread, in the same order. False:
/// nothing more of the kernel is to be judged.
bool judge_cell_of(const PlannedCell& cell, Carried& carried);

}  // namespace ropewalk::properties
