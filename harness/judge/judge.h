// The judge measures how far every output pair is from the truth, in units of the bound that a
// correct kernel keeps (reference/bounds.h). The whole project uses one error metric: the 2-norm of
// a pair's error.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/judge/executor.h"
#include "harness/judge/finding.h"
#include "harness/judge/row_sample.h"
#include "reference/bounds.h"

namespace ropewalk::harness {

/// The precision in which a kernel must compute, and that to which it rounds on store. For 16-bit
/// data these are f32 and the data type. A declared error_bound covers the whole result, so such a
/// kernel may compute in the data type.
bounds::Precision precision_of(const KernelFacts& facts, Dtype dtype);
/// The same for the data type of a tensor of the case.
inline bounds::Precision precision_of(const KernelFacts& facts, const Case& c,
                                      std::uint32_t tensor) {
  return precision_of(facts, tensor_dtype(c, tensor));
}

/// The largest error that storing an output pair may add. It is 0 for f32 and f64 data and under a
/// declared bound.
double stored_error(const bounds::Precision& precision, const PairValue& y);

/// The rotations of tokens of a batch row, one token after the other and one for each pair, by
/// which a kernel of this contract is judged. They are the given table's values, the exact
/// rotations, or those of the angle rounded to f32.
std::vector<Rotation> rotations_of(const Problem& problem, Oracle& oracle, int placement,
                                   std::uint32_t tensor, std::int64_t b,
                                   const std::vector<std::int64_t>& tokens);

/// The pairs of a head before the call of a placement, read exactly: those of the normalized head,
/// which is made once, if rope_norm marks the tensor. The problem outlives it.
class InputPairs {
 public:
  InputPairs(const Problem& problem, int placement, const HeadPlace& at);
  PairValue operator[](std::int64_t pair) const;

 private:
  const Problem& problem_;
  int placement_;
  HeadPlace at_;
  std::vector<DoubleDouble> normalized_;
};
inline PairValue input_pair(const Problem& problem, int placement, const HeadPlace& at,
                            std::int64_t pair) {
  return InputPairs(problem, placement, at)[pair];
}
inline PairValue input_pair(const Problem& problem, const Outputs& outputs, std::uint32_t tensor,
                            std::int64_t b, std::int64_t t, std::int64_t h, std::int64_t pair) {
  return input_pair(problem, outputs.placement, {tensor, b, t, h}, pair);
}
/// Reads a pair exactly after the call of a placement.
PairValue output_pair(const Problem& problem, const Outputs& outputs, std::uint32_t tensor,
                      std::int64_t b, std::int64_t t, std::int64_t h, std::int64_t pair);

/// The absolute bound on |y - expected| of a pair of this tensor. `expected` is scale x rotation x
/// input, for a pair of magnitude rho and a rotation of magnitude r.
double pair_bound(const KernelFacts& facts, const Case& c, std::uint32_t tensor, double rho,
                  double r, const PairValue& expected);

/// How far |r^ - r| of a kernel's rotation may be, for a correctly rounded table of the case's type
/// or for the kernel's own angles. Of a normalized tensor it holds the error of the norm too.
double rotation_error(const KernelFacts& facts, const Case& c, std::uint32_t tensor);

/// How far a kernel may move the rotation of the given table before it multiplies
/// (bounds::table_rounding). 0 without a table.
double table_rounding(const KernelFacts& facts, const Case& c, std::uint32_t tensor);

/// What a kernel declares beyond need, in the terms of its data: "declared 16 u of bf16 = 6.2 %,
/// derived 5 u". Empty if it declares no error_bound, or none beyond what computing everything in
/// the data type can need: bounds::needed_in_type, rounded up to a whole u. The words stand
/// wherever a verdict on the kernel is shown.
std::string declared_words(const KernelFacts& facts, Dtype dtype);

/// The rotation of a kernel that computes its own angles. Under ROPE_CONTRACT_F32_ANGLE the angle
/// is rounded to f32; under other contracts it is exact.
Rotation own_rotation(std::int32_t contract, Oracle& oracle, double inv_freq,
                      std::int64_t position);

/// One head of a call, wherever its buffers lie. Keeps references.
struct GivenHead {
  const rope_problem& asked;
  const rope_norm& norm;
  std::uint32_t tensor;
  const std::byte* in;      ///< its first element
  const std::byte* weight;  ///< of the norm; NULL: it has none
};
inline constexpr std::int64_t whole_head = -1;
struct HeadView : GivenHead {
  const std::byte* out;                                   ///< the first element that came back
  const std::function<std::string(std::int64_t)>& where;  ///< names pair i, or whole_head
};

/// "q[batch 0, token 2, head 1] pair 3, axis 1, position 7", or without the pair the head alone.
std::string head_text(const Case& c, const HeadPlace& at, std::int64_t pair, std::int64_t position);

/// The rule by which heads of a tensor are judged: an error may be `times` the bound of one call.
/// Of `c` it reads only the contract, the operation, the data types and the scale. Keeps
/// references.
struct HeadRule {
  HeadRule(const KernelFacts& facts, const Case& c, double times, std::uint32_t tensor = 0);
  const KernelFacts& facts;
  const Case& c;
  double times;
  Dtype dtype;
  bounds::Precision precision;
  double scale, table_rounding, relative_bound;
  bool transposes;
  /// How often the pair was rounded to its data type on the way, as a pair of any direction: each
  /// time, by up to the type's u of its length. For outputs of several calls in place.
  double stored_before = 0;
  /// How far the input that is rotated may be from the one that is given: relative to its length,
  /// and beside that. For heads that were normalized first.
  double input_error = 0, input_lost = 0;
};

/// Judges one pair and adds it to the tally: y against the rotation r of x. where() names it.
void judge_pair(const HeadRule& rule, const PairValue& x, const Rotation& r, const PairValue& y,
                Tally& tally, const std::function<std::string()>& where);

/// Whether the pair is known to be within `margin` times its bound. It errs only towards no.
bool is_harmless(const HeadRule& rule, const PairValue& x, const Rotation& r, const PairValue& y,
                 double margin);

/// The margin of the pair, without words; empty if nothing is promised of it.
std::optional<double> pair_margin(const HeadRule& rule, const PairValue& x, const Rotation& r,
                                  const PairValue& y);

/// Judges every pair of a head, and all that a norm made, and adds it to the tally. `rotations`:
/// the one that each pair should get.
void compare_head(const HeadRule& rule, const HeadView& head,
                  const std::vector<Rotation>& rotations, Tally& tally);

/// Compares every pair of the rotated heads of each placement with the truth, at the tokens of the
/// sample.
Finding compare_with_truth(Subject& subject, const Problem& problem, const Execution& execution,
                           const RowSample& sample = {});

/// Calls visit(tensor, b, t, h) for every head that is rotated and has an output.
template <class Visit>
void for_each_rotated_head(const Problem& problem, Visit&& visit) {
  const rope_problem& p = problem.asked;
  for (std::uint32_t i = 0; i < p.tensor_count; ++i) {
    if (p.tensor[i].rotate == 0) continue;
    for (std::int64_t b = 0; b < p.batch; ++b)
      for (std::int64_t t = 0; t < p.tokens; ++t)
        for (std::int64_t h = 0; h < p.tensor[i].heads && has_output(problem, i, b, t); ++h)
          visit(i, b, t, h);
  }
}

inline double magnitude(const PairValue& z) {
  const auto re = static_cast<double>(z.re), im = static_cast<double>(z.im);
  // hypot takes ten times as long, so it serves only squares that leave the range of double.
  const double square = re * re + im * im;
  return square > 0x1p-900 && square < 0x1p900 ? std::sqrt(square) : std::hypot(re, im);
}
inline PairValue operator-(const PairValue& a, const PairValue& b) {
  return {a.re - b.re, a.im - b.im};
}
inline PairValue operator+(const PairValue& a, const PairValue& b) {
  return {a.re + b.re, a.im + b.im};
}

}  // namespace ropewalk::harness
