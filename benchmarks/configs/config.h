// The parts of reading a config.json: heads, rotation and layers. Each throws BadFile as
// parse_model_config does.
#pragma once
#include <string>
#include <vector>

#include "benchmarks/configs/config_fields.h"
#include "benchmarks/configs/model_config.h"

namespace ropewalk::bench {

/// Refuses a model that rotates nothing, and fields that change the shape in an unknown way.
void refuse_what_is_foreign(ConfigReader& in);

void read_pairing(ConfigReader& in, const std::string& answer, Workload& w);

/// Heads, head_dim, and the window of latent attention, of the layers that `in` reads for.
void read_heads(ConfigReader& in, const ConfigAnswers& answers, Workload& w);

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

/// One place, or one for each kind of layers. The rotated ones come first.
std::vector<RopePlace> rope_places(ConfigReader& in);

/// Window, base, rule and scale of the layers of one place. Returns the positions of the original
/// context; 0: unknown.
std::int64_t read_rotation(ConfigReader& in, const RopePlace& place, const ConfigAnswers& answers,
                           Workload& w);

/// The axis of each pair, of M-RoPE and of vision towers.
void read_axes(ConfigReader& in, const RopePlace& place, Workload& w);

}  // namespace ropewalk::bench
