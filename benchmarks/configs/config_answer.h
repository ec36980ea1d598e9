// What a model's config comes to, in lines and as JSON.
#pragma once
#include <string>
#include <vector>

#include "benchmarks/configs/model_config.h"

namespace ropewalk::bench {

/// Heads, window, base, pairing, rule with its values, factor on cos and sin, context and data
/// type. Then the axes of the positions and the kinds of layers, if there are several.
std::vector<std::string> answer_lines(const ModelConfig& config);

/// The first nine of them, up to the data type.
std::vector<std::string> shape_lines(const ModelConfig& config);

/// A head line, and one line for each pair: inv_freq in rad per position, its wavelength in
/// positions, what the plain frequency was divided by, and the turns in the original context.
std::vector<std::string> pair_lines(const ModelConfig& config);

/// One JSON object with all of it. A frequency has as many digits as give the same double again.
std::string config_json(const ModelConfig& config);

}  // namespace ropewalk::bench
