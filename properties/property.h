// A property: one claim about a kernel, with the check that can refute it. One claim a file; all of
// them are listed in properties.cpp.
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
  std::string_view name;   ///< [a-z_]+, what --property globs match
  std::string_view claim;  ///< one line, in words
  bool judged_by_oracle;   ///< false: an algebraic law or a rule about memory

  /// Whether the claim can be checked on what the kernel offers; NULL: always. `needs`: what it
  /// takes, in words.
  bool (*applies)(const harness::Offer&);
  std::string_view needs;
  /// Turns a generated case into one that this property can check; NULL: no generated cases. Called
  /// before the memory layout is chosen.
  void (*shape)(harness::Case&, const harness::Offer&);
  /// Cases that every run checks, beside the generated ones; NULL: none.
  std::vector<harness::Case> (*fixed_cases)(const harness::Offer&, Profile);
  /// Runs the kernel on a shaped case and measures. Deterministic: a replay gives the same margin.
  harness::Finding (*check)(harness::Subject&, const harness::Case&);
};

extern const Property agreement, position_sweep, norm, relative_position, decay, identity_at_zero,
    transpose, adjoint, composition, phase_step, quarter_turn, linearity, power_of_two,
    attention_scale, negative_positions, position_types, pair_locality, placement, strides, order,
    chunks, tensors_apart, untouched_dims, unwritten_outputs, history, threads, alignment, sizes,
    shared_inputs, frequencies, far_strides;

/// A position, or some, as the exhaustive check judges them (certify.h): for replay lines alone.
extern const Property exhaustive;

/// All of them but the last, in the order of the reports.
const std::vector<const Property*>& all_properties();

}  // namespace ropewalk::properties
