// Facts that a config.json leaves out because the model's own code knows them.
#pragma once
#include <string_view>

#include "kernels/api/types.h"

namespace ropewalk::bench {

/// One model_type of Hugging Face's transformers.
struct ModelType {
  std::string_view name;
  // A missing key means this in that model's code. If it is not known here, the value is 0 or
  // false, and the key must be given.
  double rope_theta = 0;      ///< the base
  Pairing pairing;            ///< of the weights as stored there; a config never has it
  bool own_k_heads = false;   ///< K may have as many heads as Q
  bool whole_head = true;     ///< the whole head is rotated
  bool even_head_dim = true;  ///< head_dim is hidden_size / heads
};

/// NULL for a type that is not known.
const ModelType* find_model_type(std::string_view name);

}  // namespace ropewalk::bench
