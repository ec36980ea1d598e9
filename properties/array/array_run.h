// Runs the cases of a covering array. Each case is called once, and every claim that needs no more
// than its outputs judges them.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "properties/array/generator.h"
#include "properties/array/offer.h"
#include "properties/judge_threads.h"
#include "properties/property.h"
#include "properties/property_run.h"

namespace ropewalk::properties {

struct ArrayResult {
  std::map<std::string_view, PropertyRun> runs;  ///< by the property that judged
  std::int64_t cases = 0;
  std::vector<ArrayCoverage> coverage;   ///< by strength; empty if failures ended the run early
  std::vector<std::string> not_offered;  ///< levels that the kernel refuses, in words
  std::vector<std::string> not_met;      ///< interactions that no case met, in words
  harness::SideEffects side_effects;     ///< of all calls
};

struct ArrayLimits {
  Profile profile = Profile::standard;
  std::uint64_t seed = 1;
  bool until_failure = false;   ///< the first failure of any property ends the run
  std::int64_t most_cases = 0;  ///< 0: as many as it takes
  /// The levels of the large cases that other pairings and data types of the kernel met. This run
  /// adds its own. Where it is given, pairing and data type count as factors for tensors above
  /// 32 KiB: the large cases of all of them together meet every two levels. NULL: the cases of this
  /// run meet them alone.
  std::vector<Levels>* large = nullptr;
  std::function<void(std::size_t)> on_case;  ///< gets the number of each row, from 0; may be empty
  /// Called once in a thread, with what the result will say of the first property, as soon as it
  /// has failed. The other threads go on. May be empty.
  std::function<void(std::size_t thread, const PropertyRun&)> on_first_failing;
};

/// Runs cases until all interactions of the profile's strength are met, or each of the properties
/// has seen a failure. Every property must have a judge. There is a subject for each thread. The
/// result does not depend on the number of threads.
ArrayResult run_array(JudgeThreads& threads, std::vector<harness::Subject>& subjects,
                      const Offer& offer, const std::vector<const Property*>& properties,
                      const ArrayLimits& limits);

}  // namespace ropewalk::properties
