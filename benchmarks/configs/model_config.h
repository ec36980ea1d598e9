// Reads a model's config.json (as Hugging Face's transformers write it) as the shape to time. A
// fact that neither the file nor the code of its model_type gives is refused, never guessed.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "benchmarks/workloads/workloads.h"

namespace ropewalk::bench {

/// What the command line says about a model, where its file leaves it out.
struct ConfigAnswers {
  std::string pairing = {};  ///< half_split or interleaved
  std::optional<double> theta = {};
  std::optional<std::int64_t> heads = {}, kv_heads = {};
  std::optional<std::int64_t> context = {};  ///< tokens of a sequence, for a rule that needs them
  std::string layer = {};                    ///< the name of the layers that are timed
  bool operator==(const ConfigAnswers&) const = default;
};

/// Layers of one kind.
struct ModelLayers {
  std::string name;        ///< e.g. "sliding_attention"
  std::int64_t count = 0;  ///< 0: unknown
  bool rotated = true;
  Workload shape;  ///< if rotated
};

/// What was found in a file.
struct ModelConfig {
  /// Named as the model, with the axis of each pair; without phase, batch and tokens.
  Workload shape;
  std::string model_type;               ///< of the text part; empty: the file has none
  std::int64_t original_positions = 0;  ///< of the training; 0: unknown
  std::int64_t context = 0;             ///< that the frequencies are for; 0: within the original
  std::vector<ModelLayers> layers;      ///< empty: all layers are equal
  std::vector<std::string> read;        ///< each key that was used: "num_attention_heads = 32"
  std::vector<std::string> assumed;     ///< what a missing key means for this model_type
  std::vector<std::string> ignored;     ///< keys about positions that change nothing here
  std::vector<std::string> not_timed;   ///< what the model does and the workload does not
};

/// Reads a config. `name` is the model's name. Throws BadFile, which names `file`, the key and what
/// to mend. It throws for text that is no config, for values that are not known, and for models
/// that rotate nothing. It also throws for keys that are missing, of another type, out of range or
/// contradictory.
ModelConfig parse_model_config(std::string_view text, const std::string& file,
                               const ConfigAnswers& answers, const std::string& name);

/// The same for a file of at most 8 MiB. The name is model_name_of(file).
ModelConfig load_model_config(const std::filesystem::path& file, const ConfigAnswers& answers);

/// The name of the model in a file. It is the file's name, or the folder's name if the file is just
/// config.json. In a cache of Hugging Face it is the model of that folder. Made of a-z, 0-9, '.',
/// '_', '-'.
std::string model_name_of(const std::filesystem::path& file);

}  // namespace ropewalk::bench
