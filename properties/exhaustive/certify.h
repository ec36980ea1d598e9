// The exhaustive check: every position of a range and every pair of a head, for one kernel and
// pairing.
//
// Claim. RoPE is linear in x, and each pair turns by an angle that depends on its position alone.
// Such a kernel is known completely once its 2x2 block is known for each position and pair. All
// int32 positions can be tried. The heads e1 and e2 (1 and 0 in each pair) return the two columns
// of every block. A third head of full mantissas shows arithmetic errors that products with 0 and 1
// hide.
//
// Bounds. The four products of a column and their sum are exact, fused or not. So a kernel returns
// its own rotation r^, and |r^ - r| <= 2 u under the contracts `exact` and `f32_angle`
// (reference/bounds.h), or the declared error_bound. A kernel that uses another formula than the
// complex product, and so rounds here too, has to declare an error_bound. The full vector has
// agreement's bound, (1 + sqrt(5) u)(1 + 2 u) - 1, relative to |x|. Underflow is added to both.
// A 16-bit kernel without a declared error_bound computes in f32 and rounds once, on store. Its
// bounds are those of f32 and half the distance between neighbours of the stored type
// (bounds::with_storage). They differ from pair to pair, so an error is counted in its own bound.
//
// Calls. Each position is taken once by a forward call with int32 positions, and the starts and
// lengths of these calls vary (division.h). Samples are also taken with int64 positions and
// backward, where the kernel offers that, and are held to the same bounds.
//
// Other properties test the assumptions at random: linearity, that a pair depends only on its own
// elements and position, and that data, batch, heads and placement change nothing.
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "properties/exhaustive/block_compare.h"
#include "properties/exhaustive/certificate_rows.h"
#include "properties/exhaustive/division.h"
#include "reference/double_rotations.h"

namespace ropewalk::properties {

/// One thread's share: judges pieces of the plan's range, one after the other.
class Certifier {
 public:
  Certifier(harness::Subject& subject, const CertifyPlan& plan, DoubleRotations& rotations);
  /// A row if all held. Otherwise a verdict on the smallest position that failed, or on a crash or
  /// hang and its place.
  struct Outcome {
    report::CertificateRow row;
    std::optional<report::VerdictRow> failure;
  };
  Outcome judge(PositionRange piece);

  /// One call. The positions of a sample are held to the bounds, and count for nothing else.
  struct Call {
    PositionRange positions;
    harness::ChunkForm form;
    bool is_sample = false;
  };
  /// Judges one call alone, of at most ChunkPlan::longest_call() positions, as if it were
  /// enumerated.
  Outcome judge_alone(PositionRange positions, const harness::ChunkForm& form);

 private:
  Outcome begin(PositionRange piece) const;
  void judge_call(const Call& call, Outcome& out);
  void compare(const Call& call, Outcome& out);
  void look_closely(std::int64_t position, const float* outputs, const Call& call, Outcome& out);
  double error_of(const float* y, const float* x, PairIndex at, const Rotation& r,
                  double relative_bound) const;
  SquaredLimit limit_below(double worst, double relative_bound) const;
  DoubleRotations::Row rotations_at(std::int64_t position, const harness::ChunkForm& form);
  report::VerdictRow narrowed(const Call& call, report::VerdictRow failure);
  report::VerdictRow died(Call call, harness::CallResult result);
  report::VerdictRow verdict_at(const Call& call) const;

  harness::Subject& subject_;
  CertifyPlan plan_;
  PairBounds bounds_;
  DoubleRotations& rotations_;
  harness::ChunkRunner runner_;
  Suspicious suspicious_;
  std::int64_t failed_at_ = 0;                    // the position of the last failure
  std::vector<double> base_sin_back_, sin_back_;  // of the way back, of one position
};

/// Shares the pieces out among `judges`, in threads. Each row is delivered when it is done, and
/// later failures do not withdraw it. The reported failure is that of the smallest position, for
/// any number of judges.
struct CertifyRun {
  harness::WorkerOptions options;
  std::vector<harness::KernelFacts> known;  ///< the kernels of an earlier worker
  CertifyPlan plan;
  std::vector<PositionRange> pieces;
  std::size_t judges = 1;
  std::function<void(const report::CertificateRow&)> on_row;
};
std::optional<report::VerdictRow> certify(const CertifyRun& run, const DoubleRotations& rotations);

}  // namespace ropewalk::properties
