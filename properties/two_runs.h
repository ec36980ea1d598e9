// For laws that take two runs of a kernel: the runs, and the comparison of their outputs.
#pragma once
#include <functional>

#include "harness/cases/inputs.h"
#include "harness/judge/judge.h"

namespace ropewalk::properties {

/// A problem and the kernel's outputs for it.
struct Run {
  harness::Problem problem;
  harness::Execution execution;
  harness::Finding failure;  ///< its kind is measured if there are outputs

  bool failed() const { return failure.kind != harness::Finding::Kind::measured; }
};
Run run(harness::Subject& subject, harness::Problem problem);
Run run(harness::Subject& subject, const harness::Case& c);

/// Makes the same two calls with one state, with the lead and growth of `like`.
Run run_like(harness::Subject& subject, const harness::Problem& problem, harness::Call like);

/// Another case, each of whose heads has the input of a head of a case that ran.
struct Part {
  harness::Case alone;
  harness::HeadSource source = nullptr;  ///< NULL: of the head at the same place
};
/// Some batch rows and tokens of a case.
Part part_of(const harness::Case& c, harness::CaseRange rows, harness::CaseRange tokens);
/// Where a case's `cut` cuts so many rows or tokens in two.
inline std::int64_t cut_of(std::int64_t cut, std::int64_t count) {
  const std::int64_t cuts = count - 1;
  return 1 + cut % cuts;
}
/// Runs a part. Where both placements of the whole have equal positions, those of the part do too.
Run run_part(harness::Subject& subject, const Run& whole, const Part& part);

/// True if the finding refutes its claim.
bool fails(const harness::Finding& f);

/// The finding with the larger margin, with the comparisons of both.
harness::Finding worse_of(const harness::Finding& a, const harness::Finding& b);

/// How far a pair of length rho may lie from R^ x before it is stored. R^ is the rotation that the
/// kernel uses at that position. A table gives R^, so only the product errs. A kernel with its own
/// angles may compute R^ in another way each time (a chunk that begins elsewhere), which adds 2 u.
/// It may also round a table wider than its arithmetic in one call and not in the other.
double error_of_one_call(const harness::Subject& subject, const harness::Case& c,
                         std::uint32_t tensor, double rho);
/// The same relative to |a| rho, without underflow.
double relative_error_of_one_call(const harness::Subject& subject, const harness::Case& c,
                                  std::uint32_t tensor);

/// What the second run should give, derived from the first run.
struct Law {
  const char* broken;  ///< the reason if the law does not hold
  /// Maps a head of the second run to its head in the first run; NULL: the same place.
  harness::HeadSource source;
  /// Maps the first run's pair to the second run's; NULL: they are equal.
  std::function<harness::PairValue(const harness::PairValue&)> expected;
  /// The bound on |difference|, for an input of the first run of length rho, and its tensor there.
  /// The storage errors of both results are added. NULL: only underflow of stored 16-bit results is
  /// allowed.
  std::function<double(double rho, std::uint32_t tensor)> bound;
  /// The factor by which an error of the first run's pair grows in `expected`.
  double gain = 1;
  /// What the runs are called in a diagnosis.
  const char *first = "the first call", *second = "the second";
  /// Results must be equal bit for bit if the kernel promises ROPE_BITWISE_INVARIANT. `bound` and
  /// `expected` are then of no account.
  bool same_bits = false;
  /// The pairs that are compared; NULL: all, and what is not rotated.
  std::function<bool(std::int64_t pair)> only = nullptr;
};
void compare(const harness::Subject& subject, const Run& first, const Run& second, const Law& law,
             harness::Tally& tally);
/// The law of two results that are each off by the error of one call of the case.
Law within_two_errors(
    const harness::Subject& subject, const harness::Case& c, const char* broken,
    const harness::HeadSource& source = nullptr,
    const std::function<harness::PairValue(const harness::PairValue&)>& expected = nullptr);
/// The law of two runs that differ only in how the work was laid out or cut: same_bits, else the
/// law above.
Law the_same(const harness::Subject& subject, const harness::Case& c, const char* broken);
/// Returns the failure of a run, or what compare() finds.
harness::Finding compare_two(const harness::Subject& subject, const Run& first, const Run& second,
                             const Law& law);

harness::PairValue output_at(const Run& run, std::size_t placement, const harness::HeadPlace& at,
                             std::int64_t pair);
/// Calls visit for every rotated pair of both placements.
void for_each_pair(const Run& run,
                   const std::function<void(std::size_t placement, const harness::HeadPlace& at,
                                            std::int64_t pair)>& visit);
/// Adds the error of a pair. `unit` is the size of the unit that its bound is told in.
void add_pair(harness::Tally& tally, const harness::HeadPlace& at, std::int64_t pair, double error,
              double bound, double unit, const char* unit_name, const char* broken);

/// The largest angle error of the f32_angle contract over all positions and pairs, in rad; 0 for
/// other contracts.
double angle_error(const harness::Problem& p);

/// Changes the case's positions so that their sums with position_shift fit into int32.
void keep_room_for_shift(harness::Case& c);

/// The case with its positions written out, so that they can be changed.
harness::Case with_positions(const harness::Case& c,
                             const std::function<std::int64_t(std::int64_t)>& changed);
/// The same with its own positions.
harness::Case listed_positions(const harness::Case& c);

}  // namespace ropewalk::properties
