// Runs the cases of a covering array. Each case is called once, and every claim that needs no more
// than its outputs judges them.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "properties/array/offered_levels.h"
#include "properties/search/covering.h"
#include "properties/search/run_property.h"

namespace ropewalk::properties {

/// Judges the outputs of one execution for a property. compared = 0: the case tells it nothing.
struct ArrayJudge {
  std::string_view property;
  harness::Finding (*judge)(harness::Subject&, const harness::Problem&, const harness::Execution&);
};
/// Agreement and untouched_dims.
const std::vector<ArrayJudge>& array_judges();

struct ArrayResult {
  std::map<std::string_view, PropertyRun> runs;  ///< by the property that judged
  std::int64_t cases = 0;
  int strength = 2;   ///< so many levels meet in each interaction
  Coverage coverage;  ///< the interactions that the kernel offers, and those that a case met
  std::vector<std::string> not_offered;  ///< levels that the kernel refuses, in words
  std::vector<std::string> not_met;      ///< interactions that no case met, in words
};

struct ArrayLimits {
  Profile profile = Profile::standard;
  std::uint64_t seed = 1;
  std::int64_t most_cases = 0;  ///< 0: as many as it takes
};

/// Runs cases until all interactions of the profile's strength are met, or each judge has seen a
/// failure.
ArrayResult run_array(harness::Subject& subject, const harness::Offer& offer,
                      const ArrayLimits& limits);

}  // namespace ropewalk::properties
