// Draws cases for a property: a level of each factor of the table (properties/array/factors.h), and
// what the levels leave open.
#pragma once
#include <array>
#include <cstdint>
#include <optional>

#include "properties/array/accepted_cases.h"
#include "properties/covering/partial_row.h"
#include "properties/property.h"

namespace ropewalk::properties {

/// The cases of one pairing and data type of a kernel. Keeps references to its arguments.
class CaseDraws {
 public:
  CaseDraws(Asked& asked, const harness::Offer& offer);
  CaseDraws(const CaseDraws&) = delete;
  CaseDraws& operator=(const CaseDraws&) = delete;

  /// Begins the cases of a property. What was refused to another is forgotten, so a run of this
  /// property alone draws the same cases.
  void begin(const Property& property);
  /// A case that the kernel takes, of levels drawn by a seed, shaped for the property. A level that
  /// does not fit the others gives way to the next that does. Empty: the kernel refuses too much,
  /// or its supports has ended.
  std::optional<harness::Case> next(std::uint64_t seed);

  /// How many rows the kernel has refused since begin().
  std::int64_t refused() const { return refused_; }
  /// The levels that cases are drawn of, and those of the last case.
  const OfferedLevels& offered() const { return levels_; }
  const Levels& last() const { return last_; }
  /// The last refusal; after a crash or hang in supports, that.
  const harness::Probe& heard() const { return questions_.heard; }
  bool died() const { return questions_.died(); }

 private:
  std::optional<Levels> completed(std::uint64_t seed);

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

}  // namespace ropewalk::properties
