#include "benchmarks/configs/model_config.h"

#include <fmt/format.h>

#include <map>

#include "base/text_file.h"
#include "benchmarks/configs/config.h"

namespace ropewalk::bench {
namespace {

/// The type of the model's data. One that is not timed, such as an 8-bit type, is no fault.
void read_dtype(ConfigReader& in, Workload& w) {
  static const std::map<std::string_view, Dtype> types = {{"float32", Dtype::f32},
                                                          {"float64", Dtype::f64},
                                                          {"float16", Dtype::f16},
                                                          {"bfloat16", Dtype::bf16}};
  const auto either = [&](auto find) {
    const JsonValue *now = (in.*find)("dtype"), *before = (in.*find)("torch_dtype");
    if (now != nullptr && before != nullptr && *now != *before)
      in.fail("torch_dtype", "differs from dtype: leave one");
    return now == nullptr ? before : now;
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
