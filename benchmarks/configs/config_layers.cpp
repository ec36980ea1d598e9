// Which layers of a model rotate alike, and where the rope parameters of each kind stand.
#include <fmt/format.h>

#include <algorithm>

#include "base/text_file.h"
#include "benchmarks/configs/config.h"

namespace ropewalk::bench {
namespace {

using Names = std::vector<std::string>;

const std::string now = "rope_parameters", before = "rope_scaling";

/// The object that states the frequencies; empty if neither the file nor the type has one.
std::string rope_object(ConfigReader& in) {
  for (const std::string& key : {now, before})
    if (in.holds(key) && !in.is_object(key)) in.fail(key, "must be an object or null");
  const bool has_now = !in.members(now).empty(), has_before = !in.members(before).empty();
  if (has_now && has_before && !in.same(now, before))
    in.fail(before, "differs from rope_parameters: leave one");
  if (has_before && !has_now) return before;
  return has_now || (in.type() != nullptr && !in.type()->rope.empty()) ? now : "";
}

bool contains(const Names& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// The members of rope_parameters that are kinds of layers. A null means layers without rotation.
Names nested_layers(ConfigReader& in, const Names& types) {
  Names out;
  for (const std::string& name : in.members(now)) {
    const std::string key = now + "." + name;
    const bool known =
        contains(types, name) || (in.type() != nullptr && contains(in.type()->layers, name));
    if (in.is_object(key) && !known && !types.empty())
      in.fail(key, "no layer of this model is of this kind");
    if (in.is_object(key) || (known && in.is_null(key))) out.push_back(name);
  }
  return out;
}

/// The words of layer_types; none if the file has none. Throws for a number of them that is not
/// that of the layers.
Names layer_types(ConfigReader& in) {
  if (!in.holds("layer_types")) return {};
  const Names types = *in.words("layer_types");
  const auto layers = in.size("num_hidden_layers");
  if (layers && static_cast<std::int64_t>(types.size()) != *layers)
    in.fail("layer_types",
            fmt::format("has {} words, but num_hidden_layers is {}", types.size(), *layers));
  return types;
}

RopePlace place_of(ConfigReader& in, const std::string& layer, const std::string& object,
                   const Names& types) {
  RopePlace place{.layer = layer, .object = now + "." + layer, .theta_keys = in.keys_of("theta")};
  const bool sliding = layer == "sliding_attention";
  if (in.type() != nullptr && !in.type()->local_theta.empty() && sliding)
    place.theta_keys = {in.type()->local_theta};
  place.theta_keys.push_back(place.object + ".rope_theta");
  place.count = std::count(types.begin(), types.end(), layer);
  place.rotated = !in.is_null(place.object);
  // Files of old have parameters for the layers with full attention alone.
  if (object == before && !sliding) place.object = before;
  return place;
}

/// Adds the layers that no key of the rope parameters names.
void add_unrotated(ConfigReader& in, const Names& types, std::vector<RopePlace>& places) {
  Names others;
  for (const std::string& type : types) {
    const bool attends = type.find("attention") != type.npos && type.find("linear") == type.npos;
    if (!attends && !contains(others, type)) others.push_back(type);
  }
  for (const std::string& name : others)
    places.push_back(
        {.layer = name, .count = std::count(types.begin(), types.end(), name), .rotated = false});
  const ModelType* type = in.type();
  if (type == nullptr || type->unrotated.empty()) return;
  RopePlace none{.layer = type->unrotated, .rotated = false};
  if (const auto flags = in.holds("no_rope_layers") ? in.numbers("no_rope_layers") : std::nullopt;
      flags && !flags->empty()) {
    const auto layers = in.size("num_hidden_layers");
    if (layers && static_cast<std::int64_t>(flags->size()) != *layers)
      in.fail("no_rope_layers",
              fmt::format("has {} numbers, but num_hidden_layers is {}", flags->size(), *layers));
    none.count = std::count(flags->begin(), flags->end(), 0);
    if (none.count == 0) return;
    if (none.count == static_cast<std::int64_t>(flags->size()))
      in.fail("no_rope_layers", "is 0 for each layer: this model rotates nothing");
    none.layer = "no_rope_layers";
  }
  places.push_back(none);
}

}  // namespace

std::vector<RopePlace> rope_places(ConfigReader& in) {
  const std::string object = rope_object(in);
  const Names types = layer_types(in);
  Names layers = nested_layers(in, types);
  const bool nested = !layers.empty();
  if (in.type() != nullptr)
    for (const std::string& name : in.type()->layers)
      if (!contains(layers, name)) layers.push_back(name);
  if (!nested && !layers.empty() && !in.members(now).empty())
    in.fail(now, fmt::format("does not say which layers it is for: {}", fmt::join(layers, ", ")));
  std::vector<RopePlace> places;
  for (const std::string& layer : layers) {
    if (!types.empty() && !contains(types, layer)) continue;
    places.push_back(place_of(in, layer, object, types));
  }
  if (places.empty())
    places.push_back({.layer = "", .object = object, .theta_keys = in.keys_of("theta")});
  add_unrotated(in, types, places);
  return places;
}

}  // namespace ropewalk::bench
