// Reads a model's config.json (as Hugging Face's transformers write it) as the shape to time. A
// fact that the file does not give is refused or reported, never guessed.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "benchmarks/workloads/workloads.h"

namespace ropewalk::bench {

/// What was found in a file.
struct ModelConfig {
  Workload shape;                      ///< named as the model; without phase, batch and tokens
  std::vector<std::string> read;       ///< each key that was used, e.g. "num_attention_heads = 32"
  std::vector<std::string> assumed;    ///< what a missing key means for this model_type
  std::vector<std::string> ignored;    ///< keys about positions that change nothing here
  std::vector<std::string> not_timed;  ///< what the model does and the workload does not
};

/// Reads a config. `pairing` is half_split, interleaved, or empty to follow the model_type. `name`
/// is the model's name. Throws BadFile, which names `file`, the key and what to mend. It throws for
/// text that is no config, and for values that are not known. It also throws for keys that are
/// missing, of another type, out of range or contradictory.
ModelConfig parse_model_config(std::string_view text, const std::string& file,
                               std::string_view pairing, const std::string& name);

/// The same for a file of at most 1 MiB. The name is model_name_of(file).
ModelConfig load_model_config(const std::filesystem::path& file, std::string_view pairing);

/// The name of the model in a file. It is the file's name, or the folder's name if the file is just
/// config.json. In a cache of Hugging Face it is the model of that folder. Made of a-z, 0-9, '.',
/// '_', '-'.
std::string model_name_of(const std::filesystem::path& file);

}  // namespace ropewalk::bench
