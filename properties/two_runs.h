// Laws that take two runs of a kernel: the runs, and the comparison of what they gave.
#pragma once
#include <functional>

#include "harness/cases/inputs.h"
#include "harness/judge/judge.h"

namespace ropewalk::properties {

/// A problem, and what the kernel made of it.
struct Run {
  harness::Problem problem;
  harness::Execution execution;
  harness::Finding failure;  ///< of kind measured where there are outputs

  bool failed() const { return failure.kind != harness::Finding::Kind::measured; }
};
Run run(harness::Subject& subject, harness::Problem problem);
Run run(harness::Subject& subject, const harness::Case& c);

/// The same two calls with one state, made as `like` says: its lead, its float_mode.
Run run_like(harness::Subject& subject, const harness::Problem& problem, harness::Call like);

/// The first run's problem again, with every pair of its inputs changed.
Run run_changed(harness::Subject& subject, const Run& first,
                const std::function<harness::PairValue(const harness::PairValue&)>& change);

/// Nothing can be told from this case: another one is generated in its place.
harness::Finding not_for_this_case(const char* why);

/// How far a pair of length rho may lie from R^ x before it is stored, where R^ is the rotation
/// that the kernel uses at that position. With a table R^ is given, so only the product errs. A
/// kernel with angles of its own may come to R^ by another way each time (a chunk that begins
/// elsewhere): 2 u more.
double error_of_one_call(const harness::Subject& subject, const harness::Case& c, double rho);
/// The same relative to |a| rho, without underflow.
double relative_error_of_one_call(const harness::Subject& subject, const harness::Case& c);

/// What the second run should have given, told by the first.
struct Law {
  const char* broken;  ///< the reason where it does not hold
  /// Which head of the first run belongs to a head of the second; NULL: the one in its place.
  harness::HeadSource source;
  /// The second run's pair, from the first run's; NULL: equal.
  std::function<harness::PairValue(const harness::PairValue&)> expected;
  /// Of |difference|, for an input of the first run of length rho; what storing both results costs
  /// is added. NULL: none, but for what underflows where 16-bit results are stored.
  std::function<double(double rho)> bound;
  /// How many times an error of the first run's pair grows in `expected`.
  double gain = 1;
};
void compare(const harness::Subject& subject, const Run& first, const Run& second, const Law& law,
             harness::Tally& tally);

/// Two runs that differ only in how the work was laid out or cut. Bit for bit where the kernel
/// promises ROPE_BITWISE_INVARIANT; else within twice the error of one call.
void compare_same(const harness::Subject& subject, const Run& first, const Run& second,
                  const harness::HeadSource& source, const char* broken, harness::Tally& tally);

/// The largest angle error of the f32_angle contract over all positions and pairs, in rad; 0 for
/// others.
double angle_error(const harness::Problem& p);

/// Makes the case's positions and its shift, at least 1, fit into int32 together.
void keep_room_for_shift(harness::Case& c);

/// The case with its positions written out, so that they can be changed.
harness::Case with_positions(const harness::Case& c,
                             const std::function<std::int64_t(std::int64_t)>& changed);

/// The case as the simplest layout has it: contiguous everywhere, each tensor in a buffer of its
/// own.
harness::Case contiguous_case(const harness::Case& c);

}  // namespace ropewalk::properties
