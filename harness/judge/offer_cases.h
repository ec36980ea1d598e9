// The cases that a kernel is asked about first. One that it accepts is the base of all other
// questions (harness/judge/offer.h).
#pragma once
#include <span>
#include <utility>
#include <vector>

#include "harness/cases/case.h"
#include "harness/cases/layouts.h"
#include "harness/judge/executor.h"
#include "harness/judge/offer.h"

namespace ropewalk::harness {

/// Sizes of heads that models have, most usual first.
std::span<const HeadSize> usual_sizes();
Case resized(Case c, HeadSize size);

/// The basic shapes, simplest first.
std::vector<Case> basic_cases(const Subject& subject, Pairing pairing, Dtype dtype);

/// For a kernel that refuses all of those. Each case differs from the simplest in one more thing.
std::vector<Case> unusual_cases(const Subject& subject, Pairing pairing, Dtype dtype);

/// For a kernel that takes one layout alone: the simplest cases in each form, then all others with
/// heads before tokens, the layout of attention kernels.
std::vector<std::pair<Form, Case>> formed_cases(const Subject& subject, Pairing pairing,
                                                Dtype dtype);

/// Cases of these shapes, first with few tokens and then with those that a shape says. Q and K come
/// together, then each alone. The cases of the other forms come last.
std::vector<std::pair<Form, Case>> shaped_cases(const Subject& subject, Pairing pairing,
                                                Dtype dtype, const std::vector<ModelShape>& shapes);

}  // namespace ropewalk::harness
