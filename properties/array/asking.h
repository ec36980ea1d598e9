// Asks a kernel's `supports` what it takes, without buffers.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/judge/executor.h"
#include "properties/array/offer.h"

namespace ropewalk::properties {

/// What a kernel refused.
struct Refusals {
  /// The last one, with its reason; or a crash or hang in supports, which ends the asking.
  harness::CallResult last_refusal;
  harness::Case asked;               ///< the case that it answered
  std::vector<std::string> reasons;  ///< those heard first
};

/// The result of asking.
struct Probe : Refusals {
  std::optional<Offer> offer;  ///< empty if the kernel refuses every basic shape
};

/// An answer that is neither yes nor an honest refusal, such as a crash, ends the asking: all later
/// answers are no.
class Questions {
 public:
  explicit Questions(harness::Subject& subject) : subject_(subject) {}
  bool accepts(const harness::Case& c);
  /// The index of the first that is accepted.
  std::optional<std::size_t> first_accepted(std::span<const harness::Case> cases);
  bool died() const;
  const harness::KernelFacts& facts() const { return subject_.facts; }

  Refusals heard;

 private:
  harness::Subject& subject_;
};

/// Adds a reason that is not among them yet, up to four.
void add_reason(std::vector<std::string>& reasons, const std::string& reason);

/// Asks for the base, its form and the sizes of heads. In a run that is held to one shape, the base
/// has that shape.
Probe probe_base(harness::Subject& subject, Pairing pairing, Dtype dtype);

/// The same for a kernel that refuses every basic shape of every pairing and type: the base has one
/// of these shapes.
Probe probe_shapes(harness::Subject& subject, Pairing pairing, Dtype dtype,
                   const std::vector<harness::ModelShape>& shapes);

/// Asks for every level of what was offered, once for all properties. A level counts as offered if
/// the kernel accepts it at one of several sizes, so a refusal of one size switches no other off.
/// A crash or hang in supports ends the asking, and nothing is offered then.
Probe with_levels(harness::Subject& subject, Probe probe);

/// The first pairing and type that the kernel offers. f32 and half_split are tried before others.
std::optional<Offer> first_offer(harness::Subject& subject);

/// Asks for the base of each pairing and data type; for these shapes if every basic case is
/// refused.
std::vector<Probe> probes_of(harness::Subject& subject,
                             const std::vector<harness::ModelShape>& models);
std::string why_refused(const Probe& probe);

/// "every level", or what the kernel does not offer, in words.
std::string offer_words(const Offer& offer);
/// The same of a kernel. Pairings and types with equal words stand together.
std::string offer_words(harness::Subject& subject, const std::vector<harness::ModelShape>& models);

}  // namespace ropewalk::properties
