#include "properties/property.h"

namespace ropewalk::properties {

const std::vector<const Property*>& all_properties() {
  static const std::vector<const Property*> list = {
      &agreement,        &position_sweep, &norm,           &relative_position, &decay,
      &identity_at_zero, &transpose,      &adjoint,        &composition,       &phase_step,
      &quarter_turn,     &linearity,      &power_of_two,   &attention_scale,   &negative_positions,
      &position_types,   &pair_locality,  &placement,      &strides,           &order,
      &chunks,           &tensors_apart,  &untouched_dims, &unwritten_outputs, &history,
      &threads,          &alignment,      &sizes,          &shared_inputs,     &frequencies,
      &far_strides};
  return list;
}

}  // namespace ropewalk::properties
