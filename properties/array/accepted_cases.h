// Cases of levels that a kernel takes, and the levels that it refuses together.
#pragma once
#include <optional>

#include "properties/array/asking.h"
#include "properties/array/factor_case.h"
#include "properties/array/generator.h"

namespace ropewalk::properties {

/// A search for rows of the levels that a kernel takes.
RowSearch search_of(const Offer& offer);

/// Keeps references to the questions and the levels.
class AcceptedCases {
 public:
  AcceptedCases(Questions& questions, const Offer& offer, ShapeCase shape = nullptr)
      : questions_(questions), offer_(offer), shape_(std::move(shape)) {}

  /// A case of these levels that the kernel takes, of several sizes that are asked for.
  std::optional<harness::Case> of(const Levels& levels, std::uint64_t seed) const;
  /// False: there are no such sizes, so nothing can be asked for.
  bool fit(const Levels& levels, std::uint64_t seed) const;
  /// The levels of refused ones that the kernel refuses together. The others are brought back to
  /// the simplest levels one by one. Empty: the simplest levels are refused too.
  LevelTuple refused_together(Levels refused, std::uint64_t seed) const;

 private:
  Questions& questions_;
  const Offer& offer_;
  ShapeCase shape_;
};

}  // namespace ropewalk::properties
