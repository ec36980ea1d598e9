// Known failures: what a kernel is known to get wrong, until which day, and why (docs/ledger.md).
// They let a CI job pass while it watches everything else. They change only the exit code: a kernel
// with a known failure still fails and gets no speed.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "reports/record/record.h"

namespace ropewalk::harness {

/// One line of the file.
struct KnownFailure {
  std::string kernel, property;  ///< globs
  std::string until;             ///< the last day on which the line counts, YYYY-MM-DD
  std::string reason;
  std::int64_t line = 0;
};

/// Throws BadFile (file and line) for a line that is not `KERNEL PROPERTY YYYY-MM-DD reason`, for
/// an impossible date and for control characters. `#` begins a comment line.
std::vector<KnownFailure> parse_known_failures(std::string_view text, const std::string& file);

/// Compares the rows of a run with a file of known failures.
class KnownFailures {
 public:
  KnownFailures() = default;  ///< no known failures
  /// `today` is YYYY-MM-DD. Throws BadFile.
  KnownFailures(std::string_view text, std::string file, std::string today);

  /// Returns "until 2026-12-31: reason" of the first line that excuses this failure today, or an
  /// empty text.
  std::string excuse(const std::string& kernel, const std::string& property);
  /// Marks the row (VerdictRow::known) if it is a known failure. Counts the row for remarks() in
  /// any case.
  void judge(report::VerdictRow& row);
  /// Call after the run. Returns a remark for each line that has expired, is not needed, or matched
  /// no row.
  std::vector<std::string> remarks() const;

 private:
  struct Use {
    KnownFailure known;
    std::int64_t judged = 0, failed = 0;  ///< rows that the line matches
  };
  std::string file_, today_;
  std::vector<Use> uses_;
};

}  // namespace ropewalk::harness
