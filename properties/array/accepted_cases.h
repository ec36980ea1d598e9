// Cases of levels that a kernel takes, and the levels that it refuses together.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "properties/array/factor_case.h"
#include "properties/array/offered_levels.h"
#include "properties/covering/covering.h"

namespace ropewalk::properties {

/// The covering array's model of what a kernel offers: the factors of the table, with the levels
/// that the kernel takes. Keeps a reference to `offered`.
class ArrayModel {
 public:
  explicit ArrayModel(const OfferedLevels& offered);

  const CoveringModel& model() const { return model_; }
  const OfferedLevels& offered() const { return offered_; }
  /// A constraint over levels of the table. `holds` reads the named factors alone.
  Constraint constraint(const std::vector<Factor>& factors,
                        const std::function<bool(const Levels&)>& holds) const;
  Levels levels_of(const Row& row) const;
  /// The row of these levels; empty if the kernel does not offer one of them.
  std::optional<Row> row_of(const Levels& levels) const;
  FactorLevel place_of(Factor f, int level) const;
  /// In words: "tokens: 1, heads: 2".
  std::string words_of(const LevelTuple& tuple) const;
  std::string words_of(const Row& row) const;

 private:
  const OfferedLevels& offered_;
  CoveringModel model_;
};

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
