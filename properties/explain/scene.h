// A case that a kernel ran, with every element of its outputs beside the truth.
#pragma once
#include <complex>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/judge/judge.h"

namespace ropewalk::properties {

inline std::complex<double> as_complex(const harness::PairValue& z) {
  return {static_cast<double>(z.re), static_cast<double>(z.im)};
}

/// One pair of the outputs beside the truth, in double, which is finer than any error that has a
/// name.
struct Seen {
  harness::HeadPlace at;
  std::int64_t pair, position;
  int placement;
  std::complex<double> x, r, y, truth;  ///< input, its rotation, output, exact output
  double bound;                         ///< bound on |y - truth|
  bool wrong, unwritten;                ///< unwritten: an element is what it was before the call
  bool read_poison;                     ///< an element is the poison that lies around the inputs
};

/// One element of the outputs that has to be a copy of its input.
struct Copied {
  harness::HeadPlace at;
  std::int64_t element, position;  ///< index in the row of head_dim elements
  int placement;
  double got, expected;
  bool wrong, unwritten;
  std::uint64_t got_bits = 0, expected_bits = 0;
};

/// The calls of a case, for an explanation.
enum class Calls {
  as_judged,
  /// the second call has contents, positions and addresses of the first
  alike,
  /// around the rows and in unused rows of tables is poison alone
  poisoned,
  /// all rows of tables hold their angles, and elements outside the window are numbers
  tame
};

/// A problem, and every element of a kernel's outputs.
struct Scene {
  harness::Problem problem;
  Oracle& oracle;
  std::vector<Seen> pairs;
  std::vector<Copied> copies;
  bool holds = false;            ///< the judge finds no wrong element
  bool has_full_tables = false;  ///< each row of the tables holds angles
};
Scene scene_of(harness::Subject& subject, harness::Problem problem,
               const harness::Execution& execution);

/// The first wrong element in memory, and the call that it was in: "first wrong: q.out element 3,
/// got 0.5, expected 0.25; call 2 of 2, positions 9, 6, 5". Empty: no element is wrong.
std::string first_wrong(const Scene& scene);

/// The same subject, with every wrong element put right before it is judged. A case of more than
/// 2^19 elements stays as it is. `see` is shown each call as it was.
harness::Subject put_right(const harness::Subject& subject,
                           const std::function<void(const Scene&)>& see);

/// Runs a case. Empty if the kernel gives no outputs, or if there are too many elements to compare.
using Look = std::function<std::optional<Scene>(const harness::Case&, Calls)>;
Look look_at(harness::Subject& subject);

}  // namespace ropewalk::properties
