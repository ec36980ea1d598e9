// Certificates: joins the rows of the parts of a range, and writes the page that people read.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "properties/exhaustive/certify.h"
#include "reports/record/record.h"

namespace ropewalk::properties {

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
