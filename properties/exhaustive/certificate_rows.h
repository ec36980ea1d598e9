// What the exhaustive check says: the rows of a certificate, and the verdicts on a kernel and
// pairing.
#pragma once
#include <optional>

#include "harness/judge/chunk_runner.h"
#include "reference/bounds.h"
#include "reports/record/record.h"

namespace ropewalk::properties {

inline constexpr const char* exhaustive_name = "exhaustive";
inline constexpr const char* exhaustive_claim =
    "at every position each 2x2 block is the exact rotation, and a full vector is turned by it";

/// The words for the two columns of a block and the full vector.
inline constexpr const char* head_words[] = {"column 1 (e1)", "column 2 (e2)", "the full vector"};

/// How far a kernel may be from the truth before its results are stored, relative to the length of
/// the pair: a column of a block, and the full vector.
struct PairBounds {
  bounds::Precision precision;
  double block, vector;
  bool stored() const { return precision.stored_u > 0; }
};
PairBounds pair_bounds(const harness::KernelFacts& facts, Dtype dtype);

/// One kernel, pairing and data type.
struct CertifyPlan {
  harness::KernelFacts facts;
  harness::ChunkPlan chunk;         ///< its first and last position span the whole range
  report::CertificateRow identity;  ///< the fields that all its rows share
};

/// A verdict that says why nothing can be enumerated; empty if the kernel can be certified. Asks
/// the worker about the lengths of calls at both ends.
std::optional<report::VerdictRow> cannot_certify(harness::Subject& subject,
                                                 const harness::ChunkPlan& plan);

/// The fields that all rows of a kernel, pairing and data type share: kernel, shape, bounds,
/// claims. The caller fills version and fingerprints.
report::CertificateRow identity_of(const harness::KernelFacts& facts,
                                   const harness::ChunkPlan& plan);

/// The verdict on a range that held, as `verify` prints it and reports show it.
report::VerdictRow passed(const report::CertificateRow& row);

/// A verdict on the kernel, with the fields that all verdicts of the check share.
report::VerdictRow verdict_for(const harness::KernelFacts& facts, const harness::ChunkPlan& plan);

}  // namespace ropewalk::properties
