// Asks a kernel which levels it takes (properties/array/factors.h). A level counts as offered if
// the kernel accepts it at one of several sizes, so a refusal of one size switches no other off.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "harness/judge/offer.h"
#include "properties/array/factor_case.h"

namespace ropewalk::properties {

/// What a kernel takes, by level.
struct OfferedLevels {
  harness::Case base;
  Levels simplest;  ///< the levels of `base`
  LevelSets of;     ///< at least those of `simplest`
  /// The combinations of rotary_dim, room and window that no accepted head has.
  std::vector<std::array<int, 3>> no_such_head;
  Sizes accepted;  ///< the sizes that were asked about and accepted
  Sizes free;      ///< the same, but empty where every size of the level was accepted
  /// The largest accepted number of tokens, batch rows or heads, where larger ones are refused.
  std::map<Factor, std::int64_t> most;
  std::uint32_t extensions = 0;  ///< those that the kernel names
};

/// The levels of a base. A size that no level holds counts as that of the level below it.
Levels levels_of_base(const harness::Case& base);

/// What is known before the first question: cases have the levels and sizes of the base. They keep
/// what no level says of it: a K with another head than Q, and sizes that no level holds.
OfferedLevels base_alone(const harness::Case& base);

/// Asks for every level.
OfferedLevels ask_levels(harness::Questions& questions, const harness::Offer& offer);

/// A kernel's answers, for one pairing and data type. All levels are asked for at once.
struct Answers {
  Answers(harness::Subject& subject, const harness::Offer& offer)
      : questions(subject), levels(ask_levels(questions, offer)) {}
  /// The answers of the same kernel in another process.
  Answers(harness::Subject& subject, OfferedLevels answers)
      : questions(subject), levels(std::move(answers)) {}
  harness::Questions questions;
  OfferedLevels levels;
};

/// False if the flags of a kernel or its contract rule the level out.
bool is_promised(const harness::KernelFacts& facts, Factor f, int level);

/// The levels that the kernel refuses wherever they were asked for, in words: "tokens above 1000".
/// What the only shape of a run fixes is no refusal of the kernel.
std::vector<std::string> not_offered(const OfferedLevels& offered,
                                     const harness::AskedShapes* shapes = nullptr);

}  // namespace ropewalk::properties
