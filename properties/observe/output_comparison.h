// Adds up how far the outputs of two kernels are apart.
#pragma once
#include <cstdint>
#include <string>

#include "harness/cases/problem.h"
#include "harness/judge/executor.h"
#include "properties/observe/difference.h"

namespace ropewalk::properties {

/// What a kernel was asked and what it left, in the first placement.
struct OutputSide {
  const harness::Problem& problem;
  const harness::Outputs& outputs;
  const std::byte* row(const harness::HeadPlace& at) const;
};

class OutputComparison {
 public:
  /// `out` gets all that is found, and outlives this. a and b: the kernels' names.
  OutputComparison(CellDifference& out, Oracle& oracle, std::string a, std::string b)
      : out_(out), oracle_(oracle), a_(std::move(a)), b_(std::move(b)) {}

  /// Compares all rows of two problems of one shape. Those of a sweep are noted by position, and
  /// the first difference is that of the smallest position among them.
  void add(const OutputSide& a, const OutputSide& b, bool in_sweep);

 private:
  struct Place {
    harness::HeadPlace row;
    std::int64_t element, pair;  ///< pair: -1 outside the rotated window
    Dtype dtype;
  };
  void add_row(const OutputSide& a, const OutputSide& b, const harness::HeadPlace& at);
  Apart apart(const OutputSide& a, const OutputSide& b, const harness::HeadPlace& at);
  double note(const OutputSide& a, const OutputSide& b, const Place& place);
  std::string nearer_of(const OutputSide& a, const OutputSide& b, const Place& place);

  CellDifference& out_;
  Oracle& oracle_;
  std::string a_, b_;
  bool in_sweep_ = false;
  double largest_ = -1;  ///< distance of out_.worst
};

/// Calls visit(place) for each row of each tensor, also of those that are copied.
template <class Visit>
void for_each_row(const harness::Problem& problem, Visit&& visit) {
  const rope_problem& p = problem.asked;
  for (std::uint32_t i = 0; i < p.tensor_count; ++i)
    for (std::int64_t b = 0; b < p.batch; ++b)
      for (std::int64_t t = 0; t < p.tokens; ++t)
        for (std::int64_t h = 0; h < p.tensor[i].heads && has_output(problem, i, b, t); ++h)
          visit(harness::HeadPlace{i, b, t, h});
}

}  // namespace ropewalk::properties
