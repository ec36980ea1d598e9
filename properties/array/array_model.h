// The covering array's model of what a kernel offers: the factors of the table, with the levels
// that the kernel takes.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "properties/array/offered_levels.h"
#include "properties/covering/covering.h"

namespace ropewalk::properties {

/// Keeps a reference to `offered`.
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

}  // namespace ropewalk::properties
