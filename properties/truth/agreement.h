// The check of agreement, which other properties of this room use too.
#pragma once
#include "harness/judge/executor.h"
#include "harness/judge/finding.h"

namespace ropewalk::properties {

/// Checks that every pair is the exact rotation of its input, within the bound of the kernel's
/// contract.
harness::Finding check_agreement(harness::Subject& subject, const harness::Case& c);

}  // namespace ropewalk::properties
