#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <stdexcept>
#include <string>

#include "base/glob.h"
#include "harness/cases/fused.h"
#include "properties/property.h"

namespace ropewalk::properties {
namespace {

// Filled before main and never changed after it, so pointers into it stay valid.
std::deque<Property>& registry() {
  static std::deque<Property> all;
  return all;
}

}  // namespace

Registered::Registered(const Property& property) {
  registry().push_back(property);
}

std::string missing_for(const Property& property, const Offer& offer) {
  std::vector<std::string> missing, one_of;
  for (const Need& need : property.needs)
    if (!offer.takes(need)) missing.push_back(words_of(need));
  const auto is_taken = [&](const Need& need) { return offer.takes(need); };
  for (const Need& need : property.needs_one_of) one_of.push_back(words_of(need));
  if (!one_of.empty() && std::ranges::none_of(property.needs_one_of, is_taken))
    missing.push_back(fmt::format("{}", fmt::join(one_of, " or ")));
  if (property.without_norm && harness::has_norm(offer.base))
    missing.emplace_back("calls without a norm");
  if (property.of_own_angles && offer.base.contract == ROPE_CONTRACT_TABLE)
    missing.emplace_back("angles of its own");
  return fmt::format("{}", fmt::join(missing, "; "));
}

const std::vector<const Property*>& all_properties() {
  static const std::vector<const Property*> list = [] {
    std::vector<const Property*> judged;
    for (const Property& property : registry())
      if (!property.for_replay_alone) judged.push_back(&property);
    std::sort(judged.begin(), judged.end(),
              [](const Property* a, const Property* b) { return a->place.order < b->place.order; });
    return judged;
  }();
  return list;
}

std::vector<const Property*> chosen_properties(const std::vector<std::string>& globs,
                                               Profile profile) {
  std::vector<const Property*> out;
  for (const Property* p : all_properties())
    if (globs.empty() ? p->from <= profile : matches(globs, std::string(p->name))) out.push_back(p);
  return out;
}

const Property* find_property(std::string_view name) {
  const auto found = std::find_if(registry().begin(), registry().end(),
                                  [&](const Property& p) { return p.name == name; });
  return found == registry().end() ? nullptr : &*found;
}

const Property& property_named(std::string_view name) {
  if (const Property* found = find_property(name)) return *found;
  throw std::logic_error("no property is called " + std::string(name));
}

}  // namespace ropewalk::properties
