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
// (bounds::with_storage). They differ from pair to pair. So an error is counted in its own bound.
//
// Calls. Each position is taken once by a forward call with int32 positions. Where a call begins
// and how long it is must not follow from multiples of a power of two: a kernel that is wrong where
// a run of positions crosses a multiple of 4096 is right in calls that all begin at such multiples.
// So call k begins at a place that the seed draws from the k-th stretch of longest_call() / 2
// positions. Calls have every length below longest_call(), and two in nine are longer than two
// thirds of it. The call of a position depends on the position and the plan alone, so a kernel gets
// the same calls in shards. Samples are also taken with int64 positions and backward, where the
// kernel offers that, and are held to the same bounds.
//
// Other properties test the assumptions at random: linearity, that a pair depends only on its own
// elements and position, and that data, batch, heads and placement change nothing.
#pragma once
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/judge/executor.h"
#include "reference/double_rotations.h"
#include "reports/record/record.h"

namespace ropewalk::properties {

/// Positions first .. last, both included.
struct PositionRange {
  std::int64_t first = 0, last = 0;
  std::int64_t count() const { return last - first + 1; }
  bool operator==(const PositionRange&) const = default;
};

/// The shape and the whole range.
struct ChunkPlan {
  Pairing pairing = Pairing::half_split;
  std::int64_t rotary_dim = 128;
  double rope_theta = 10000;
  std::uint64_t seed = 1;
  std::int64_t first = 0, last = 0;
  Dtype dtype = Dtype::f32;  ///< f32, f16 or bf16

  static constexpr std::int64_t heads = 3;
  std::int64_t row_elements() const { return heads * rotary_dim; }
  std::int64_t row_bytes() const { return row_elements() * data_type(dtype).bytes; }
  /// The positions of the longest call, which writes 12 MiB: more than the 8 MiB from which kernels
  /// store past the caches of most processors. The limits are for small and for large rotary_dim.
  std::int64_t longest_call() const {
    return std::clamp((std::int64_t{12} << 20) / row_bytes(), std::int64_t{4096},
                      std::int64_t{16384});
  }
};

/// What differs between calls beside their positions.
struct ChunkForm {
  Operation operation = Operation::forward;
  Dtype position_dtype = Dtype::i32;
  bool operator==(const ChunkForm&) const = default;
};

/// n parts of a range, cut where calls end. None if the range has too few calls for n.
std::vector<PositionRange> range_parts(PositionRange range, std::int64_t n, const ChunkPlan& plan);

struct RangeCall {
  PositionRange positions;
  ChunkForm form;
};
/// The calls that take each position of a range once. Each eighth, and the first of the plan, is
/// followed by a sample in each of these forms: up to 64 positions from anywhere in the call on.
std::vector<RangeCall> calls_of(PositionRange range, const ChunkPlan& plan,
                                const std::vector<ChunkForm>& sampled = {});

/// The plan of which a range is the whole: the case of a replay line, or of a row. Throws BadCase
/// if no exhaustive run has such a case.
ChunkPlan chunk_plan_of(const harness::Case& c);

/// One kernel, pairing and data type.
struct CertifyPlan {
  harness::KernelFacts facts;
  ChunkPlan chunk;  ///< its first and last position span the whole range
  /// What all its rows share. Its verdict is PASS, or says why nothing can be enumerated. The
  /// caller ends part_of with the version and the fingerprint of the code.
  report::VerdictRow row;
  std::vector<ChunkForm> sampled = {};  ///< those that the kernel takes
  std::shared_ptr<DoubleRotations> rotations = {};
};
/// Asks the worker about the lengths of calls at both ends, and about the forms of samples.
CertifyPlan plan_for(harness::Subject& subject, const ChunkPlan& chunk);

/// Shares the pieces of the plan out among `judges`, in threads. Each row of a piece that held is
/// delivered when it is done, and later failures do not withdraw it. Returns the failure of the
/// smallest position, for any number of judges.
struct CertifyRun {
  harness::WorkerOptions options;
  std::vector<harness::KernelFacts> known;  ///< the kernels of an earlier worker
  CertifyPlan plan;
  std::vector<PositionRange> pieces;
  std::size_t judges = 1;
  std::function<void(const report::VerdictRow&)> on_row;
};
std::optional<report::VerdictRow> certify(const CertifyRun& run);

/// A row, and the file from which it was read, for messages.
struct CertificatePart {
  report::VerdictRow row;
  std::string file;
};

/// The kernel, pairing and data type that a row is about.
std::string name_of(const report::VerdictRow& row);

/// The positions that a row covers, and the plan of which they are a part. Throw BadCase.
PositionRange range_of(const report::VerdictRow& row);
ChunkPlan whole_plan_of(const report::VerdictRow& row);

/// The first word of VerdictRow::part_of in which two rows differ, or what the verdicts rest on, as
/// "word: a, not b". Empty if they are of one run.
std::string difference(const report::VerdictRow& a, const report::VerdictRow& b);

/// One row for each kernel, pairing and data type, with its parts joined. Parts may come in any
/// order. Throws BadFile for a gap, an overlap, a part that is given twice, and parts of different
/// runs. `whole`: the range that they make, if that is not the one of their plan.
std::vector<report::VerdictRow> joined(std::vector<CertificatePart> parts,
                                       std::optional<PositionRange> whole = {});

/// The certificate as Markdown. The same rows give the same bytes.
std::string certificate_text(const std::vector<report::VerdictRow>& rows);

/// Writes certificate.jsonl and certificate.md into the folder. Each file is written whole or not
/// at all.
void write_certificate(const std::filesystem::path& folder,
                       const std::vector<report::VerdictRow>& rows);

}  // namespace ropewalk::properties
