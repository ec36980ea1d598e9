// Asks a kernel which levels it takes (properties/array/factors.h). A level counts as offered if
// the kernel accepts it at one of several sizes, so a refusal of one size switches no other off.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/judge/offer.h"
#include "properties/array/factor_case.h"

namespace ropewalk::properties {

/// What a kernel takes, by level.
struct OfferedLevels {
  harness::Case base;
  Levels simplest;                                ///< the levels of `base`
  std::array<std::vector<int>, factor_count> of;  ///< ascending; at least that of `simplest`
  /// The combinations of rotary_dim, room and window that no accepted head has.
  std::vector<std::array<int, 3>> no_such_head;
  Sizes accepted;  ///< the sizes that were asked about and accepted
  Sizes free;      ///< the same, but empty where every size of the level was accepted
  /// The largest accepted number of tokens, batch rows or heads, where larger ones are refused.
  std::map<Factor, std::int64_t> most;
};

/// Asks a kernel's supports about cases, without buffers. An answer that is neither yes nor an
/// honest refusal, such as a crash, ends the asking: all later answers are no.
class Questions {
 public:
  explicit Questions(harness::Subject& subject) : subject_(subject) {}
  bool accepts(const harness::Case& c);
  const harness::KernelFacts& facts() const { return subject_.facts; }

  /// The answer that ended the asking, and its case.
  std::optional<harness::CallResult> died;
  harness::Case asked;

 private:
  harness::Subject& subject_;
};

/// Asks for every level.
OfferedLevels ask_levels(Questions& questions, const harness::Offer& offer);

/// True if the levels meet all requirements.
bool are_possible(const Levels& levels, const harness::Case& base);

/// True if the kernel takes a case of these levels. Tries several sizes; `taken` is the first
/// accepted one.
bool is_taken(Questions& questions, const OfferedLevels& offered, const Levels& levels,
              std::uint64_t seed, std::optional<harness::Case>& taken);

/// The levels that the kernel refuses wherever they were asked for, in words: "tokens above 1000".
std::vector<std::string> not_offered(const OfferedLevels& offered);

}  // namespace ropewalk::properties
