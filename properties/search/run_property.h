// Runs one property on one kernel: its fixed cases, then drawn cases. Shrinks a case that
// fails, also one of the covering array.
#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "properties/array/accepted_cases.h"
#include "properties/array/generator.h"
#include "properties/property.h"
#include "properties/property_run.h"

namespace ropewalk::properties {

/// The cases of one pairing and data type of a kernel. Keeps references to its arguments.
class CaseDraws {
 public:
  CaseDraws(harness::Subject& subject, const Offer& offer);
  CaseDraws(const CaseDraws&) = delete;
  CaseDraws& operator=(const CaseDraws&) = delete;

  /// Begins the cases of a property. What was refused to another is forgotten, so a run of this
  /// property alone draws the same cases.
  void begin(const Property& property);
  /// Rows for a property, which RapidCheck draws.
  std::vector<DrawnRow> draw(const Property& property, std::int64_t count,
                             std::uint64_t seed) const {
    return drawn_rows(nothing_refused_, std::string(property.name), static_cast<int>(count), seed);
  }
  /// A case that the kernel takes, shaped for the property. A level that does not fit the others,
  /// or that was refused with them, gives way to the next that does. Empty: the kernel refuses too
  /// much, or its supports has ended.
  std::optional<harness::Case> next(const DrawnRow& wanted);

  /// Any levels, by a seed.
  DrawnRow any_row(std::uint64_t seed) const;

  /// How many rows the kernel has refused since begin().
  std::int64_t refused() const { return refused_; }
  /// The levels that cases are drawn of, and those of the last case.
  const Offer& offered() const { return levels_; }
  const Levels& last() const { return last_; }
  /// The last refusal; after a crash or hang in supports, that.
  const Refusals& heard() const { return questions_.heard; }
  bool died() const { return questions_.died(); }

 private:
  std::optional<Levels> completed(const DrawnRow& wanted);

  Questions questions_;
  const Offer& offer_;
  Offer levels_;  ///< that cases are drawn of
  RowSearch nothing_refused_, row_;
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
  /// Exceptions that were told before (Finding::raised): a case that ends so is not shrunk. NULL:
  /// none.
  const std::set<std::string>* told = nullptr;
};

/// The cases of regressions.txt, unchanged. Every kernel that accepts such a case runs it first.
std::vector<harness::Case> regression_corpus();

/// The fixed cases of a property, in which the choices that a kernel must not notice alternate.
std::vector<harness::Case> fixed_cases_of(const Property& property, Offer offer, Profile profile);

/// `shared`: what the cases of the covering array told this property; NULL: nothing. They count
/// like its own cases. `draws`: those of the offer; NULL: no cases are drawn.
PropertyRun run_property(harness::Subject& subject, const Property& property, const Offer& offer,
                         Profile profile, const RunLimits& limits, const PropertyRun* shared,
                         CaseDraws* draws);

}  // namespace ropewalk::properties
