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
//
// Other properties test the assumptions at random: linearity, that a pair depends only on its own
// elements and position, and that data, batch, heads and placement change nothing.
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

/// Part i of n of a range. It is cut where a chunk of the runner ends, so a kernel gets the same
/// calls whole and in parts. Empty if the range has too few chunks.
std::optional<PositionRange> shard_of(PositionRange whole, std::int64_t i, std::int64_t n);

/// The pieces of a range, which are judged and recorded one by one. Each takes a few seconds.
std::vector<PositionRange> pieces_of(PositionRange range);

/// One kernel and pairing.
struct CertifyPlan {
  harness::KernelFacts facts;
  harness::ChunkPlan chunk;         ///< its first and last position span the whole range
  report::CertificateRow identity;  ///< the fields that all its rows share
};

/// A verdict that says why nothing can be enumerated; empty if the kernel can be certified. Asks
/// the worker.
std::optional<report::VerdictRow> cannot_certify(harness::Subject& subject,
                                                 const harness::ChunkPlan& plan);

/// One process's share: judges pieces of the plan's range, one after the other.
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

/// The fields that all rows of a kernel and pairing share: kernel, shape, bounds, claims. The
/// caller fills version and fingerprints.
report::CertificateRow identity_of(const harness::KernelFacts& facts,
                                   const harness::ChunkPlan& plan);

/// The verdict on a range that held, as `verify` prints it and reports show it.
report::VerdictRow passed(const report::CertificateRow& row);

/// Shares the pieces out among `processes`. Each row is delivered when it is done, and later
/// failures do not withdraw it. The reported failure is that of the smallest position, for any
/// number of processes.
struct CertifyRun {
  harness::WorkerOptions options;
  std::vector<harness::KernelFacts> known;  ///< the kernels of an earlier worker
  CertifyPlan plan;
  std::vector<PositionRange> pieces;
  int processes = 1;
  std::function<void(const report::CertificateRow&)> on_row;
};
std::optional<report::VerdictRow> certify(const CertifyRun& run, DoubleRotations& rotations);

}  // namespace ropewalk::properties
