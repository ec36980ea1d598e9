// For laws about q.k: two runs whose positions differ by a shift, and the dot products of their
// outputs.
#pragma once
#include <cstdint>
#include <functional>
#include <string_view>

#include "properties/two_runs.h"
#include "reference/attention.h"

namespace ropewalk::properties {

/// Two runs with the same inputs. In the second, each position is larger by the case's shift; with
/// several axes, those of one axis or of all, by the seed.
/// Throws BadCase if q and k turn by other angles, or if their products may leave the range of a
/// type.
struct ShiftedRuns {
  Run here, there;
  harness::Finding failure;  ///< its kind is measured if there are outputs of both
  double angle = 0;          ///< the larger angle_error of the two
};
ShiftedRuns run_shifted(harness::Subject& subject, harness::Problem problem);

struct HeadRef {
  std::uint32_t tensor;
  std::int64_t h;
};

/// Where the two vectors of a dot product lie: q at token m, k at token n.
struct DotPlace {
  std::size_t placement;
  std::int64_t b;
  HeadRef q;
  std::int64_t m;
  HeadRef k;
  std::int64_t n;
};

struct Dot {
  DoubleDouble value;  ///< q.k of the outputs, over the rotated dims
  double norms;        ///< |q| |k| of the inputs
  double stored;       ///< largest change of value by storing the outputs
};
Dot dot(const harness::Subject& subject, const Run& run, const DotPlace& at);

/// The bound on the change of a dot product by the shift, for heads of these two tensors.
/// shifted_laws.cpp derives it.
class ShiftBound {
 public:
  ShiftBound(const harness::Subject& subject, const ShiftedRuns& runs, std::uint32_t q,
             std::uint32_t k);
  double operator()(const Dot& before, const Dot& after) const {
    return before.norms * relative_ + before.stored + after.stored;
  }

 private:
  double relative_;
};

/// Calls visit with each query head and the key head that it reads, for both placements and each
/// batch row: `m` and `n` are 0. Queries are the first rotated tensor; keys are the second, or the
/// first too. Query head h reads key head h * (key heads) / (query heads), as grouped queries do.
void for_each_query_head(const harness::Problem& problem,
                         const std::function<void(const DotPlace&)>& visit);

/// Gives a case data, tables and positions for a shift, and 2 to `most_tokens` tokens.
void shape_for_shift(harness::Case& c, std::int64_t most_tokens);

/// Says of a comparison of attention where it was, its bound in u, and what is broken if it failed.
void describe(harness::Finding& f, const harness::Subject& subject, const ShiftedRuns& runs,
              const DotPlace& at, std::string_view what, const char* broken);

/// Values of attention that no kernel touches: [token][4], each component in (-1, 1).
Values attention_values(const harness::Case& c, std::int64_t b, std::int64_t head);

}  // namespace ropewalk::properties
