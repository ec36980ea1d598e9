// How many heads a model has, how long they are, and which elements make a pair.
#include <fmt/format.h>

#include "benchmarks/configs/config.h"
#include "harness/cases/names.h"

namespace ropewalk::bench {
using namespace harness;
namespace {

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

}  // namespace

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

}  // namespace ropewalk::bench
