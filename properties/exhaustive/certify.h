// The exhaustive check: every position of a range, every pair of a head, one kernel and pairing.
//
// Claim. RoPE is linear in x, and each pair turns by an angle that depends on its position alone. A
// kernel that keeps to that is known completely once its 2x2 block is known for each position and
// pair; int32 positions can all be tried. The heads e1 and e2 (1 and 0 in each pair) return the two
// columns of every block. A third head of full mantissas sees errors of the arithmetic that
// products with 0 and 1 hide. Bounds. The four products of a column are exact, fused or not, and so
// is the sum: what is returned is the kernel's own rotation r^, and |r^ - r| <= 2 u under the
// contracts `exact` and `f32_angle` (reference/bounds.h), or the declared error_bound. (A kernel
// that turns by another formula than the complex product and so rounds here too has to declare
// one.) The full vector: agreement's bound, (1 + sqrt(5) u)(1 + 2 u) - 1, relative to |x|.
// Underflow is added to both. What is assumed is what other properties test at random: linearity,
// that a pair depends on its own elements and position only, and that data, batch, heads and
// placement change nothing.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/judge/chunk_runner.h"
#include "properties/exhaustive/block_compare.h"
#include "reference/double_rotations.h"
#include "reports/record/record.h"

namespace ropewalk::properties {

/// Positions first .. last, both included.
struct PositionRange {
  std::int64_t first = 0, last = 0;
  std::int64_t count() const { return last - first + 1; }
  bool operator==(const PositionRange&) const = default;
};

/// Part i of n of a range, cut where a chunk of the runner ends, so that a kernel is called alike
/// whole and in parts. Nothing when the range has fewer chunks than that.
std::optional<PositionRange> shard_of(PositionRange whole, std::int64_t i, std::int64_t n);

/// The pieces of a range that are judged and recorded one by one, a few seconds each.
std::vector<PositionRange> pieces_of(PositionRange range);

/// One kernel and pairing.
struct CertifyPlan {
  harness::KernelFacts facts;
  harness::ChunkPlan chunk;         ///< its first and last are the whole range
  report::CertificateRow identity;  ///< what its rows have in common
};

/// Why there is nothing to enumerate, as a verdict; nothing when there is. The worker is asked.
std::optional<report::VerdictRow> cannot_certify(harness::Subject& subject,
                                                 const harness::ChunkPlan& plan);

/// Judges pieces of the plan's range, one after the other: one process's share.
class Certifier {
 public:
  Certifier(harness::Subject& subject, const CertifyPlan& plan, DoubleRotations& rotations);
  /// A row where all held; or a verdict on the smallest position that does not hold, or on what
  /// died where.
  struct Outcome {
    report::CertificateRow row;
    std::optional<report::VerdictRow> failure;
  };
  Outcome judge(PositionRange piece);

 private:
  void judge_chunk(PositionRange chunk, Outcome& out);
  void look_closely(std::int64_t position, const float* outputs, Outcome& out);
  report::VerdictRow died(PositionRange chunk, harness::CallResult result);
  report::VerdictRow verdict_at(PositionRange range) const;

  harness::Subject& subject_;
  CertifyPlan plan_;
  DoubleRotations& rotations_;
  harness::ChunkRunner runner_;
  Suspicious suspicious_;
};

/// What the rows of a kernel and a pairing have in common: kernel, shape, bounds, what is claimed.
/// (Version and fingerprints are the caller's.)
report::CertificateRow identity_of(const harness::KernelFacts& facts,
                                   const harness::ChunkPlan& plan);

/// The verdict on a range that held: what `verify` prints and reports show.
report::VerdictRow passed(const report::CertificateRow& row);

/// Shares the pieces out among `processes`. Rows come as they are done, and are kept whatever
/// happens later; a failure is that of the smallest position, however many processes there are.
struct CertifyRun {
  harness::WorkerOptions options;
  std::vector<harness::KernelFacts> known;  ///< of a worker that has started before
  CertifyPlan plan;
  std::vector<PositionRange> pieces;
  int processes = 1;
  std::function<void(const report::CertificateRow&)> on_row;
};
std::optional<report::VerdictRow> certify(const CertifyRun& run, DoubleRotations& rotations);

}  // namespace ropewalk::properties
