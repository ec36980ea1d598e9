// The covering array's model of what a kernel offers: the factors of the table, with the levels
// that the kernel takes.
#pragma once
#include <string>

#include "properties/array/offered_levels.h"
#include "properties/search/covering.h"

namespace ropewalk::properties {

/// Keeps a reference to `offered`.
class ArrayModel {
 public:
  explicit ArrayModel(const OfferedLevels& offered);

  const CoveringModel& model() const { return model_; }
  Levels levels_of(const Row& row) const;
  FactorLevel place_of(Factor f, int level) const;
  /// In words: "tokens: 1, heads: 2".
  std::string words_of(const LevelTuple& tuple) const;
  std::string words_of(const Row& row) const;

 private:
  void add(const Requirement& requirement);
  const OfferedLevels& offered_;
  CoveringModel model_;
};

}  // namespace ropewalk::properties
