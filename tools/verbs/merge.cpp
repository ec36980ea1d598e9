// Joins the shards of verify --exhaustive.
#include <fmt/format.h>

#include "reports/pages/certificate.h"
#include "reports/record/record.h"
#include "tools/command/session.h"
#include "tools/verbs/verbs.h"

namespace ropewalk::tools {
using namespace report;

std::vector<CertificatePart> parts_of(const Results& results, const std::string& file) {
  for (const VerdictRow& verdict : results.verdicts)
    if (is_failure(verdict.verdict))
      throw BadMerge(fmt::format("{}: {} of {} {} {}: a kernel that fails gets no certificate",
                                 file, verdict.verdict, verdict.kernel, verdict.pairing,
                                 verdict.dtype));
  if (results.certificates.empty())
    throw BadMerge(file + ": holds no certificate rows (verify --exhaustive writes them)");
  std::vector<CertificatePart> parts;
  for (const CertificateRow& row : results.certificates) parts.push_back({row, file});
  return parts;
}

int run(const MergeOptions& options) {
  std::vector<CertificatePart> parts;
  if (!options.missing.empty()) parts = parts_in_folder(options);
  for (const std::string& file : options.files) {
    const auto more = parts_of(read_results(file), file);
    parts.insert(parts.end(), more.begin(), more.end());
  }
  if (parts.empty()) return 3;
  const std::vector<CertificateRow> rows = joined(std::move(parts));
  if (!options.out.empty()) write_certificate(options.out, rows);
  for (const CertificateRow& row : rows) {
    if (options.json)
      fmt::print("{}\n", to_json_line(row));
    else if (!options.quiet)
      fmt::print("{} {} {}: positions {}:{}, worst block {:.6f} {}, worst vector {:.6f} {}\n",
                 row.kernel, row.pairing, row.dtype, row.first, row.last, row.block_error,
                 shown_unit(row, true), row.vector_error, shown_unit(row, false));
  }
  return 0;
}

}  // namespace ropewalk::tools
