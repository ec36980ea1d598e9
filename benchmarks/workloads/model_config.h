// A model's config.json (as Hugging Face's transformers write it) as the shape to time. What cannot
// be known from it is refused or said, never guessed.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "benchmarks/workloads/workloads.h"

namespace ropewalk::bench {

/// What a file was found to say.
struct ModelConfig {
  Workload shape;                      ///< name: the model's; no phase, batch and tokens yet
  std::vector<std::string> read;       ///< "num_attention_heads = 32", each key that was used
  std::vector<std::string> assumed;    ///< what a missing key means for this model_type
  std::vector<std::string> ignored;    ///< keys about positions that change nothing here
  std::vector<std::string> not_timed;  ///< what the model does and the workload does not
};

/// `pairing`: half_split, interleaved, or empty for what the model_type says. `name`: of the model.
/// Throws BadFile (`file`, the key and what to mend) for what is no such file, for keys that are
/// missing, of another type, out of range or at odds with each other, and for what is not known.
ModelConfig parse_model_config(std::string_view text, const std::string& file,
                               std::string_view pairing, const std::string& name);

/// The same for a file of at most 1 MiB; the name is model_name_of() it.
ModelConfig load_model_config(const std::filesystem::path& file, std::string_view pairing);

/// What to call the model of a file: the file, unless it is just config.json; else its folder; in a
/// cache of Hugging Face the model of that folder. Of a-z, 0-9, '.', '_' and '-'.
std::string model_name_of(const std::filesystem::path& file);

}  // namespace ropewalk::bench
