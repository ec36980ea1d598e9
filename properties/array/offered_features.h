// What a kernel offers beside its simplest case, in the words of `list` and of the ledger. Each
// word is a set of levels (properties/array/factors.h), or a question of its own.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "harness/judge/offer.h"

namespace ropewalk::properties {

/// Asks for each feature of what was offered, with the base's levels of all other factors. A crash
/// or hang in supports ends the asking, and nothing is offered then.
harness::Probe with_features(harness::Subject& subject, harness::Probe probe);

/// The first pairing and type that the kernel offers. f32 and half_split are tried before others.
std::optional<harness::Offer> first_offer(harness::Subject& subject);

/// Asks for each pairing and data type; for these shapes if every basic case is refused.
std::vector<harness::Probe> probes_of(harness::Subject& subject,
                                      const std::vector<harness::ModelShape>& models);
std::string why_refused(const harness::Probe& probe);

/// What a kernel offers and refuses, in words. Pairings and types with equal words stand together.
std::string offer_words(harness::Subject& subject, const std::vector<harness::ModelShape>& models);

/// The features by name, in a fixed order. The list ends with any_size, or with each size as
/// size_HEAD_ROTARY. `list` prints them, and the ledger compares them. Without an offer: all that
/// one can have, but for the single sizes.
std::vector<std::string> feature_names(const harness::Offer* offer = nullptr);

}  // namespace ropewalk::properties
