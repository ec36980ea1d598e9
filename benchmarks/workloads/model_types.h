// Facts that a config.json leaves out because the model's own code knows them.
#pragma once
#include <string_view>

#include "kernels/api/types.h"

namespace ropewalk::bench {

/// One model_type of Hugging Face's transformers.
struct ModelType {
  std::string_view name;
  Pairing pairing;  ///< of its weights as they are stored there
  /// What a missing key means, as that model's code has it. Where nothing is known here, 0 and
  /// false: the key must then be said.
  double rope_theta = 0;      ///< the base
  bool own_k_heads = false;   ///< K may have as many heads as Q
  bool whole_head = true;     ///< the whole head is rotated
  bool even_head_dim = true;  ///< head_dim is hidden_size / heads
};

/// NULL for a type that is not known.
const ModelType* find_model_type(std::string_view name);

}  // namespace ropewalk::bench
