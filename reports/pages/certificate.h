// Certificates as rows: joins the parts of a range, and writes the pages that people read.
#pragma once
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "reports/record/record.h"

namespace ropewalk::report {

/// Thrown for parts that do not make one whole. what() is one line. The command exits with 2.
class BadMerge : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A part, and the file from which it was read, for messages.
struct CertificatePart {
  CertificateRow row;
  std::string file;
};

/// The kernel, pairing and data type that a row is about.
std::string name_of(const CertificateRow& row);

/// One row for each kernel, pairing and data type, with its parts joined. Parts may come in any
/// order. Throws BadMerge for a gap, an overlap, a part that is given twice, and parts of different
/// runs.
std::vector<CertificateRow> joined(std::vector<CertificatePart> parts);

/// The first field in which two rows differ although parts of one certificate must agree in it, as
/// "field: a, not b". Empty if there is none.
std::string difference(const CertificateRow& a, const CertificateRow& b);

/// The certificate as Markdown. The same rows give the same bytes.
std::string certificate_text(const std::vector<CertificateRow>& rows);

/// Writes certificate.jsonl and certificate.md into the folder. Each file is written whole or not
/// at all.
void write_certificate(const std::filesystem::path& folder,
                       const std::vector<CertificateRow>& rows);

}  // namespace ropewalk::report
