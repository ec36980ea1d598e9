// How far two kernels are apart: each gets the same cases, and their outputs are compared bit by
// bit. verify holds a kernel to the truth; here each is held to the other.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/judge/executor.h"
#include "properties/search/verify.h"

namespace ropewalk::properties {

/// An element in which two outputs differ.
struct Parting {
  std::int64_t position = 0;
  std::string where;    ///< "q[batch 0, token 2, head 1] element 70, pair 6"
  double a = 0, b = 0;  ///< its values
  std::string nearer;   ///< the kernel whose pair is nearer to the exact rotation; may be empty
};

/// What some elements had in common.
struct Apart {
  std::int64_t compared = 0, equal = 0;  ///< elements; equal: in every bit, or both NaN
  double ulps = 0;                       ///< the largest distance, in units of the last place
  double u_rho = 0;  ///< the largest of a pair, in u of the data type times |scale x|, or the least
                     ///< normal number

  void add(const Apart& more);
};

/// The first positions of the rows of CellDifference::by_position; the last ends at swept_to.
inline constexpr std::int64_t position_rows[] = {0,    4,    16,    64,    256,
                                                 1024, 4096, 16384, 65536, 262144};
inline constexpr std::int64_t swept_to = std::int64_t{1} << 20;

/// Two kernels in one pairing and data type.
struct CellDifference {
  Pairing pairing = Pairing::half_split;
  Dtype dtype = Dtype::f32;
  std::string not_compared;  ///< why nothing was compared; else empty
  std::int64_t cases = 0, refused = 0;
  std::int64_t rotary_dim = 0;  ///< of the table by position
  Apart all;
  std::vector<Apart> by_position = std::vector<Apart>(std::size(position_rows));
  std::optional<Parting> first, worst;
  std::int64_t a_nearer = 0, b_nearer = 0;  ///< of the pairs that differ and were looked at
  std::vector<std::string> faults;          ///< calls that crashed, hung or broke the contract

  bool equal() const { return all.equal == all.compared && faults.empty(); }
};

/// Compares two kernels, in each pairing and data type of the plan: a sweep over positions to
/// swept_to, the fixed cases of `agreement`, and cases of the covering array. A table kernel beside
/// one with own angles gets the exact table, rounded to its type. The subjects have workers of
/// their own. `on_cell` gets each result, `on_progress` what runs next.
void compare_kernels(harness::Subject& a, harness::Subject& b, const VerifyPlan& plan,
                     const std::function<void(const CellDifference&)>& on_cell,
                     const std::function<void(const std::string&)>& on_progress);

/// Compares a kernel's outputs of one case with values from elsewhere, which stand first and are
/// called `name`: those of the tensors of `outputs`.
CellDifference compare_with_values(harness::Subject& subject, harness::Case c,
                                   const harness::Case& outputs, const std::string& name);

}  // namespace ropewalk::properties
