// Where the wrong elements of a scene are. A place is what was seen, and no cause.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "properties/explain/scene.h"

namespace ropewalk::properties {

struct Scope {
  std::string text;    ///< "only in k, only in heads from 2 on"; empty: everywhere, or no rule
  bool exact = false;  ///< all pairs in this place are wrong
  int call = -1;       ///< the only one of two calls that has wrong pairs; -1: both have some
};

/// `shows`: the pairs that would be wrong if the error were everywhere.
Scope scope_of(const std::vector<const Seen*>& shows);

/// The place of all wrong elements. It tells what lies outside the rotated window from pairs, if
/// only one of both is wrong.
std::string place_of(const Scene& scene);

/// "rows from 65535 on of batch x heads", if no other product of counts fits as well: the same rows
/// are wrong in cases whose axes are cut in other ways. `small` is the scene of `c`.
std::string rows_from_on(const Look& look, const harness::Case& c, const Scene& small);

/// "only in the first call of a prepared state", if the same call, made again, is right, or the
/// same of the second call.
std::string call_of_state(const Look& look, const harness::Case& c, const Scene& small);

/// Where the wrong outputs of the first wrong row would be right.
struct Elsewhere {
  std::string text;  ///< "right at position 2 instead of 1"; empty: in no place that is tried
  std::optional<std::int64_t> row = {};  ///< of a table by position, if it has that one
  std::int64_t position = 0;             ///< of the wrong row
};
/// `whole_pairs`: not in one element alone.
Elsewhere right_elsewhere(const Scene& scene, bool whole_pairs);

/// "a, b" of the texts that are not empty.
std::string joined(const std::vector<std::string>& parts);

}  // namespace ropewalk::properties
