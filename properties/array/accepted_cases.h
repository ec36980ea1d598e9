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

  struct Tried {
    std::optional<harness::Case> accepted;
    bool was_asked = false;  ///< false: there are no such sizes, so nothing can be asked for
  };
  /// Asks for a case of these levels, of several sizes.
  Tried of(const Levels& levels, std::uint64_t seed) const;
  /// The levels of refused ones that the kernel refuses together. The others are brought back to
  /// the simplest levels one by one. Empty: the simplest levels are refused too.
  LevelTuple refused_together(Levels refused, bool was_asked, std::uint64_t seed) const;

 private:
  Questions& questions_;
  const Offer& offer_;
  ShapeCase shape_;
};

}  // namespace ropewalk::properties
