#include "benchmarks/configs/model_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "base/text_file.h"
#include "benchmarks/configs/config_fields.h"
#include "benchmarks/configs/model_types.h"
#include "benchmarks/workloads/scaling.h"
#include "benchmarks/workloads/workload_shape.h"
#include "harness/cases/names.h"

namespace ropewalk::bench {
using namespace harness;
namespace {

/// Refuses fields that change the shape in a way that is not known here.
void refuse_what_is_foreign(ConfigReader& in) {
  for (const char* key :
       {"alibi", "multi_query", "multi_query_attention", "new_decoder_architecture",
        "multi_query_group_num", "kv_channels", "attn_config", "rope_ratio"})
    if (in.holds(key) && *in.find(key) != JsonValue(false))
      in.fail(key, "is not understood here; give the shape with --shape");
  const auto kind = in.word("position_embedding_type");
  if (kind && *kind != "rope" && *kind != "rotary")
    in.fail("position_embedding_type", "is '" + shown(*kind) + "': no rotary embedding");
}

/// The pairing that a file states, if it states one.
std::optional<Pairing> own_pairing(ConfigReader& in, const ModelType* type) {
  if (const auto interleave = in.flag("rope_interleave"))
    return *interleave ? Pairing::interleaved : Pairing::half_split;
  return type != nullptr ? std::optional(type->pairing) : std::nullopt;
}

const ModelType* read_type(ConfigReader& in, std::string_view pairing, Workload& w) {
  const auto word = in.word("model_type");
  const ModelType* type = word ? find_model_type(*word) : nullptr;
  const std::optional<Pairing> own = own_pairing(in, type);
  if (!pairing.empty()) {
    w.pairing =
        pairing == word_of(Pairing::interleaved) ? Pairing::interleaved : Pairing::half_split;
    in.assume(fmt::format("pairing {}, as --pairing says{}", pairing,
                          !own || own == w.pairing ? "" : " (the file says otherwise)"));
    return type;
  }
  if (!own)
    in.fail("model_type", word ? "'" + shown(*word) +
                                     "' is not known here: give --pairing half_split or --pairing "
                                     "interleaved, as the model pairs its elements"
                               : "is missing: give --pairing half_split or --pairing interleaved");
  w.pairing = *own;
  in.assume(fmt::format("pairing {}, as model_type or rope_interleave says", word_of(*own)));
  return type;
}

/// Multi-head latent attention: the end of each query head is rotated, and one key shared by all
/// heads.
void read_latent_heads(ConfigReader& in, Workload& w) {
  const auto plain = in.size("qk_nope_head_dim"), rank = in.size("kv_lora_rank");
  for (const auto& [key, value] : {std::pair("qk_nope_head_dim", plain), {"kv_lora_rank", rank}})
    if (!value) in.fail(key, "is missing beside qk_rope_head_dim");
  w.rotary_dim = *in.size("qk_rope_head_dim");
  w.tensors[0].head_dim = *plain + w.rotary_dim;
  w.tensors[0].rotary_offset = *plain;
  w.tensors[1].head_dim = w.rotary_dim;
  in.assume("one rotated key for all heads, since there is a kv_lora_rank");
}

void read_heads(ConfigReader& in, const ModelType* type, Workload& w) {
  const auto heads =
      in.one_of<std::int64_t>({"num_attention_heads", "n_head"}, &ConfigReader::size);
  if (!heads) in.fail("num_attention_heads", "is missing (and so is n_head)");
  w.tensors[0].heads = *heads;
  if (in.holds("qk_rope_head_dim")) return read_latent_heads(in, w);
  const auto k_heads = in.size("num_key_value_heads");
  if (!k_heads && (type == nullptr || !type->own_k_heads))
    in.fail("num_key_value_heads",
            "is missing, and what that means for this model_type is not "
            "known here");
  if (!k_heads) in.assume("num_key_value_heads is missing: K has as many heads as Q");
  w.tensors[1].heads = k_heads.value_or(*heads);
  auto head_dim = in.size("head_dim");
  if (!head_dim) {
    const auto width = in.one_of<std::int64_t>({"hidden_size", "n_embd"}, &ConfigReader::size);
    if (!width || (type != nullptr && !type->even_head_dim))
      in.fail("head_dim", "is missing, and it cannot be told from the rest");
    if (*width % *heads != 0)
      in.fail("hidden_size", fmt::format("{} is no multiple of {} heads", *width, *heads));
    head_dim = *width / *heads;
    in.assume(fmt::format("head_dim {}, the width over the heads", *head_dim));
  }
  w.tensors[0].head_dim = w.tensors[1].head_dim = *head_dim;
}

void read_rotary_dim(ConfigReader& in, const ModelType* type, const std::string& rope,
                     Workload& w) {
  std::vector<std::string> names = {"partial_rotary_factor", "rotary_pct"};
  if (!rope.empty()) names.push_back(rope + ".partial_rotary_factor");
  const auto share = in.one_of<double>(names, &ConfigReader::number);
  const auto said = in.size("rotary_dim");
  if (w.tensors[0].rotary_offset > 0) return;  // latent attention has set rotary_dim already
  const std::int64_t head_dim = w.tensors[0].head_dim;
  if (share && !(*share > 0 && *share <= 1))
    in.fail(names[0], fmt::format("is {}; the part of a head that is rotated must be above 0 and "
                                  "at most 1",
                                  *share));
  // Truncated, as in the models' own code.
  const auto by_share =
      static_cast<std::int64_t>(static_cast<double>(head_dim) * share.value_or(1));
  if (said && share && *said != by_share)
    in.fail("rotary_dim",
            fmt::format("is {}, but {} of {} is {}", *said, *share, head_dim, by_share));
  if (!said && !share) {
    if (type != nullptr && !type->whole_head)
      in.fail("partial_rotary_factor",
              "is missing (and so are rotary_pct and rotary_dim), and this model_type does not "
              "rotate whole heads");
    if (type == nullptr) in.assume("the whole head is rotated, since nothing says otherwise");
  }
  w.rotary_dim = said.value_or(by_share);
}

void read_theta(ConfigReader& in, const ModelType* type, const std::string& rope, Workload& w) {
  std::vector<std::string> names = {"rope_theta", "rotary_emb_base"};
  if (!rope.empty()) names.push_back(rope + ".rope_theta");
  const auto theta = in.one_of<double>(names, &ConfigReader::number);
  if (!theta && (type == nullptr || type->rope_theta == 0))
    in.fail("rope_theta", "is missing, and what that means for this model_type is not known here");
  if (!theta) in.assume(fmt::format("rope_theta {}, of this model_type's code", type->rope_theta));
  w.rope_theta = theta ? *theta : type->rope_theta;
}

/// The type of the model's data. One that is not timed, such as an 8-bit type, is no fault.
void read_dtype(ConfigReader& in, Workload& w) {
  static const std::map<std::string_view, Dtype> types = {{"float32", Dtype::f32},
                                                          {"float64", Dtype::f64},
                                                          {"float16", Dtype::f16},
                                                          {"bfloat16", Dtype::bf16}};
  const JsonValue* value = in.find_beside("dtype");
  if (value == nullptr) value = in.find_beside("torch_dtype");
  if (value == nullptr) return in.assume("data of f32: neither dtype nor torch_dtype is there");
  const auto* text = std::get_if<std::string>(value);
  const auto found = text == nullptr ? types.end() : types.find(*text);
  if (found == types.end())
    return in.leave_out(fmt::format("dtype {}: timed in f32", text_of(*value)));
  w.dtype = found->second;
}

/// The object that states the frequencies; empty if there is none.
std::string rope_object(ConfigReader& in) {
  const std::string now = "rope_parameters", before = "rope_scaling";
  for (const std::string& key : {now, before})
    if (in.holds(key) && !in.is_object(key)) in.fail(key, "must be an object or null");
  if (in.holds(now) && in.holds(before))
    in.fail(before, "stands beside rope_parameters: leave one");
  if (in.holds(before)) return before;
  if (!in.holds(now)) return {};
  if (!in.is_object(now + ".full_attention")) return now;
  in.leave_out("the layers with sliding attention; those with full attention are timed");
  return now + ".full_attention";
}

/// Reads each parameter of a rule. `type` is the file's word for the rule.
void read_parameters(ConfigReader& in, const std::string& rope, const FrequencyRule& rule,
                     const std::string& type, Workload& w) {
  w.scaling = rule.name;
  for (const RuleParameter& parameter : rule.parameters) {
    const std::string key = fmt::format("{}.{}", rope, parameter.config_key);
    const auto value =
        parameter.count
            ? std::optional<double>(in.size(key, static_cast<std::int64_t>(parameter.most)))
            : in.number(key);
    if (!value && !parameter.otherwise) in.fail(key, "is missing, and " + type + " needs it");
    if (!value)
      in.assume(fmt::format("{} {}, as {} takes it", parameter.key, *parameter.otherwise, type));
    w.scaling_values.push_back(value ? *value : *parameter.otherwise);
  }
}

void read_scaling(ConfigReader& in, const std::string& rope, Workload& w) {
  if (rope.empty()) return;
  const auto now = in.word(rope + ".rope_type"), before = in.word(rope + ".type");
  if (in.holds(rope + ".mrope_section") || now == "mrope" || before == "mrope") {
    in.leave_out("positions of pictures (mrope): each token has one position, as in text");
    if (!now || *now == "mrope" || *now == "default") return;
  }
  if (now && before && *now != *before)
    in.fail(rope + ".type", "differs from rope_type: leave one");
  if (!now && !before && rope == "rope_scaling") in.fail(rope + ".rope_type", "is missing");
  const std::string type = now ? *now : before.value_or("default");
  const char* note = stand_in_note(type);
  const FrequencyRule* rule = find_rule_of_config(type);
  if (note == nullptr && rule != nullptr) return read_parameters(in, rope, *rule, type, w);
  if (note == nullptr)
    in.fail(rope + (now ? ".rope_type" : ".type"),
            fmt::format("'{}' is not known here; known: {}", shown(type), known_rope_types()));
  in.leave_out(fmt::format("rope type {}: {}", type, note));
}

bool is_of_rule(const Workload& w, const std::string& key) {
  const auto keys = keys_of(*find_frequency_rule(w.scaling));
  return std::find(keys.begin(), keys.end(), key) != keys.end();
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
                               std::string_view pairing, const std::string& name) {
  ModelConfig config;
  Workload& w = config.shape;
  ConfigReader in(parse_json_fields(text, file), file, config);
  w.name = w.model = name;
  const ModelType* type = read_type(in, pairing, w);
  refuse_what_is_foreign(in);
  read_heads(in, type, w);
  const std::string rope = rope_object(in);
  read_rotary_dim(in, type, rope, w);
  read_theta(in, type, rope, w);
  read_scaling(in, rope, w);
  read_dtype(in, w);
  if (const auto fault = shape_fault(w))
    in.fail(is_of_rule(w, fault->key) ? rope : fault->key, fault->what);
  in.report_ignored();
  w.source = source_of(config);
  return config;
}

ModelConfig load_model_config(const std::filesystem::path& file, std::string_view pairing) {
  return parse_model_config(read_text_file(file), shown_path(file), pairing, model_name_of(file));
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
