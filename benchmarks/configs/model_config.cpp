#include "benchmarks/configs/model_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text_file.h"
#include "benchmarks/configs/config.h"
#include "harness/cases/names.h"

namespace ropewalk::bench {
using namespace harness;
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

/// One place, or one for each kind of layers. The rotated ones come first.
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

std::int64_t needed(ConfigReader& in, const std::vector<std::string>& keys) {
  const auto value = in.one_of<std::int64_t>(keys, &ConfigReader::size);
  if (!value) in.fail(keys.front(), "is missing");
  return *value;
}

/// Multi-head latent attention: the end of each query head is rotated, and one key shared by all
/// heads.
void read_latent_heads(ConfigReader& in, Workload& w) {
  const std::int64_t plain = needed(in, in.keys_of("nope_head_dim"));
  if (in.type() == nullptr) needed(in, {"kv_lora_rank"});
  w.rotary_dim = needed(in, in.keys_of("rope_head_dim"));
  w.tensors[0].head_dim = plain + w.rotary_dim;
  if (in.contradicts("head_dim", w.rotary_dim) && in.contradicts("head_dim", w.tensors[0].head_dim))
    in.fail("head_dim", fmt::format("is neither {} nor {}, the elements that are rotated and all",
                                    w.rotary_dim, w.tensors[0].head_dim));
  w.tensors[0].rotary_offset = plain;
  w.tensors[1].head_dim = w.rotary_dim;
  in.assume("one rotated key for all heads: latent attention");
}

/// Falcon's number of key heads depends on two flags.
std::optional<std::int64_t> falcon_k_heads(ConfigReader& in, std::int64_t heads) {
  const bool grouped = in.flag("new_decoder_architecture").value_or(false);
  const auto shared = in.flag("multi_query");
  if (!grouped && !shared) in.assume("multi_query true, of the code of falcon");
  if (!grouped) return shared.value_or(true) ? 1 : heads;
  return in.holds("num_kv_heads") ? in.size("num_kv_heads") : heads;
}

/// The heads of Q that a list of all layers gives to the layers that are read.
std::optional<std::int64_t> listed_heads(ConfigReader& in) {
  const std::string key = in.type() == nullptr ? "" : in.type()->layer_heads;
  if (key.empty() || in.layer().empty() || !in.holds(key)) return std::nullopt;
  const auto list = *in.numbers(key);
  const auto types = *in.words("layer_types");
  if (list.size() != types.size())
    in.fail(key, fmt::format("has {} numbers for {} layers", list.size(), types.size()));
  std::optional<std::int64_t> heads;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (types[i] != in.layer()) continue;
    const auto here = static_cast<std::int64_t>(list[i]);
    if (static_cast<double>(here) != list[i] || here < 1 || here != heads.value_or(here))
      in.fail(key, fmt::format("is {} for one of the {} layers", list[i], in.layer()));
    heads = here;
  }
  return heads;
}

std::int64_t k_heads_of(ConfigReader& in, const ConfigAnswers& answers, std::int64_t heads) {
  const auto keys = in.keys_of("kv_heads");
  if (in.type_name() == "falcon" && !answers.kv_heads) return *falcon_k_heads(in, heads);
  if (in.type_name() == "chatglm" && !in.flag("multi_query_attention").value_or(false))
    return heads;
  const bool known = in.type() != nullptr;
  // A null stands for as many as Q, whatever a missing key means.
  const bool null = known && in.is_null(keys.front()) && !answers.kv_heads;
  const auto found =
      null ? std::nullopt : in.answered(answers.kv_heads, "--kv-heads", keys, &ConfigReader::size);
  if (found) return *found;
  if (!null && (!known || !in.type()->k_like_q))
    in.fail(
        keys.front(),
        "is missing, and what that means for this model_type is not known here: give --kv-heads");
  in.assume(
      fmt::format("{} is {}: K has as many heads as Q", keys.front(), null ? "null" : "missing"));
  return heads;
}

std::int64_t head_dim_of(ConfigReader& in, std::int64_t heads) {
  const auto keys = in.keys_of("head_dim"), wide = in.keys_of("width");
  if (!in.is_null(keys.front()))  // a null stands for the quotient, whatever a missing key means
    if (const auto said = in.one_of<std::int64_t>(keys, &ConfigReader::size)) return *said;
  const auto width = in.one_of<std::int64_t>(wide, &ConfigReader::size);
  if (!width) in.fail(keys.front(), "is missing, and so is " + wide.front());
  const std::int64_t share = in.type() == nullptr ? 1 : in.type()->width_share;
  if (*width * share % heads != 0)
    in.fail(wide.front(), fmt::format("{} is not a multiple of {} heads", *width, heads));
  const std::int64_t head_dim = *width * share / heads;
  if (in.contradicts(keys.front(), head_dim))
    in.fail(keys.front(), fmt::format("is at odds with {} over the heads, which {} takes: {}",
                                      wide.front(), in.type_name(), head_dim));
  in.assume(
      fmt::format("head_dim {}, {}the width over the heads", head_dim, share == 1 ? "" : "twice "));
  return head_dim;
}

void read_pairing(ConfigReader& in, const std::string& answer, Workload& w) {
  const ModelType* type = in.type();
  std::optional<Pairing> own;
  if (type != nullptr) own = type->pairing;
  const std::string key = type == nullptr ? "rope_interleave" : type->pairing_key;
  if (const auto interleave = key.empty() ? std::nullopt : in.flag(key))
    own = *interleave ? Pairing::interleaved : Pairing::half_split;
  if (!answer.empty()) {
    w.pairing =
        answer == word_of(Pairing::interleaved) ? Pairing::interleaved : Pairing::half_split;
    return in.assume(fmt::format("pairing {}, as --pairing says{}", answer,
                                 !own || own == w.pairing ? "" : " (the file says otherwise)"));
  }
  if (!own)
    in.fail(
        "model_type",
        fmt::format("{}: give --pairing half_split or --pairing interleaved, as the model pairs "
                    "its elements",
                    in.type_name().empty() ? "is missing"
                                           : text_of(in.type_name()) + " is not known here"));
  w.pairing = *own;
  in.assume(fmt::format("pairing {}, as model_type{}{} says", word_of(*own),
                        key.empty() ? "" : " or ", key));
}

/// Refuses a model that rotates nothing, and fields that change the shape in an unknown way.
void refuse_what_is_foreign(ConfigReader& in) {
  if (in.type() != nullptr && !in.type()->refused.empty())
    in.fail("model_type", fmt::format("'{}' {}", in.type_name(), in.type()->refused));
  const std::string kind = "position_embedding_type";
  if (in.holds("alibi") && in.flag("alibi").value_or(false))
    in.fail("alibi", "is true: this model rotates nothing");
  if (in.is_null(kind)) in.fail(kind, "is null: this model rotates nothing");
  if (in.type() != nullptr) {
    for (const auto& [key, value] : in.type()->rotates_if)
      if (!in.holds(key) || *in.find(key) != value)
        in.fail(key, fmt::format("is not {}: this model rotates nothing", text_of(value)));
    for (const auto& [key, value] : in.type()->refused_if)
      if (in.holds(key) && *in.find(key) == value)
        in.fail(key, fmt::format("is {}: this model rotates nothing", text_of(value)));
  }
  const auto word = in.word(kind);
  if (word && *word != "rope" && *word != "rotary")
    in.fail(kind, "is " + text_of(*word) + ": this model rotates nothing");
  if (in.type() != nullptr) return;
  for (const char* key : {"multi_query", "multi_query_attention", "new_decoder_architecture",
                          "multi_query_group_num", "kv_channels", "attn_config", "rope_ratio"})
    if (in.holds(key) && *in.find(key) != JsonValue(false))
      in.fail(key, "is not understood for this model_type; give the shape with --shape");
}

/// Heads, head_dim, and the window of latent attention, of the layers that `in` reads for.
void read_heads(ConfigReader& in, const ConfigAnswers& answers, Workload& w) {
  const auto keys = in.keys_of("heads");
  std::optional<std::int64_t> heads = listed_heads(in);
  if (!heads) heads = in.answered(answers.heads, "--heads", keys, &ConfigReader::size);
  if (!heads) in.fail(keys.front(), "is missing: give --heads");
  w.tensors[0].heads = *heads;
  if (in.type() == nullptr ? in.holds("qk_rope_head_dim") : in.type()->latent)
    return read_latent_heads(in, w);
  const std::int64_t k_heads = w.tensors[1].heads = k_heads_of(in, answers, *heads);
  if (*heads % k_heads != 0)
    in.fail(keys.front(), fmt::format("is {}, no multiple of {} heads of K", *heads, k_heads));
  w.tensors[0].head_dim = w.tensors[1].head_dim = head_dim_of(in, *heads);
}

/// The type of the model's data. One that is not timed, such as an 8-bit type, is no fault.
void read_dtype(ConfigReader& in, Workload& w) {
  static const std::map<std::string_view, Dtype> types = {{"float32", Dtype::f32},
                                                          {"float64", Dtype::f64},
                                                          {"float16", Dtype::f16},
                                                          {"bfloat16", Dtype::bf16}};
  const auto either = [&](auto find) {
    const JsonValue *newer = (in.*find)("dtype"), *older = (in.*find)("torch_dtype");
    if (newer != nullptr && older != nullptr && *newer != *older)
      in.fail("torch_dtype", "differs from dtype: leave one");
    return newer == nullptr ? older : newer;
  };
  const JsonValue* value = either(&ConfigReader::find);
  if (value == nullptr) value = either(&ConfigReader::find_beside);
  if (value == nullptr) return in.assume("data of f32: neither dtype nor torch_dtype is there");
  const auto* text = std::get_if<std::string>(value);
  const auto found = text == nullptr ? types.end() : types.find(*text);
  if (found == types.end())
    return in.leave_out(fmt::format("dtype {}: timed in f32", text_of(*value)));
  w.dtype = found->second;
}

/// The layers that are timed: those that --layer names, or else the first that are rotated.
const RopePlace& chosen_of(ConfigReader& in, const std::vector<RopePlace>& places,
                           const std::string& name) {
  std::vector<std::string> names;
  for (const RopePlace& place : places)
    if (place.rotated) names.push_back(place.layer);
  if (names.empty()) in.fail("rope_parameters", "no layer of this model is rotated");
  for (const RopePlace& place : places)
    if (place.rotated && (place.layer == name || name.empty())) return place;
  if (names == std::vector<std::string>{""})
    in.fail("layer_types", fmt::format("--layer {}: all layers rotate alike", shown(name)));
  in.fail("layer_types", fmt::format("--layer {} is not one of the rotated layers: {}", shown(name),
                                     fmt::join(names, ", ")));
}

void read_layers(ConfigReader& in, const ConfigAnswers& answers, ModelConfig& config) {
  const auto places = rope_places(in);
  const RopePlace& chosen = chosen_of(in, places, answers.layer);
  const Workload common = config.shape;
  for (const RopePlace& place : places) {
    ModelLayers layers{place.layer.empty() ? "rotated" : place.layer, place.count, place.rotated,
                       common};
    std::int64_t original = 0;
    in.read_for(place.layer);
    if (place.rotated) read_heads(in, answers, layers.shape);
    if (place.rotated) original = read_rotation(in, place, answers, layers.shape);
    if (&place == &chosen) config.shape = layers.shape, config.original_positions = original;
    if (places.size() > 1) config.layers.push_back(layers);
  }
  read_axes(in, chosen, config.shape);
  config.context = answers.context.value_or(0);
  if (config.layers.empty()) return;
  in.leave_out(chosen.layer.empty()
                   ? "layers that are not rotated"
                   : fmt::format("other layers than {} (--layer names them)", chosen.layer));
}

std::string source_of(const ModelConfig& config) {
  std::string out = fmt::format("config.json: {}", fmt::join(config.read, ", "));
  if (!config.not_timed.empty())
    out += fmt::format("; not timed: {}", fmt::join(config.not_timed, "; "));
  if (!config.assumed.empty()) out += fmt::format("; {}", fmt::join(config.assumed, "; "));
  return shown(out, 900);
}

}  // namespace

ModelConfig parse_model_config(std::string_view text, const std::string& file,
                               const ConfigAnswers& answers, const std::string& name) {
  ModelConfig config;
  ConfigReader in(parse_json_fields(text, file), file, config);
  config.shape.name = config.shape.model = name;
  refuse_what_is_foreign(in);
  if (in.type() != nullptr && !in.type()->not_timed.empty()) in.leave_out(in.type()->not_timed);
  read_pairing(in, answers.pairing, config.shape);
  read_dtype(in, config.shape);
  read_layers(in, answers, config);
  in.report_ignored();
  config.shape.source = source_of(config);
  return config;
}

ModelConfig load_model_config(const std::filesystem::path& file, const ConfigAnswers& answers) {
  return parse_model_config(read_text_file(file, 8), shown_path(file), answers,
                            model_name_of(file));
}

std::string model_name_of(const std::filesystem::path& file) {
  std::error_code error;
  std::filesystem::path whole = std::filesystem::absolute(file, error).lexically_normal();
  if (error) whole = file;
  std::string name = whole.stem().string();
  if (name == "config") {
    const std::filesystem::path folder = whole.parent_path();
    name = folder.filename().string();
    if (folder.parent_path().filename() == "snapshots") {  // models--OWNER--NAME/snapshots/HASH
      const std::string cache = folder.parent_path().parent_path().filename().string();
      const auto at = cache.rfind("--");
      if (at != std::string::npos) name = cache.substr(at + 2);
    }
  }
  std::string out;
  for (const char c : name.substr(0, 60)) {
    const bool upper = c >= 'A' && c <= 'Z';
    const bool kept = upper || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' ||
                      c == '_' || c == '-';
    out += upper ? static_cast<char>(c - 'A' + 'a') : kept ? c : '-';
  }
  return out.find_first_not_of(".-") == std::string::npos ? "model" : out;
}

}  // namespace ropewalk::bench
