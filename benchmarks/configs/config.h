// The fields of a config.json as the code of its model_type reads them, and its rotation. Each read
// throws BadFile as parse_model_config does.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "benchmarks/configs/json_fields.h"
#include "benchmarks/configs/model_config.h"
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
  JsonFields facts;                   ///< what a missing key means
  bool k_like_q = false;              ///< a missing kv_heads: K has as many heads as Q
  std::int64_t width_share = 1;       ///< a missing head_dim is as many times width / heads
  std::vector<std::string> ignores;   ///< keys that this type's code does not read
  std::vector<std::string> disputed;  ///< missing keys that releases replace differently
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

/// A value as a message shows it, e.g. "'llama'" or "a list of 3".
std::string text_of(const JsonValue& value);

/// Reads the part about text, and notes what was used. A value comes from the file, or else from
/// the code of its type; the config notes which. Each read throws BadFile, which names file and
/// key, for a value of another kind.
class ConfigReader {
 public:
  ConfigReader(JsonFields fields, const std::string& file, ModelConfig& config);

  /// NULL if the table does not have it.
  const ModelType* type() const { return type_; }
  /// The model_type of the text part; empty if the file has none.
  const std::string& type_name() const { return config_.model_type; }

  [[noreturn]] void fail(const std::string& key, const std::string& what) const;

  /// NULL if the key is missing or null, and the type has no value for it.
  const JsonValue* find(const std::string& key);
  /// The same in the text part or the whole file, without the type.
  const JsonValue* find_beside(const std::string& key);
  /// Whether the code of the type does not read the key.
  bool ignores(const std::string& key) const;
  /// Whether the type reads rope keys beside its rope_parameters for each kind of layers.
  bool reads_old_layers() const;
  /// Whether the file gives another value than this to a key that is not read.
  bool contradicts(const std::string& key, const JsonValue& value) const;
  /// A type may not read the rotated share itself, but all rules of transformers except the plain
  /// one do.
  bool plain_rule_ignores_share() const;
  /// Whether the file has the key, and a value that is not null.
  bool holds(const std::string& key) const;
  bool is_null(const std::string& key) const { return is(key, JsonKind::null); }
  bool is_object(const std::string& key) const { return is(key, JsonKind::object); }
  /// The names of an object's members. With `own` those of the type's object, if the file has none.
  std::vector<std::string> members(const std::string& object) const;
  /// Whether two objects have the same members.
  bool same(const std::string& a, const std::string& b) const;

  /// An integer from 1 to `largest`.
  std::optional<std::int64_t> size(const std::string& key, std::int64_t largest);
  /// More heads, or a longer head, are taken for a typing error.
  std::optional<std::int64_t> size(const std::string& key) { return size(key, 1 << 20); }
  std::optional<std::int64_t> positions(const std::string& key) { return size(key, 1LL << 31); }
  std::optional<double> number(const std::string& key);  ///< finite
  std::optional<std::string> word(const std::string& key);
  std::optional<bool> flag(const std::string& key);
  std::optional<std::vector<double>> numbers(const std::string& key);  ///< each finite
  std::optional<std::vector<std::string>> words(const std::string& key);

  /// From here on a fact is that of these layers, which layer_types calls so; empty: of all.
  void read_for(const std::string& layer);
  const std::string& layer() const { return layer_; }
  /// The file's keys of a fact of ModelType, as the type calls them. The first is for messages.
  std::vector<std::string> keys_of(std::string_view fact) const;
  /// The common value of keys that mean the same: the file's, which may not differ, or the type's.
  template <class Value>
  std::optional<Value> one_of(const std::vector<std::string>& keys,
                              std::optional<Value> (ConfigReader::*read)(const std::string&)) {
    std::optional<Value> value;
    std::string first;
    for (const std::string& key : keys) {
      const auto found = holds(key) ? (this->*read)(key) : std::nullopt;
      if (found && value && *found != *value)
        fail(key,
             "is " + text_of(*found) + ", but " + first + " is " + text_of(*value) + ": leave one");
      if (found && !value) value = found, first = key;
    }
    for (auto key = keys.begin(); !value && key != keys.end(); ++key) value = (this->*read)(*key);
    return value;
  }
  /// The same; an answer of the command line counts before both, and never silently.
  template <class Value>
  std::optional<Value> answered(const std::optional<Value>& answer, const char* option,
                                const std::vector<std::string>& keys,
                                std::optional<Value> (ConfigReader::*read)(const std::string&)) {
    if (!answer) return one_of(keys, read);
    bool otherwise = false;
    for (const std::string& key : keys)
      otherwise = otherwise || (holds(key) && (this->*read)(key) != answer);
    assume(keys.front() + " " + text_of(*answer) + ", as " + option + " says" +
           (otherwise ? " (the file says otherwise)" : ""));
    return answer;
  }

  void assume(const std::string& what);
  void leave_out(const std::string& what) { config_.not_timed.push_back(what); }

  /// Reports fields about positions or heads that were not used.
  void report_ignored();

 private:
  void find_type();
  bool is(const std::string& key, JsonKind kind) const;
  template <class Value, class Fits>
  std::optional<Value> value_that(const std::string& key, const std::string& wanted, Fits&& fits);

  JsonFields fields_;
  const std::string& file_;
  ModelConfig& config_;
  std::string prefix_;  ///< the place of the text part: empty, or names that end with a dot
  const ModelType* type_ = nullptr;
  JsonFields outer_facts_;  ///< what types around the text part take for a key that it lacks
  JsonFields defaults_;     ///< what the type's code takes, by the keys of a file
  std::set<std::string> used_;
  std::string layer_, layer_object_;  ///< the layers that are read, and where 5.x keeps their sizes
};

/// Where the rope parameters of some layers stand.
struct RopePlace {
  std::string layer = {};  ///< empty: of all layers
  std::string object =
      {};  ///< "rope_scaling" or "rope_parameters.full_attention"; empty: there is none
  std::vector<std::string> theta_keys = {};  ///< the keys that state the base
  std::int64_t count = 0;                    ///< of the layers; 0: unknown
  std::optional<double> theta = {};          ///< the base, if a list of all layers has it
  bool rotated = true;
};

/// Window, base, rule and scale of the layers of one place. Returns the positions of the original
/// context; 0: unknown.
std::int64_t read_rotation(ConfigReader& in, const RopePlace& place, const ConfigAnswers& answers,
                           Workload& w);

/// The axis of each pair, of M-RoPE and of vision towers.
void read_axes(ConfigReader& in, const RopePlace& place, Workload& w);

}  // namespace ropewalk::bench
