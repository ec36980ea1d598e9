// What a config.json leaves out because the model's own code knows it: model_types.toml.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "benchmarks/configs/json_fields.h"
#include "kernels/api/types.h"

namespace ropewalk::bench {

/// How the sections of M-RoPE lie over the pairs. chunked: consecutive blocks. interleaved: t h w t
/// h w and so on, then t. alternating: h w h w and so on, then t. The others are those of vision
/// towers, whose axes have equal numbers of pairs: blocks of h and w; of w and h; of t, h and w; w
/// and h in turn; and blocks of h and w to which the frequencies of the head are dealt in turn.
enum class Axes { one, chunked, interleaved, alternating, hw, wh, thw, w_h_in_turn, hw_dealt };

/// Which layers of a type are not rotated. With full attention: those that layer_types calls so.
enum class Unrotated {
  none,
  flags,            ///< those of a 0 in no_rope_layers; without it each no_rope_layer_interval-th
  full,             ///< those with full attention
  full_if_sliding,  ///< the same, if sliding_window is a number
  full_or_all,      ///< the same, and all if sliding_window is null
  null_parameters,  ///< those whose rope parameters are null
  zero_theta        ///< those of a 0 in the list of bases
};

/// One model_type of Hugging Face's transformers. A fact is heads, kv_heads, width, head_dim,
/// theta, share (of a head that is rotated), rotary_dim, positions, original (positions of the
/// training), nope_head_dim or rope_head_dim.
struct ModelType {
  std::string refused;          ///< why no config of this type can be timed; empty: it can
  std::string part, part_type;  ///< where the text model's fields lie, and of which type they are
  bool flat = false;            ///< they may lie beside a part that is missing
  std::optional<Pairing> pairing;  ///< of the weights as stored there
  std::string pairing_key;         ///< a flag of the file that decides; true: interleaved
  /// The file's keys of a fact ("heads" -> "n_head") that has not the usual one.
  std::map<std::string, std::vector<std::string>, std::less<>> names;
  JsonFields facts;                  ///< what a missing key means
  bool k_like_q = false;             ///< a missing kv_heads: K has as many heads as Q
  std::int64_t width_share = 1;      ///< a missing head_dim is as many times width / heads
  std::vector<std::string> ignores;  ///< keys that this type's code does not read
  std::vector<std::string>
      disputed;  ///< keys that releases replace differently if they are missing
  /// A key and its value, without which, or with which, the model rotates nothing.
  JsonFields rotates_if, refused_if;
  bool latent = false;              ///< multi-head latent attention, with one rotated key
  JsonFields rope;                  ///< the rope parameters where the file has none
  std::vector<std::string> layers;  ///< layer types with rope parameters of their own
  JsonFields layer_rope;            ///< their defaults: "sliding_attention.rope_theta"
  /// Their keys of a fact: "full_attention.head_dim" -> "global_head_dim".
  std::map<std::string, std::vector<std::string>, std::less<>> layer_keys;
  JsonFields layer_shape;    ///< and its defaults
  std::string layer_thetas;  ///< the key of a list with the base of each layer; 0: none
  std::string layer_heads;   ///< the key of a list with the heads of Q of each layer
  std::string not_timed;     ///< what its code does beside the rotation of text
  std::string local_theta;   ///< the old key of the base of the sliding layers
  Unrotated unrotated = Unrotated::none;
  Axes axes = Axes::one;
  std::vector<double> sections;  ///< the default of mrope_section
};

using ModelTypes = std::map<std::string, ModelType, std::less<>>;

/// benchmarks/configs/model_types.toml as it was when this binary was built. The types of its list
/// rotates_nothing are refused, unless they have a text_config of another type.
const ModelTypes& all_model_types();
std::string_view model_types_text();

/// NULL for a type that is not known.
const ModelType* find_model_type(std::string_view name);

}  // namespace ropewalk::bench
