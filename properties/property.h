// A property: one claim about a kernel, with the check that can refute it. One claim a file, which
// registers itself: a new property is a new file in truth/, algebra/ or memory/, and nothing else.
#pragma once
#include <string_view>
#include <vector>

#include "harness/cases/case.h"
#include "harness/judge/executor.h"
#include "harness/judge/finding.h"
#include "harness/judge/offer.h"

namespace ropewalk::properties {

enum class Profile { smoke, standard, full };

struct Property {
  std::string_view name;          ///< [a-z_]+, what --property globs match
  int order = 0;                  ///< place in reports, from small to large; no two are the same
  std::string_view claim;         ///< one line, in words
  bool judged_by_oracle = false;  ///< false: an algebraic law or a rule about memory
  bool for_replay_alone = false;  ///< verify does not judge it, a replay line may name it

  /// Whether the claim can be checked on what the kernel offers; NULL: always. `needs`: what it
  /// takes, in words.
  bool (*applies)(const harness::Offer&) = nullptr;
  std::string_view needs = {};
  /// Turns a generated case into one that this property can check; NULL: no generated cases. Called
  /// before the memory layout is chosen.
  void (*shape)(harness::Case&, const harness::Offer&) = nullptr;
  /// Cases that every run checks, beside the generated ones; NULL: none.
  std::vector<harness::Case> (*fixed_cases)(const harness::Offer&, Profile) = nullptr;
  /// Runs the kernel on a shaped case and measures. Deterministic: a replay gives the same margin.
  harness::Finding (*check)(harness::Subject&, const harness::Case&) = nullptr;
};

/// Makes a property known for as long as the program runs: a constant of a property's file.
class Registered {
 public:
  explicit Registered(const Property& property);
};

/// What verify judges, by order.
const std::vector<const Property*>& all_properties();

/// Also those for replay alone. NULL: there is none of that name.
const Property* find_property(std::string_view name);

/// One that is known to be there; throws std::logic_error otherwise.
const Property& property_named(std::string_view name);

}  // namespace ropewalk::properties
