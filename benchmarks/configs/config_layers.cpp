// Which layers of a model rotate alike, and where the rope parameters of each kind stand.
#include <fmt/format.h>

#include <algorithm>

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
  return std::ranges::find(names, name) != names.end();
}

/// The members of rope_parameters that are kinds of layers. A null means layers without rotation.
Names nested_layers(ConfigReader& in, const Names& types) {
  Names out;
  for (const std::string& name : in.members(now)) {
    const std::string key = now + "." + name;
    const Names own = in.type() == nullptr ? types : in.type()->layers;
    const bool known = contains(own, name) || (!own.empty() && contains(types, name));
    if (in.is_object(key) && !known && (in.type() != nullptr || !types.empty()))
      in.fail(key, "no layer of this model has rope parameters of this name");
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

/// The place of one kind of layers. Older files have no object for each: `object` is rope_scaling,
/// and the base of each kind has a key of its own, if the type reads them at all.
RopePlace place_of(ConfigReader& in, const std::string& layer, const std::string& object,
                   const Names& types) {
  RopePlace place{.layer = layer, .object = now + "." + layer};
  const std::string theta = place.object + ".rope_theta";
  const ModelType* type = in.type();
  const bool sliding = layer == "sliding_attention", olmo = in.type_name() == "olmo3";
  const bool reads_old = in.reads_old_layers();
  if (object == before && !reads_old)
    in.fail(before, "is not read by this type, which has rope_parameters for each kind of layers");
  if (object == before && in.holds("rope_scaling.type") && !in.holds("rope_scaling.rope_type"))
    in.fail("rope_scaling.type", "is read by some releases and not by others: call it rope_type");
  const bool local = sliding && type != nullptr && !type->local_theta.empty();
  if (local) place.theta_keys = {type->local_theta};
  if (reads_old && !local && !(olmo && sliding)) place.theta_keys = in.keys_of("theta");
  if (olmo && sliding && in.holds("rope_theta") && !in.is_object(place.object) &&
      in.number("rope_theta") != in.number(theta))
    in.fail("rope_theta", "is for all layers in some releases and for some layers in others");
  place.theta_keys.push_back(theta);
  place.count = std::ranges::count(types, layer);
  place.rotated = !in.is_null(place.object);
  if (object == before && (!sliding || in.type_name().starts_with("modernbert")))
    place.object = before;
  return place;
}

bool attends(const std::string& type) {
  const auto says = [&](const char* word) { return type.find(word) != type.npos; };
  return (says("attention") && !says("linear")) || says("hybrid") || type == "minimax_m3_sparse";
}

/// Adds the layers that no key of the rope parameters names.
void add_unrotated(ConfigReader& in, const Names& types, std::vector<RopePlace>& places) {
  Names others;
  if (places[0].layer.empty()) places[0].count = std::ranges::count_if(types, attends);
  for (const std::string& type : types)
    if (!attends(type) && !contains(others, type)) others.push_back(type);
  for (const std::string& name : others)
    places.push_back({.layer = name, .count = std::ranges::count(types, name), .rotated = false});
  const bool listed =
      std::ranges::any_of(places, [](const RopePlace& place) { return !place.rotated; });
  const Unrotated kind = in.type() == nullptr ? Unrotated::none : in.type()->unrotated;
  if (kind == Unrotated::none || listed) return;
  const bool no_window = in.is_null("sliding_window");
  if (kind == Unrotated::full_or_all && no_window)
    in.fail("sliding_window", "is null: this model rotates nothing");
  std::vector<bool> plain;  // of each layer: whether it is not rotated
  const auto layers = in.size("num_hidden_layers");
  const auto flags = in.holds("no_rope_layers") ? in.numbers("no_rope_layers") : std::nullopt;
  if (flags && !flags->empty()) {
    if (layers && static_cast<std::int64_t>(flags->size()) != *layers)
      in.fail("no_rope_layers",
              fmt::format("has {} numbers, but num_hidden_layers is {}", flags->size(), *layers));
    for (const double flag : *flags) {
      if (flag != 0 && flag != 1) in.fail("no_rope_layers", fmt::format("{} is not 0 or 1", flag));
      plain.push_back(flag == 0);
    }
  } else if (kind == Unrotated::flags && layers) {
    const auto interval = in.size("no_rope_layer_interval").value_or(4);
    for (std::int64_t i = 1; i <= *layers; ++i) plain.push_back(i % interval == 0);
  } else if (kind == Unrotated::full || kind == Unrotated::full_or_all ||
             kind == Unrotated::full_if_sliding) {
    const bool any = kind != Unrotated::full_if_sliding || !no_window;
    for (const std::string& type : types) plain.push_back(any && type == "full_attention");
  }
  const RopePlace none{
      .layer = "without rotation", .count = std::ranges::count(plain, true), .rotated = false};
  if (!plain.empty() && places.size() == 1) places[0].count = std::ssize(plain) - none.count;
  if (!plain.empty() && none.count == 0) return;
  if (!plain.empty() && none.count == static_cast<std::int64_t>(plain.size()))
    in.fail(flags ? "no_rope_layers" : "layer_types", "this model rotates nothing");
  places.push_back(none);
}

/// One place for each base of a list with the base of each layer. Of some types the list only says
/// which layers are rotated.
std::vector<RopePlace> places_by_theta(ConfigReader& in, const std::string& object) {
  const bool bases = !in.type_name().starts_with("muse");
  std::vector<RopePlace> places, unrotated;
  const std::vector<double> thetas = *in.numbers(in.type()->layer_thetas);
  const auto layers = in.size("num_hidden_layers");
  if (layers && static_cast<std::int64_t>(thetas.size()) != *layers)
    in.fail(in.type()->layer_thetas,
            fmt::format("has {} numbers, but num_hidden_layers is {}", thetas.size(), *layers));
  for (const double theta : thetas) {
    auto& kind = theta == 0 ? unrotated : places;
    RopePlace next{.layer = theta == 0 ? "without rotation" : "rotated", .rotated = theta != 0};
    next.object = object;
    next.theta_keys = in.keys_of("theta");
    if (bases && next.rotated) next.theta = theta, next.layer = fmt::format("theta-{}", theta);
    auto place =
        std::ranges::find_if(kind, [&](const RopePlace& each) { return each.layer == next.layer; });
    if (place == kind.end()) place = kind.insert(kind.end(), next);
    ++place->count;
  }
  places.insert(places.end(), unrotated.begin(), unrotated.end());
  if (places.size() == 1) places[0].layer.clear();
  return places;
}

}  // namespace

std::vector<RopePlace> rope_places(ConfigReader& in) {
  const std::string object = rope_object(in);
  if (in.type() != nullptr && in.holds(in.type()->layer_thetas)) return places_by_theta(in, object);
  const Names types = layer_types(in);
  Names layers = nested_layers(in, types);
  const bool nested = !layers.empty();
  if (in.type() != nullptr)
    for (const std::string& name : in.type()->layers)
      if (!contains(layers, name)) layers.push_back(name);
  if (!nested && !layers.empty() && !in.members(now).empty())
    in.fail(now, fmt::format("does not say which layers it is for: {}", fmt::join(layers, ", ")));
  // Where there are layers with full attention, they are timed.
  std::stable_partition(layers.begin(), layers.end(),
                        [](const std::string& each) { return each == "full_attention"; });
  std::vector<RopePlace> places;
  for (const std::string& layer : layers) {
    if (!types.empty() && !contains(types, layer)) continue;
    places.push_back(place_of(in, layer, object, types));
  }
  std::stable_partition(places.begin(), places.end(),
                        [](const RopePlace& each) { return each.rotated; });
  if (places.empty() && !types.empty() && (!layers.empty() || std::ranges::none_of(types, attends)))
    in.fail("layer_types", "no layer of this model is of a kind that is rotated");
  if (places.empty())
    places.push_back({.layer = "", .object = object, .theta_keys = in.keys_of("theta")});
  add_unrotated(in, types, places);
  return places;
}

}  // namespace ropewalk::bench
