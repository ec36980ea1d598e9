// A property is one claim about a kernel, with the check that can refute it. It registers itself. A
// new property is one new file in truth/, algebra/ or memory/, and nothing else.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "harness/cases/case.h"
#include "harness/judge/executor.h"
#include "harness/judge/finding.h"
#include "harness/judge/row_sample.h"
#include "properties/array/offer.h"

namespace ropewalk::properties {

/// The property whose row ends its cell, as it watches the calls of all others.
inline constexpr std::string_view conduct_property = "clean_call";

enum class Profile { smoke, standard, full };  ///< from the shortest to the longest

/// In reports: the group of claims, and the order, ascending.
struct Place {
  std::string_view group;  ///< rotation, laws, memory, sequences, sizes, axes, norm or append
  int order = 0;
};

struct Property {
  std::string_view name;          ///< [a-z_]+; --property globs match it
  Place place = {};               ///< each property has an order of its own
  std::string_view claim;         ///< the claim in one line
  bool judged_by_oracle = false;  ///< false: an algebraic law or a rule about memory judges
  bool tells_once = false;        ///< a process that fails it once may not fail it again
  bool for_replay_alone = false;  ///< verify skips it; a replay line may name it
  /// The shortest profile that judges it. A run whose globs name it judges it in each profile.
  Profile from = Profile::smoke;

  /// The claim is about the input as it is given: no case has a norm.
  bool without_norm = false;
  /// The claim is about angles that the kernel computes.
  bool of_own_angles = false;
  /// The levels that the claim needs, and those of which it needs one.
  std::vector<Need> needs = {}, needs_one_of = {};
  /// Turns a generated case into a case that this property can check; NULL: no cases are generated.
  /// It is called before the memory layout is chosen.
  void (*shape)(harness::Case&, const Offer&) = nullptr;
  /// Makes a generated case, laid out, the first call of a sequence; NULL: the property has no
  /// sequences.
  void (*add_calls)(harness::Case&, const Offer&) = nullptr;
  /// Cases that every run checks beside the generated ones; NULL: none. The base of the offer has
  /// the property's name.
  std::vector<harness::Case> (*fixed_cases)(const Offer&, Profile) = nullptr;
  /// Runs the kernel on a shaped case and measures it. Deterministic: a replay gives the same
  /// margin.
  harness::Finding (*check)(harness::Subject&, const harness::Case&) = nullptr;
  /// What the outputs of one execution say about the claim. With it, the cases of the covering
  /// array (properties/array) are judged too, in one execution for all such properties. Rows
  /// outside the sample need not be compared. compared = 0: the case says nothing. NULL: the claim
  /// needs calls of its own.
  harness::Finding (*judge)(harness::Subject&, const harness::Problem&, const harness::Execution&,
                            const harness::RowSample&) = nullptr;
  /// True if `judge` has something to say about this case; NULL: about every case.
  bool (*judges)(const harness::Case&) = nullptr;
};

/// What of the levels that the claim needs is not offered, in words. Empty: it can be checked.
std::string missing_for(const Property& property, const Offer& offer);
inline bool is_applicable(const Property& property, const Offer& offer) {
  return missing_for(property, offer).empty();
}

/// The `shape` of a property that can check every generated case.
inline void any_case(harness::Case&, const Offer&) {}

/// A constant of this class registers the property for the whole run.
class Registered {
 public:
  explicit Registered(const Property& property);
};

/// The properties that verify judges, sorted by order.
const std::vector<const Property*>& all_properties();

/// What a run judges: the properties that match a glob, or, without globs, those of its profile.
std::vector<const Property*> chosen_properties(const std::vector<std::string>& globs,
                                               Profile profile);

/// Finds any property, also one for replay alone. NULL: no property has that name.
const Property* find_property(std::string_view name);

/// Returns a property that must exist. Throws std::logic_error otherwise.
const Property& property_named(std::string_view name);

}  // namespace ropewalk::properties
