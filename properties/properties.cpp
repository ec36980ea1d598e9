#include "properties/property.h"

namespace ropewalk {

const std::vector<const Property*>& all_properties() {
  static const std::vector<const Property*> list = {
      &agreement,        &position_sweep, &norm,           &relative_position, &decay,
      &identity_at_zero, &transpose,      &untouched_dims, &unwritten_outputs};
  return list;
}

}  // namespace ropewalk
