// Cases of levels that a kernel takes, and the levels that it refuses together.
#pragma once
#include <optional>

#include "properties/array/array_model.h"
#include "properties/array/factor_case.h"

namespace ropewalk::properties {

/// Keeps references to the questions and the model.
class AcceptedCases {
 public:
  AcceptedCases(harness::Questions& questions, const ArrayModel& model, ShapeCase shape = nullptr)
      : questions_(questions), model_(model), shape_(std::move(shape)) {}

  /// A case of these levels that the kernel takes, of several sizes that are asked for.
  std::optional<harness::Case> of(const Levels& levels, std::uint64_t seed) const;
  /// False: there are no such sizes, so nothing can be asked for.
  bool fit(const Levels& levels, std::uint64_t seed) const;
  /// The levels of refused ones that the kernel refuses together. The others are brought back to
  /// the simplest levels one by one. Empty: the simplest levels are refused too.
  LevelTuple refused_together(Levels refused, std::uint64_t seed) const;

 private:
  harness::Questions& questions_;
  const ArrayModel& model_;
  ShapeCase shape_;
};

}  // namespace ropewalk::properties
