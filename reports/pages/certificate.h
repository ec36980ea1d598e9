// Certificates as rows: joining the parts of a range, and the pages that people read.
#pragma once
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "reports/record/record.h"

namespace ropewalk::report {

/// Parts that do not make one whole; what() is one line. Exit code 2.
class BadMerge : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A part and the file it was read from, for messages.
struct CertificatePart {
  CertificateRow row;
  std::string file;
};

/// One row for each kernel and pairing, its parts joined; parts may come in any order. Throws
/// BadMerge at a gap, an overlap, a part that is there twice, and parts of different runs.
std::vector<CertificateRow> joined(std::vector<CertificatePart> parts);

/// What two rows must have in common to be parts of one certificate: the first field that differs,
/// as "field: a, not b"; empty when none does.
std::string difference(const CertificateRow& a, const CertificateRow& b);

/// The certificate as Markdown. The same rows give the same bytes.
std::string certificate_text(const std::vector<CertificateRow>& rows);

/// certificate.jsonl and certificate.md in the folder, each whole or not at all.
void write_certificate(const std::filesystem::path& folder,
                       const std::vector<CertificateRow>& rows);

}  // namespace ropewalk::report
