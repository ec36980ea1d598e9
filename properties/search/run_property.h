// Runs one property on one kernel: its fixed cases, then RapidCheck's cases. Shrinks a case that
// fails, also one of the covering array.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "properties/array/accepted_cases.h"
#include "properties/covering/partial_row.h"
#include "properties/property.h"
#include "properties/property_run.h"

namespace ropewalk::properties {

// Draws cases for a property. RapidCheck makes the integers: one for each factor of the table
// (properties/array/factors.h), 0 being its first level, and a seed for what the levels leave open.

/// A level of each factor, counted among those that the kernel offers, and counted again from the
/// first beyond the last.
struct Wanted {
  static constexpr std::int64_t count = 840;  ///< of values; each number of levels divides it
  std::array<std::int64_t, factor_count> levels{};
  std::uint64_t seed = 0;
};

/// Any levels, by a seed.
Wanted any_levels(std::uint64_t seed);

/// The cases of one pairing and data type of a kernel. Keeps references to its arguments.
class CaseDraws {
 public:
  CaseDraws(Answers& answers, const harness::Offer& offer);
  CaseDraws(const CaseDraws&) = delete;
  CaseDraws& operator=(const CaseDraws&) = delete;

  /// Begins the cases of a property. What was refused to another is forgotten, so a run of this
  /// property alone draws the same cases.
  void begin(const Property& property);
  /// A case that the kernel takes, shaped for the property. A level that does not fit the others
  /// gives way to the next that does. Empty: the kernel refuses too much, or its supports has
  /// ended.
  std::optional<harness::Case> next(const Wanted& wanted);

  /// How many rows the kernel has refused since begin().
  std::int64_t refused() const { return refused_; }
  /// The levels that cases are drawn of, and those of the last case.
  const OfferedLevels& offered() const { return levels_; }
  const Levels& last() const { return last_; }
  /// The last refusal; after a crash or hang in supports, that.
  const harness::Probe& heard() const { return questions_.heard; }
  bool died() const { return questions_.died(); }

 private:
  std::optional<Levels> completed(const Wanted& wanted);

  harness::Questions& questions_;
  const harness::Offer& offer_;
  OfferedLevels levels_;
  ArrayModel model_;
  PartialRow nothing_refused_, row_;
  const Property* property_ = nullptr;
  Levels last_;
  std::int64_t refused_ = 0;
  std::int64_t tried_ = 0;  ///< the same, and rows that have no sizes
};

struct RunLimits {
  std::int64_t cases = 100;  ///< number of cases to generate
  std::uint64_t seed = 1;
  bool shrink = true;
  bool one_case = false;  ///< no more than one is judged
  /// Exceptions that were told before (exception_of()): a case that ends so is not shrunk. NULL:
  /// none.
  const std::set<std::string>* told = nullptr;
};

/// The cases of regressions.txt, unchanged. Every kernel that accepts such a case runs it first.
std::vector<harness::Case> regression_corpus();

/// The fixed cases of a property, in which the choices that a kernel must not notice alternate.
std::vector<harness::Case> fixed_cases_of(const Property& property, harness::Offer offer,
                                          Profile profile);

/// `shared`: what the cases of the covering array told this property; NULL: nothing. They count
/// like its own cases. `draws`: those of the offer; NULL: no cases are drawn.
PropertyRun run_property(harness::Subject& subject, const Property& property,
                         const harness::Offer& offer, Profile profile, const RunLimits& limits,
                         const PropertyRun* shared, CaseDraws* draws);

}  // namespace ropewalk::properties
