// What a model's config comes to, as facts and as JSON.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "benchmarks/configs/model_config.h"

namespace ropewalk::bench {

/// Each with what it is of.
using NamedTexts = std::vector<std::pair<std::string, std::string>>;

/// Heads, window, base, pairing, rule with its values, factor on cos and sin, context and data
/// type. Then the axes of the positions and the kinds of layers, if there are several.
NamedTexts answer_facts(const ModelConfig& config);

/// The first nine of them, up to the data type.
NamedTexts shape_facts(const ModelConfig& config);

/// Heads, and a row for each pair: inv_freq in rad per position, its wavelength in positions, what
/// the plain frequency was divided by, the turns in the original context, and the axis if there are
/// several.
std::vector<std::vector<std::string>> pair_rows(const ModelConfig& config);

/// One JSON object with all of it. A frequency has as many digits as give the same double again.
std::string config_json(const ModelConfig& config);

}  // namespace ropewalk::bench
